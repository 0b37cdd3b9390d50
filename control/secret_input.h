/* SPDX-License-Identifier: MIT */
#ifndef SBX_SECRET_INPUT_H
#define SBX_SECRET_INPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* No core dump of this process, and no look into its memory by others. */
int sbx_secret_protect(struct sbx_err *err);

/*
 * Read a secret from standard input: asked for without echo on a terminal, else all
 * that comes.
 * prompt     what to ask for, shown on stderr
 * raw        keep what comes as it is
 * ret_value  caller frees with sbx_secret_free()
 *
 * Unless 'raw', the line end of a single line is dropped; of several lines, such as a
 * PEM file, every byte is kept.
 * Returns 0 or -errno: -ENODATA nothing came, -EINVAL it holds a NUL or, on a terminal,
 * is more than one line or than a terminal passes on, -E2BIG longer than 64 KiB.
 */
int sbx_secret_read(const char *prompt, bool raw, char **ret_value, struct sbx_err *err);

/* Pure: the length of what counts of 'text', see above. */
size_t sbx_secret_length(const char *text, size_t length, bool raw);

#endif
