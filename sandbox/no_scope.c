/* SPDX-License-Identifier: MIT */
/*
 * For the static programs only, which cannot load libsystemd. None of them asks for a scope:
 * the keeper starts nothing, and sbxsh works without root, with cgroups that it was given.
 */
#include "sandbox/scope.h"

#include <errno.h>

int sbx_scope_start(const char *unit, const struct sbx_plan *plan, struct sbx_err *err)
{
	(void)plan;
	return sbx_fail(err, ENOTSUP, "start '%s': this program does not speak to systemd", unit);
}
