/* SPDX-License-Identifier: MIT */
#ifndef SBX_USER_H
#define SBX_USER_H

#include "base/err.h"
#include "config/enrolment.h"
#include "control/verb.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"
#include "sandbox/state.h"
#include "sandbox/status.h"

/* The user that a verb is about. Start from {0}. */
struct sbx_user {
	struct sbx_identity *identity;
	struct sbx_policy *policy;
};

/*
 * Look up who is meant and read the policy.
 * Returns 0 or -errno: -EPERM for root, for a user who is not enrolled, and when the
 * caller is not root.
 */
int sbx_user_load(const char *name, const struct sbx_verb_options *options,
		  struct sbx_user *ret_user, struct sbx_err *err);
void sbx_user_done(struct sbx_user *user);

#define sbx_autouser __attribute__((cleanup(sbx_user_done)))

/*
 * Ask the keeper of a user's sandbox. The user need not be enrolled (any more), or
 * exist: what runs can be looked at and ended.
 * ret_state   may be NULL; else caller frees with sbx_state_free()
 * ret_status  caller frees with sbx_status_free()
 * Returns 0, or -errno: sbx_status_none() tells whether that means that nothing runs.
 */
int sbx_user_status(const char *name, struct sbx_state **ret_state, struct sbx_status **ret_status,
		    struct sbx_err *err);

/* Only root may: complain as 'verb' otherwise. Returns 0 or -EPERM. */
int sbx_user_need_root(const char *verb);

/* The name of the one who called sbxctl, as the kernel knows it from the login; "" unknown. */
void sbx_user_caller(char *ret_name, size_t size);

/* Write a line about a user's sandbox to the system log, where the PAM module's lines are. */
void sbx_user_log(const char *event, const char *user, const char *more);

#endif
