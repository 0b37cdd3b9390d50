/* SPDX-License-Identifier: MIT */
#include "config/trusted_file.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int sbx_trust_check_file(const struct sbx_trust *trust, const struct stat *st, const char *path,
			 struct sbx_err *err)
{
	if (!S_ISREG(st->st_mode))
		return sbx_fail(err, EINVAL, "'%s' is not a regular file", path);
	if (st->st_uid != trust->owner)
		return sbx_fail(err, EPERM,
				"'%s' is owned by uid %u, but must be by uid %u (chown it)", path,
				st->st_uid, trust->owner);
	if ((st->st_mode & trust->forbidden_mode) != 0)
		return sbx_fail(err, EPERM, "'%s' has mode %04o, which is too open; chmod %04o it",
				path, st->st_mode & 07777, 0644 & ~trust->forbidden_mode);
	if (trust->group_limited && st->st_gid != 0 && st->st_gid != trust->group)
		return sbx_fail(err, EPERM, "'%s' has group %u, but must have group %u or 0", path,
				st->st_gid, trust->group);
	return 0;
}

int sbx_trust_check_directory(const struct sbx_trust *trust, const struct stat *st,
			      const char *path, struct sbx_err *err)
{
	if (S_ISLNK(st->st_mode))
		return sbx_fail(err, EPERM, "'%s' is a symbolic link", path);
	if (!S_ISDIR(st->st_mode))
		return sbx_fail(err, ENOTDIR, "'%s' is not a directory", path);
	if (st->st_uid != 0 && st->st_uid != trust->owner)
		return sbx_fail(err, EPERM,
				"directory '%s' is owned by uid %u, but must be by "
				"uid %u",
				path, st->st_uid, trust->owner);
	/* In a sticky directory like /tmp others cannot rename or remove what root put there. */
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st->st_mode & S_ISVTX) == 0)
		return sbx_fail(err, EPERM,
				"directory '%s' has mode %04o, but only its owner may write to it",
				path, st->st_mode & 07777);
	return 0;
}

static int enter(const struct sbx_trust *trust, const char *name, const char *path, int *fd,
		 struct sbx_err *err)
{
	sbx_autoclose int next = openat(*fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc;

	if (next < 0)
		return sbx_fail(err, errno, "open '%s': %s", path, strerror(errno));
	if (fstat(next, &st) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", path, strerror(errno));
	rc = sbx_trust_check_directory(trust, &st, path, err);
	if (rc < 0)
		return rc;
	sbx_closep(fd);
	*fd = sbx_take_fd(&next);
	return 0;
}

/* Open the directory that holds 'path', checking each on the way. */
static int open_parent(const char *path, const struct sbx_trust *trust, int *ret_fd,
		       const char **ret_name, struct sbx_err *err)
{
	sbx_autoclose int fd = AT_FDCWD;
	sbx_autofree char *walked = strdup(path);
	char *name = walked;
	char *slash;
	int rc;

	if (walked == NULL)
		return sbx_fail(err, ENOMEM, "open '%s': %s", path, strerror(ENOMEM));
	if (path[0] != '/' || path[strlen(path) - 1] == '/')
		return sbx_fail(err, EINVAL, "'%s' is not the absolute path of a file", path);
	rc = enter(trust, "/", "/", &fd, err);
	while (rc == 0) {
		name += strspn(name, "/");
		slash = strchr(name, '/');
		if (slash == NULL)
			break;
		*slash = '\0'; /* 'walked' is now the path of this directory, for the message */
		rc = enter(trust, name, walked, &fd, err);
		*slash = '/';
		name = slash + 1;
	}
	if (rc < 0)
		return rc;
	*ret_name = path + (name - walked);
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

int sbx_trusted_file_read(const char *path, const struct sbx_trust *trust, char **ret_text,
			  size_t *ret_length, struct sbx_err *err)
{
	sbx_autoclose int directory_fd = -EBADF;
	sbx_autofree char *text = NULL;
	const char *name = NULL;
	struct sbx_err reason = {0};
	size_t length = 0;
	struct stat st;
	int rc = open_parent(path, trust, &directory_fd, &name, err);

	if (rc < 0)
		return rc;
	rc = sbx_file_read(directory_fd, name, O_NOFOLLOW, trust->max_bytes, &text, &length, &st,
			   &reason);
	if (rc == -ELOOP)
		return sbx_fail(err, ELOOP, "'%s' is a symbolic link", path);
	if (rc < 0) /* 'reason' has the bare name only */
		return sbx_fail(err, -rc, "read '%s': %s", path, reason.msg);
	rc = sbx_trust_check_file(trust, &st, path, err);
	if (rc < 0) {
		explicit_bzero(text, length);
		return rc;
	}
	*ret_text = text;
	*ret_length = length;
	text = NULL;
	return 0;
}
