/* SPDX-License-Identifier: MIT */
#ifndef SBX_REQUEST_H
#define SBX_REQUEST_H

#include "base/err.h"
#include "sandbox/policy.h"
#include "shell/account.h"
#include "shell/options.h"

/*
 * Which sandbox is wanted. For an enrolled user it is the administrator's, one for all
 * logins. For anybody else it is made up from the policy's limits, the current directory
 * and the options; the same request made twice means the same sandbox.
 */
struct sbx_request_made {
	struct sbx_policy *policy;
	struct sbx_identity identity; /* borrows all but the gid from the account */
	char *directory;	      /* where to be inside; NULL: home */
	bool must_be_there;	      /* ... and nowhere else */
	char *state_base;	      /* directory for sbx_sandbox_open_named() */
	char *name;		      /* one component below it */
};

/*
 * make  also make the directories in the user's home that it takes; false: only look
 * Returns 0, or -errno with a message for the user.
 */
int sbx_request_make(const struct sbx_account *account, const struct sbx_options *options,
		     bool make, struct sbx_request_made *ret_request, struct sbx_err *err);
void sbx_request_done(struct sbx_request_made *request);

/*
 * Why a program may not have this directory as the one it works in, or NULL. Pure.
 * home  the user's, absolute
 */
const char *sbx_request_directory_refused(const char *directory, const char *home);

#endif
