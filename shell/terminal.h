/* SPDX-License-Identifier: MIT */
#ifndef SBX_SHELL_TERMINAL_H
#define SBX_SHELL_TERMINAL_H

#include "base/err.h"
#include "sandbox/terminal.h"

/*
 * As sandbox/terminal.h, without root. The terminal that sshd or an emulator made is a
 * node of the host's devpts; inside it shall have a name, or ttyname(3) fails, and with
 * it tty, tmux and screen. A user cannot clone a mount of the host, but a child in a
 * user namespace of its own can clone its copy of it and hand that over.
 */

/* In the host's view. No terminal, or one that has no name even here, is no error. */
void sbx_user_terminal_take(struct sbx_terminal *terminal);

/* In the sandbox's view, with its capabilities. */
int sbx_user_terminal_put(const struct sbx_terminal *terminal, struct sbx_err *err);

#endif
