/* SPDX-License-Identifier: MIT */
#ifndef SBX_ACCOUNT_H
#define SBX_ACCOUNT_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* A user as passwd has it, uid 0 too. The strings are the caller's. */
struct sbx_account {
	uid_t uid;
	gid_t gid;
	char *home;
	char *shell;
};

/* Returns 0, -ENOENT if there is no such user, or another -errno. */
int sbx_account_lookup(const char *user, struct sbx_account *ret, struct sbx_err *err);
void sbx_account_done(struct sbx_account *account);

/*
 * May this user be enrolled? Refused are root, system users (uid below UID_MIN of
 * login_defs, or nobody), and whoever runs this: by sudo or doas, by what the kernel
 * keeps as login uid, or as the owner of the terminal.
 * Returns 0, or -EPERM with the reason.
 */
int sbx_account_check(const char *user, uid_t uid, const char *login_defs, struct sbx_err *err);

struct sbx_group_facts {
	bool exists;
	bool listed; /* the user is in the group's list of members */
	gid_t gid;
};

/* Returns 0, also if there is no group of that name, or -errno. */
int sbx_group_lookup(const char *group, const char *user, struct sbx_group_facts *ret,
		     struct sbx_err *err);

/*
 * May a folder be shared by this group? Groups of the system (gid below GID_MIN of
 * login_defs) are refused, because being in one gives much more: docker, disk, sudo.
 * Returns 0, or -EPERM with the reason.
 */
int sbx_group_check(const char *group, gid_t gid, const char *login_defs, struct sbx_err *err);

/* Pure: UID_MIN or GID_MIN in the text of /etc/login.defs, 1000 if it is not there. */
id_t sbx_login_defs_minimum(const char *text, const char *key);

#endif
