/* SPDX-License-Identifier: MIT */
#ifndef SBX_PAM_VARIABLES_H
#define SBX_PAM_VARIABLES_H

#include "base/err.h"
#include "sandbox/environment.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"

#include <security/pam_modules.h>

/*
 * Give the session its environment: what the policy lets pass of the caller's, what
 * every sandbox has (HOME, PATH, ...), and the user's store, which wins over both.
 *
 * PAM's list is what sshd, sudo, cron and login hand to the session. su hands on its
 * own environ besides, so that is cut down too: without this, root's variables
 * would reach the agent.
 */
int sbx_variables_apply(pam_handle_t *pamh, const struct sbx_policy *policy,
			const struct sbx_identity *identity, const char *shell,
			const struct sbx_environment *environment, struct sbx_err *err);

#endif
