/* SPDX-License-Identifier: MIT */
#ifndef SBX_WORKSPACE_H
#define SBX_WORKSPACE_H

#include "base/err.h"

#include <sys/types.h>

/*
 * Open the host directory that becomes home. If it does not exist it is made from
 * the skeleton: filled under a temporary name and renamed into place, so that a
 * crash never leaves half a home behind.
 * path      absolute
 * skel      directory to copy; absent is the same as empty
 * uid       whose it must be; anything else there is refused
 * gid       the group of what is made; one that is there may be in any group
 * ret_fd    O_PATH, caller closes
 */
int sbx_workspace_open(const char *path, const char *skel, uid_t uid, gid_t gid, int *ret_fd,
		       struct sbx_err *err);

#endif
