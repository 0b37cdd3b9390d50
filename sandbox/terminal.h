/* SPDX-License-Identifier: MIT */
#ifndef SBX_TERMINAL_H
#define SBX_TERMINAL_H

#include "base/err.h"

/*
 * su, sudo and login go on using the terminal of their caller, a node of the host's
 * devpts that has no name in the sandbox: ttyname(3), and with it tty and tmux, would
 * fail. So that very node is mounted into the sandbox's /dev. ttyname() finds it
 * there by device and inode. Its owner and mode stay as they are, so nobody gains
 * access by the name.
 */
struct sbx_terminal {
	int tree_fd;   /* detached mount of the node; -EBADF: no terminal to show */
	char name[32]; /* in /dev, "host-pts-5" for /dev/pts/5 */
};

#define SBX_TERMINAL_NONE                                                                          \
	{                                                                                          \
		.tree_fd = -EBADF, .name = ""                                                      \
	}

/*
 * In the host's view: the terminal of a pty that this process has made, else the one
 * that descriptors 0 to 2 lead to. None is no error.
 */
void sbx_terminal_take(struct sbx_terminal *terminal);

/* In the sandbox's view, as root, before the filters: give it its name. */
int sbx_terminal_put(const struct sbx_terminal *terminal, struct sbx_err *err);

void sbx_terminal_done(struct sbx_terminal *terminal);

#endif
