/* SPDX-License-Identifier: MIT */
#ifndef SBX_SANDBOX_H
#define SBX_SANDBOX_H

#include "base/err.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"
#include "sandbox/session.h"

#include <stdbool.h>

/*
 * Get a place in the user's sandbox: the running one, or else a new one made after
 * the policy. The calling process is only counted; sbx_session_join() moves it.
 * run_dir      where sandboxes are kept: SBX_RUN_DIR
 * keeper_path  the keeper program: SBX_KEEPER
 * ret_session  caller frees with sbx_session_free()
 * ret_started  whether this call started it
 */
int sbx_sandbox_open(const struct sbx_policy *policy, const struct sbx_identity *identity,
		     const char *run_dir, const char *keeper_path, struct sbx_session **ret_session,
		     bool *ret_started, struct sbx_err *err);

/* The same for one of several sandboxes of a user; 'name' is one path component. */
int sbx_sandbox_open_named(const struct sbx_policy *policy, const struct sbx_identity *identity,
			   const char *run_dir, const char *name, const char *keeper_path,
			   struct sbx_session **ret_session, bool *ret_started,
			   struct sbx_err *err);

#endif
