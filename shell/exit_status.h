/* SPDX-License-Identifier: MIT */
#ifndef SBX_EXIT_STATUS_H
#define SBX_EXIT_STATUS_H

#include "base/err.h"

/*
 * As env(1), timeout(1) and the container tools have it. What the command itself ends
 * with is passed on; when it dies of a signal, so does sbxsh, of the same one: a shell
 * shows 128+n for that, su too, and sshd tells its client which signal it was.
 */
enum {
	SBX_EXIT_REFUSED = 125, /* there is no sandbox, or it was called wrongly: nothing was run */
	SBX_EXIT_CANNOT_RUN = 126, /* the command was found, but could not be run */
	SBX_EXIT_NOT_FOUND = 127,
};

/* Print "sbxsh: message" to standard error, one line, and return SBX_EXIT_REFUSED. */
int sbx_refuse(const struct sbx_err *err);

#endif
