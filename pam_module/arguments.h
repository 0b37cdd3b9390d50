/* SPDX-License-Identifier: MIT */
#ifndef SBX_PAM_ARGUMENTS_H
#define SBX_PAM_ARGUMENTS_H

#include "base/err.h"

#include <stdbool.h>

/* What stands behind pam_sbx.so in a PAM stack. The strings are PAM's. */
struct sbx_arguments {
	const char *group;
	const char *policy_file;
	bool debug;
};

/*
 * Parse them over the defaults. 'ret' is always filled as far as was understood, so
 * that who is enrolled can be told even then; unknown ones are an error all the same.
 */
int sbx_arguments_parse(int argc, const char **argv, struct sbx_arguments *ret,
			struct sbx_err *err);

#endif
