/* SPDX-License-Identifier: MIT */
#ifndef SBX_FD_H
#define SBX_FD_H

#include "base/err.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Close '*fd' if it is open, keep errno, leave -EBADF. */
void sbx_closep(int *fd);
/* Give 'fd' away: returns its value and leaves -EBADF. */
int sbx_take_fd(int *fd);
void sbx_fclosep(FILE **stream);

#define sbx_autoclose __attribute__((cleanup(sbx_closep)))
#define sbx_autofclose __attribute__((cleanup(sbx_fclosep)))

/*
 * Read a whole regular file of at most 'max_bytes'. It is opened without
 * blocking, so a fifo planted in its place cannot hang the caller.
 * dirfd, path  as for openat(2)
 * flags        added to O_RDONLY|O_CLOEXEC|O_NONBLOCK|O_NOCTTY (for instance O_NOFOLLOW)
 * ret_text     NUL-terminated, caller frees; may hold NUL bytes of its own
 * ret_length   bytes without the final NUL; may be NULL
 * ret_stat     fstat(2) of what was read, for owner and mode checks; may be NULL
 * Returns 0, or -errno: -EINVAL not a regular file, -EFBIG too large.
 */
int sbx_file_read(int dirfd, const char *path, int flags, size_t max_bytes, char **ret_text,
		  size_t *ret_length, struct stat *ret_stat, struct sbx_err *err);

/* write(2) until all is written. Returns 0 or -errno. */
int sbx_write_all(int fd, const void *bytes, size_t n_bytes);

#endif
