/* SPDX-License-Identifier: MIT */
#ifndef SBX_OUTSIDE_H
#define SBX_OUTSIDE_H

#include "shell/account.h"
#include "shell/options.h"
#include "shell/startup.h"

/*
 * Make or find the sandbox, move into it, run the shell or command in there and end as it
 * ends. There is no way from here to a shell that is not in a sandbox.
 * Returns an exit status if nothing was run; a message has been printed.
 */
int sbx_outside_run(const struct sbx_account *account, const struct sbx_options *options,
		    const struct sbx_inherited *inherited);

/* --dry-run. Returns an exit status. */
int sbx_outside_explain(const struct sbx_account *account, const struct sbx_options *options);

#endif
