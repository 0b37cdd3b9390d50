/* SPDX-License-Identifier: MIT */
#ifndef SBX_BUILD_H
#define SBX_BUILD_H

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/plan.h"
#include "sandbox/sources.h"

/*
 * Carry a plan out in the calling process, which must be PID 1 of the plan's new
 * namespaces: make the view, step into it, let go of the host's.
 * attach_path  a directory of the host to hang the new root on meanwhile. Only this
 *              process ever sees it there: the mount namespace is its own.
 * cgroup       borrowed; NULL shows none
 * sources      borrowed; for a plan with a user namespace, else NULL
 * On failure the process is in no defined state and must end.
 */
int sbx_build(const struct sbx_plan *plan, const char *attach_path, const struct sbx_cgroup *cgroup,
	      const struct sbx_sources *sources, struct sbx_err *err);

#endif
