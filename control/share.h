/* SPDX-License-Identifier: MIT */
#ifndef SBX_SHARE_H
#define SBX_SHARE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What became of the entries of a folder. */
struct sbx_share_report {
	size_t n_changed;
	size_t n_skipped; /* files with several names, other kinds, what is mounted in there */
};

/*
 * Make the folder at 'path', and all in it, a place where members of group 'gid' work
 * together: the group owns everything, may do what the owner may, and what is made later
 * inherits both (setgid and default ACLs of directories), whatever the umask of its maker.
 *
 * Those who can write in there may do so meanwhile: no link is followed, nothing outside of
 * the folder is touched, and a file that has other names as well is left alone, because
 * one of those may be outside.
 *
 * dry_run  only count
 * Returns 0 or -errno with the reason; what was done before a failure stays, and the next
 * call goes on from there.
 */
int sbx_share_folder(const char *path, gid_t gid, bool dry_run, struct sbx_share_report *ret,
		     struct sbx_err *err);

#endif
