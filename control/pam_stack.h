/* SPDX-License-Identifier: MIT */
#ifndef SBX_PAM_STACK_H
#define SBX_PAM_STACK_H

#include "base/err.h"

/* What a PAM service does about pam_sbx.so when it opens a session. */
enum sbx_pam_hook {
	SBX_PAM_NO_SERVICE, /* there is no such service here */
	SBX_PAM_MISSING,    /* sessions are opened without it */
	SBX_PAM_OPTIONAL,   /* it is asked, but its refusal does not end the login */
	SBX_PAM_BYPASSED,   /* an earlier entry can end the stack or jump over it */
	SBX_PAM_HOOKED,
};

/*
 * Read a service's session stack, with all that it includes.
 * dirs     where services are looked for, first hit wins; ends with NULL
 * service  file name in there
 * Returns 0 or -errno: -ENOENT an included file is missing, -ELOOP too many includes.
 */
int sbx_pam_stack_scan(const char *const *dirs, const char *service, enum sbx_pam_hook *ret,
		       struct sbx_err *err);

#endif
