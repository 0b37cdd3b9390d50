/* SPDX-License-Identifier: MIT */
#ifndef SBX_RUN_H
#define SBX_RUN_H

#include "shell/options.h"

/*
 * exec the real shell 'shell', or the command after "--", in the calling process with
 * 'env'. A command without a slash is looked for in env's PATH.
 * Returns only on failure: 126 or 127, or 125 for want of memory; a message is printed.
 */
int sbx_run(const struct sbx_options *options, const char *shell, char **env);

/* The same with the environment as it is, but that $SHELL names the real shell and not sbxsh. */
int sbx_run_here(const struct sbx_options *options, const char *shell);

#endif
