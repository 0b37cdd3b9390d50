/* SPDX-License-Identifier: MIT */
#ifndef SBX_PATH_H
#define SBX_PATH_H

#include "base/err.h"

#include <sys/types.h>

/*
 * Open a host path that a root process is about to use, as O_PATH.
 *
 * Goes component by component. A symbolic link is followed only where nobody but
 * root could have put it: in a directory owned by root that others cannot write
 * (or, sticky like /tmp, a link owned by root). Any other link is refused, so that
 * a user cannot steer root to a place of its choice (the CVE-2025-6020 kind).
 *
 * path    absolute
 * owner   a second user whose directories are as good as root's; 0 for none. Only
 *         for processes that themselves run as that user.
 * ret_fd  O_PATH descriptor, set on success only; caller closes
 * Returns 0 or -errno: -ELOOP for a link that is refused.
 */
int sbx_path_open(const char *path, uid_t owner, int *ret_fd, struct sbx_err *err);

/* The same for the directory that holds 'path'; *ret_name points into 'path'. */
int sbx_path_open_parent(const char *path, uid_t owner, int *ret_fd, const char **ret_name,
			 struct sbx_err *err);

/*
 * Open 'path' in a tree that is not trusted: an image, or the new root. Links
 * resolve inside it, as if it were /.
 * root_fd  O_PATH directory, borrowed
 */
int sbx_path_open_in(int root_fd, const char *path, int flags, int *ret_fd, struct sbx_err *err);

/*
 * Make the directory 'path' below root_fd and all its missing parents (0755, owned
 * by the caller), crossing no link at all, and open it as O_PATH.
 * path     absolute, as seen from root_fd
 */
int sbx_path_make_directory(int root_fd, const char *path, int *ret_fd, struct sbx_err *err);

/* Make an empty file to mount on (or find one there); parents are made as above. */
int sbx_path_make_file(int root_fd, const char *path, int *ret_fd, struct sbx_err *err);

#endif
