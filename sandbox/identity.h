/* SPDX-License-Identifier: MIT */
#ifndef SBX_IDENTITY_H
#define SBX_IDENTITY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sbx_group {
	gid_t gid;
	char *name;
};

/* Who a sandbox is for: a plain copy of what NSS says, so that nothing later depends on it. */
struct sbx_identity {
	char *name;
	uid_t uid;
	gid_t gid;
	char *gecos;
	char *home;		  /* passwd home; absolute */
	char *login_shell;	  /* passwd shell; "" becomes /bin/sh */
	struct sbx_group *groups; /* all groups, the primary first */
	size_t n_groups;
};

/*
 * Look 'name' up. Names that cannot safely be one path component or one field
 * of a passwd line are refused, as is uid 0.
 * ret_identity  caller frees with sbx_identity_free()
 * Returns 0 or -errno: -ENOENT no such user, -EINVAL unusable name or home, -EPERM uid 0.
 */
int sbx_identity_lookup(const char *name, struct sbx_identity **ret_identity, struct sbx_err *err);
void sbx_identity_free(struct sbx_identity *identity);
void sbx_identity_freep(struct sbx_identity **identity);

/* True if the user is in the group of that name (primary or supplementary). */
bool sbx_identity_in_group(const struct sbx_identity *identity, const char *group_name);

/* True for what may be a login name here: [A-Za-z0-9_][A-Za-z0-9_.-]*[$]?, at most 64 bytes. */
bool sbx_username_valid(const char *name);

#endif
