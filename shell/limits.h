/* SPDX-License-Identifier: MIT */
#ifndef SBX_LIMITS_H
#define SBX_LIMITS_H

#include "base/err.h"
#include "sandbox/policy.h"
#include "sandbox/session.h"

#include <stdbool.h>

/*
 * The limits of a sandbox made without root. With a cgroup of the user's own they hold for
 * all its processes together. Without, memory is limited for each process (RLIMIT_DATA),
 * tasks for all processes of the sandbox (the kernel counts RLIMIT_NPROC by user
 * namespace), CPU time not at all.
 */

/*
 * Enter the sandbox's cgroup, if it has one.
 * ret_inside  false: there is none, or this process may not move into it (on cgroup v2 that
 *             takes write access to what both places have in common)
 */
int sbx_limits_enter_cgroup(struct sbx_session *session, bool *ret_inside, struct sbx_err *err);

/* In the process that is about to run the command, when it is in no such cgroup. */
int sbx_limits_set(const struct sbx_policy *policy, struct sbx_err *err);

/* What would limit memory here, as a phrase for people. */
const char *sbx_limits_mechanism(void);

#endif
