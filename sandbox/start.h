/* SPDX-License-Identifier: MIT */
#ifndef SBX_START_H
#define SBX_START_H

#include "base/err.h"
#include "sandbox/plan.h"
#include "sandbox/state.h"

/*
 * Start a sandbox: new cgroup, new namespaces, the plan carried out, a keeper as
 * PID 1 that listens in the state directory. Call it with the state's lock held.
 *
 * The caller (sshd's monitor, su, ...) forks a launcher that forks PID 1, so that
 * the keeper is nobody's child but init's; both have ended or been exec'ed when
 * this returns. No signal handler, mask or child of the caller is changed.
 * keeper_path  the keeper program, absolute
 * Returns 0 when the keeper is ready, or -errno; then nothing is left running.
 */
int sbx_sandbox_start(const struct sbx_plan *plan, const struct sbx_state *state,
		      const char *keeper_path, struct sbx_err *err);

#endif
