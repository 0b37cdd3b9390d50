/* SPDX-License-Identifier: MIT */
#ifndef SBX_MOUNT_H
#define SBX_MOUNT_H

#include "base/err.h"

#include <stdbool.h>

/* The kernel's mount interface by descriptor, with errors as values. Every mount is nosuid. */

enum {
	SBX_MOUNT_RDONLY = 1 << 0,
	SBX_MOUNT_NODEV = 1 << 1,
	SBX_MOUNT_NOEXEC = 1 << 2,
};

/*
 * A detached copy of the mount at 'source_fd'. The flags are in force before it can
 * become visible: there is no moment in which it is writable.
 * recursive  take all mounts below it along, with the same flags
 * ret_fd     caller closes; attach it or it is gone
 */
int sbx_mount_clone(int source_fd, unsigned int flags, bool recursive, int *ret_fd,
		    struct sbx_err *err);

/* A detached new file system; 'options' are key, value, key, value, ..., NULL. */
int sbx_mount_new(const char *type, const char *const *options, unsigned int flags, int *ret_fd,
		  struct sbx_err *err);

/*
 * A detached, writable mount of the directory 'fd', whose own mount may be read-only, without
 * those below it. Needs CAP_SYS_ADMIN where that mount was made.
 */
int sbx_mount_writable(int fd, int *ret_fd, struct sbx_err *err);

/* Put a detached mount where 'target_fd' (O_PATH) is. */
int sbx_mount_attach(int tree_fd, int target_fd, struct sbx_err *err);

/* Make the mount whose root 'fd' is read-only; those below it stay as they are. */
int sbx_mount_seal(int fd, struct sbx_err *err);

/* Cut all mounts of this namespace off from those they were copied from. */
int sbx_mount_make_private(struct sbx_err *err);

/* Take away what is mounted at a path, if anything; users of it keep it until they let go. */
void sbx_mount_detach(const char *path);

/* Make the directory 'root_fd' the root of this mount namespace and let go of the old one. */
int sbx_mount_pivot(int root_fd, struct sbx_err *err);

#endif
