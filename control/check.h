/* SPDX-License-Identifier: MIT */
#ifndef SBX_CHECK_H
#define SBX_CHECK_H

#include "base/err.h"
#include "control/findings.h"

#include <stdbool.h>
#include <stddef.h>

/* Where `sbxctl check` looks. A test can point it elsewhere. */
struct sbx_check_paths {
	const char *policy_file;
	const char *env_dir;
	const char *keeper;
	const char *shell; /* the installed sbxsh */
	const char *shells_file;
	const char *const *pam_dirs; /* ends with NULL */
	const char *sshd_config;
	const char *group;
};

struct sbx_check {
	struct sbx_check_paths paths;
	struct sbx_findings findings;
	bool policy_refused; /* found by sbx_check_policy(): not to be said again for each user */
	char **enrolled;     /* users that are to be sandboxed; filled by sbx_check_accounts() */
};

/*
 * Each looks at one side of the installation and adds findings. They return 0, or
 * -errno with *err filled if they could not look at all.
 */

/* The keeper, the kernel, cgroups, /etc/shells. */
int sbx_check_host(struct sbx_check *check, struct sbx_err *err);
/* The group, its members, users with sbxsh as shell: can they log in, and into what? */
int sbx_check_accounts(struct sbx_check *check, struct sbx_err *err);
/* The policy file and whom its sections are for. */
int sbx_check_policy(struct sbx_check *check, struct sbx_err *err);
/* The environment stores. */
int sbx_check_stores(struct sbx_check *check, struct sbx_err *err);
/* PAM services and sshd: after sbx_check_accounts(), as a gap matters only if somebody is enrolled.
 */
int sbx_check_services(struct sbx_check *check, struct sbx_err *err);

#endif
