/* SPDX-License-Identifier: MIT */
#include "shell/exit_status.h"

#include "base/paths.h"

#include <stdio.h>

int sbx_refuse(const struct sbx_err *err)
{
	(void)fprintf(stderr, SBX_SHELL_NAME ": %s\n", err->msg); /* nobody else to tell */
	return SBX_EXIT_REFUSED;
}
