/* SPDX-License-Identifier: MIT */
#ifndef SBX_ACCOUNT_H
#define SBX_ACCOUNT_H

#include "base/err.h"
#include "sandbox/identity.h"

#include <stdbool.h>

/*
 * Who is calling: the real uid, looked up in /etc/passwd (see base/no_nss.c for why nowhere
 * else). It alone decides what is done; $USER, $HOME, $SHELL and argv[0] do not.
 */
struct sbx_account {
	struct sbx_identity *identity;
	bool enrolled; /* in the group, or sbxsh is the login shell */
};

/*
 * Where a uid has several names, the first whose login shell is sbxsh counts, else the first.
 * Returns 0 or -errno: -ENOENT the uid is in no line of the file.
 */
int sbx_account_find(uid_t uid, struct sbx_account *ret_account, struct sbx_err *err);
void sbx_account_done(struct sbx_account *account);

/*
 * Has root sbxsh as its login shell? Then it must get a shell, or nobody could mend the
 * machine. When passwd cannot be read the answer is no.
 */
bool sbx_account_root_logs_in_with_us(void);

#endif
