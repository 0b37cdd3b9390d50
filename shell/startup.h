/* SPDX-License-Identifier: MIT */
#ifndef SBX_STARTUP_H
#define SBX_STARTUP_H

#include "base/err.h"

#include <signal.h>
#include <sys/types.h>

/* What this process was started with, to be given back to what it starts. */
struct sbx_inherited {
	sigset_t blocked;
	struct sigaction on_child;     /* SIGCHLD */
	struct sigaction on_file_size; /* SIGXFSZ */
	mode_t umask;
};

/*
 * First of all: nobody may look into this process or trace it, and descriptors 0 to 2
 * are open, so that no file opened later becomes somebody's standard output.
 */
int sbx_startup(struct sbx_inherited *ret_inherited, struct sbx_err *err);

/*
 * Before a sandbox is made: let go of all other descriptors, and have an umask and signal
 * dispositions to work with.
 * Returns 0 or -errno: -EPERM for standard streams that would lead out of a sandbox.
 */
int sbx_startup_outside(struct sbx_err *err);

/* In the child that is about to become the user's command. */
void sbx_startup_restore(const struct sbx_inherited *inherited);

#endif
