/* SPDX-License-Identifier: MIT */
#ifndef SBX_TRUSTED_FILE_H
#define SBX_TRUSTED_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Reading files whose content decides about confinement. Internal to config/. What
 * is demanded is a value, so that tests can name another owner than root.
 */
struct sbx_trust {
	uid_t owner;	       /* who must own the file; directories on the way: he or root */
	mode_t forbidden_mode; /* bits that must not be set on the file */
	bool group_limited;    /* the file's group must be root's or 'group' */
	gid_t group;
	size_t max_bytes;
};

/* The pure checks. 'path' is for the message. Return 0 or -EPERM (-EINVAL: wrong type). */
int sbx_trust_check_file(const struct sbx_trust *trust, const struct stat *st, const char *path,
			 struct sbx_err *err);
int sbx_trust_check_directory(const struct sbx_trust *trust, const struct stat *st,
			      const char *path, struct sbx_err *err);

/*
 * Read a file after looking at it and at every directory from / down to it: none may
 * be a link or changeable by somebody else. All by descriptor: what was checked is
 * what is read.
 * path      absolute
 * ret_text  NUL-terminated, but it may hold NUL bytes; caller frees
 * Returns 0 or -errno; -ENOENT if the file, or a directory on the way, is not there.
 */
int sbx_trusted_file_read(const char *path, const struct sbx_trust *trust, char **ret_text,
			  size_t *ret_length, struct sbx_err *err);

#endif
