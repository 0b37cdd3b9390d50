/* SPDX-License-Identifier: MIT */
#ifndef SBX_SESSION_ENVIRONMENT_H
#define SBX_SESSION_ENVIRONMENT_H

#include "base/err.h"
#include "sandbox/environment.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"

#include <stdbool.h>

/*
 * The variables of a session: the one place that composes them, for the PAM module,
 * sbxsh and sbxctl exec alike. An environment here is what execve(2) takes: a list of
 * "NAME=value", ended by NULL, each name once. Its strings may hold secrets, so it is
 * freed with sbx_session_environment_free(), never with sbx_strv_free().
 */

/*
 * Compose. What comes later wins:
 *   1. of 'brought' what the policy's env_pass lets in,
 *   2. HOME, USER, LOGNAME, SHELL, PATH, XDG_RUNTIME_DIR,
 *   3. the store,
 *   4. what git and gh need to use a token of the store, see config/git_credentials.h.
 * shell    the real shell: sbx_plan_shell()
 * store    from sbx_environment_load(); NULL is an empty one
 * brought  the caller's variables (environ); NULL or empty for none. An entry without a
 *          name is left out.
 * ret_env  caller frees with sbx_session_environment_free()
 * Returns 0, or -ENOMEM with *err filled.
 */
int sbx_session_environment_make(const struct sbx_policy *policy,
				 const struct sbx_identity *identity, const char *shell,
				 const struct sbx_environment *store, char *const *brought,
				 char ***ret_env, struct sbx_err *err);

/*
 * Set one variable, replacing the one of that name: for what a caller adds on top, such
 * as --env. The name is not looked at.
 * env  may point to NULL, the empty list
 * Returns 0 or -ENOMEM, *env unchanged.
 */
int sbx_session_environment_set(char ***env, const char *name, const char *value);

/* The value of a variable, borrowed, or NULL if it is not set. */
const char *sbx_session_environment_get(char *const *env, const char *name);

/* Does the policy's env_pass let this name in? */
bool sbx_session_environment_passes(const struct sbx_policy *policy, const char *name);

/* Overwrites the strings first. Both accept an empty list. */
void sbx_session_environment_free(char **env);
void sbx_session_environment_freep(char ***env);

#define sbx_autoenv __attribute__((cleanup(sbx_session_environment_freep)))

#endif
