/* SPDX-License-Identifier: MIT */
#ifndef SBX_STATE_H
#define SBX_STATE_H

#include "base/err.h"

#include <sys/types.h>

/*
 * The directory of one user's sandbox: /run/sbx/USER with the keeper's socket and a
 * lock, mode 0700. All trust in a keeper rests on nobody else being able to enter.
 */
struct sbx_state {
	char *path;
	int dir_fd;
	int lock_fd;
};

/*
 * Open it, made if absent.
 * base   for instance "/run/sbx"; made too, its parent not
 * owner  who must own both: 0, or the user without root
 * Returns 0 or -errno: -EPERM when owner or mode are not as they must be.
 */
int sbx_state_open(const char *base, const char *user, uid_t owner, struct sbx_state **ret_state,
		   struct sbx_err *err);
void sbx_state_free(struct sbx_state *state);
void sbx_state_freep(struct sbx_state **state);

/* Take the lock that makes ten logins at once start one keeper; released by unlock or free. */
int sbx_state_lock(struct sbx_state *state, int timeout_ms, struct sbx_err *err);
void sbx_state_unlock(struct sbx_state *state);

#endif
