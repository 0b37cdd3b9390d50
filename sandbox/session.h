/* SPDX-License-Identifier: MIT */
#ifndef SBX_SESSION_H
#define SBX_SESSION_H

#include "base/err.h"
#include "sandbox/namespaces.h"
#include "sandbox/policy.h"
#include "sandbox/protocol.h"
#include "sandbox/state.h"

#include <stdbool.h>

/* One process's place in a running sandbox. While 'control_fd' is open the session counts. */
struct sbx_session {
	int control_fd;
	int keeper_pidfd;
	int join_fds[SBX_REPLY_FDS_MAX];
	size_t n_join_fds;
	int namespaces;
	struct sbx_namespaces inodes;
};

/*
 * Connect to the keeper without being counted: to ask or to order something.
 * ret_fd   caller closes; reads and writes on it give up after ten seconds
 * Returns as sbx_session_enter().
 */
int sbx_session_connect(const struct sbx_state *state, int *ret_fd, struct sbx_err *err);

/*
 * Ask the keeper to count the calling process as a session.
 * ret_session  caller frees with sbx_session_free()
 * Returns 0 or -errno: -ENOENT, -ECONNREFUSED or -ECONNRESET mean that no keeper is
 * there (any more), so start one; -ETIMEDOUT that one is but does not answer.
 */
int sbx_session_enter(const struct sbx_state *state, struct sbx_session **ret_session,
		      struct sbx_err *err);

/* How strictly the calling process is to be confined when it joins. */
struct sbx_confinement {
	bool user_namespaces; /* allowed */
	enum sbx_landlock landlock;
};

/*
 * Move the calling process, which must have one thread and be root or else the user whose
 * sandbox was made without root, into the sandbox, confine it and check the result. There is no way
 * back: after a failure the process is fit for nothing but ending.
 *
 * In order: the cgroup (reachable from the host's view only), capabilities (libcap-ng
 * needs the host's /proc), the namespaces, a check that they are the keeper's, and
 * the filters last because they forbid the steps before. Without root the namespaces come
 * first, because only they give the capabilities for the rest; none of them is left then.
 *
 * between  called, unless NULL, when the namespaces are joined and the filters not
 *          yet in force; its failure is the join's
 */
int sbx_session_join(const struct sbx_session *session, const struct sbx_confinement *confinement,
		     int (*between)(void *data, struct sbx_err *err), void *data,
		     struct sbx_err *err);

/* Tell the keeper what the session is, for `sbxctl status`. That it cannot be told is no matter. */
void sbx_session_describe(const struct sbx_session *session, const struct sbx_origin *origin);

/* Has the sandbox ended, or begun to end, under the session? Stopped, killed, keeper dead. */
bool sbx_session_ended(const struct sbx_session *session);

/* Tell the keeper that the session is over; without this it notices when the process ends. */
void sbx_session_leave(struct sbx_session *session);
void sbx_session_free(struct sbx_session *session);
void sbx_session_freep(struct sbx_session **session);

#endif
