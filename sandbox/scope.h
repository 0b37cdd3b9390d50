/* SPDX-License-Identifier: MIT */
#ifndef SBX_SCOPE_H
#define SBX_SCOPE_H

#include "base/err.h"
#include "sandbox/plan.h"

#define SBX_SCOPE_SLICE                                                                            \
	"sbx.slice" /* all scopes are in it; its own limits are the administrator's */

/* Where systemd is asked. The fixed address, not what the environment of a login may say. */
#define SBX_SCOPE_BUS "/run/dbus/system_bus_socket"

/*
 * Have systemd make a transient scope with the plan's limits and move the calling process
 * into it; returns when it is there. Speaks D-Bus by libsystemd, which is loaded for it: call
 * it in a process that does little else afterwards.
 * unit  name of the new scope, with ".scope"
 * Returns 0 or -errno: -ENOTSUP no libsystemd, -ETIMEDOUT systemd did not finish in time.
 */
int sbx_scope_start(const char *unit, const struct sbx_plan *plan, struct sbx_err *err);

#endif
