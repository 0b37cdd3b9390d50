/* SPDX-License-Identifier: MIT */
#ifndef SBX_COPY_H
#define SBX_COPY_H

#include "base/err.h"

#include <stddef.h>

/*
 * Read a file of the host, or of an image, that is to be shown inside as a copy.
 * image_fd   O_PATH root that links resolve in, or < 0 for the host's own view,
 *            where only root's links are followed
 * suffix     appended to the content; may be NULL
 * ret_text   caller frees; NULL when others may not read the file on the host: it
 *            must not become readable by being copied
 * Returns 0 or -errno (-ENOENT: absent).
 */
int sbx_copy_read(int image_fd, const char *path, const char *suffix, char **ret_text,
		  size_t *ret_length, struct sbx_err *err);

#endif
