/* SPDX-License-Identifier: MIT */
#include "sandbox/path.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as the kernel, path_resolution(7) */

static int openat2_retry(int dirfd, const char *path, uint64_t flags, uint64_t mode,
			 uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve};
	long fd;

	/* EAGAIN: a rename or mount elsewhere raced with a scoped look-up, openat2(2). */
	for (int tries = 0; tries < 100; tries++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return (int)fd;
}

static bool owned_by_root(const struct stat *st, uid_t owner)
{
	return st->st_uid == 0 || st->st_uid == owner;
}

/* Can nobody but root replace what root has put into this directory? Sticky ones like /tmp count.
 */
static bool directory_is_safe(const struct stat *st, uid_t owner)
{
	return owned_by_root(st, owner) &&
	       ((st->st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st->st_mode & S_ISVTX) != 0);
}

/* One walk: 'rest' is what is still to be resolved from 'fd'. */
struct walk {
	int fd;
	char *rest;
	int links;
	uid_t owner;
	bool distrusted; /* a directory on the way can be changed by others: no links from here */
};

static void walk_done(struct walk *walk)
{
	sbx_closep(&walk->fd);
	free(walk->rest);
}

static int walk_to_root(struct walk *walk)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	sbx_closep(&walk->fd);
	walk->fd = fd;
	walk->distrusted = false;
	return 0;
}

/* Put the text of a link in front of what is left to walk. */
static int walk_follow(struct walk *walk, int link_fd, const char *rest)
{
	sbx_autostr struct sbx_str joined = {0};
	char text[PATH_MAX];
	ssize_t length;
	char *taken;
	int rc;

	if (++walk->links > MAX_LINKS)
		return -ELOOP;
	length = readlinkat(link_fd, "", text, sizeof(text) - 1);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	if (text[0] == '/') {
		rc = walk_to_root(walk);
		if (rc < 0)
			return rc;
	}
	sbx_str_addf(&joined, "%s/%s", text, rest);
	rc = sbx_str_take(&joined, &taken);
	if (rc < 0)
		return rc;
	free(walk->rest);
	walk->rest = taken;
	return 0;
}

/* Take one component off walk->rest and step into it. Returns 1 when nothing is left. */
static int walk_step(struct walk *walk)
{
	sbx_autoclose int next = -EBADF;
	struct stat here;
	struct stat there;
	char *name = walk->rest + strspn(walk->rest, "/");
	char *rest = name + strcspn(name, "/");

	if (*name == '\0')
		return 1;
	if (*rest == '/')
		*rest++ = '\0';
	if (fstat(walk->fd, &here) < 0)
		return -errno;
	next = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	if (fstat(next, &there) < 0)
		return -errno;
	if (S_ISLNK(there.st_mode)) {
		if (walk->distrusted || !directory_is_safe(&here, walk->owner) ||
		    !owned_by_root(&there, walk->owner))
			return -ELOOP;
		return walk_follow(walk, next, rest);
	}
	/* ".." out of a directory that somebody may move leads wherever that somebody likes. */
	if (strcmp(name, "..") == 0 && walk->distrusted)
		return -ELOOP;
	/* In a shared directory like /tmp, what is not root's may be moved by whom it belongs to.
	 */
	if (!directory_is_safe(&here, walk->owner) ||
	    ((here.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !owned_by_root(&there, walk->owner)))
		walk->distrusted = true;
	memmove(walk->rest, rest, strlen(rest) + 1);
	sbx_closep(&walk->fd);
	walk->fd = sbx_take_fd(&next);
	return 0;
}

int sbx_path_open(const char *path, uid_t owner, int *ret_fd, struct sbx_err *err)
{
	__attribute__((cleanup(walk_done))) struct walk walk = {.fd = -EBADF, .owner = owner};
	int rc;

	if (path[0] != '/')
		return sbx_fail(err, EINVAL, "'%s' is not an absolute path", path);
	walk.rest = strdup(path);
	if (walk.rest == NULL)
		return sbx_fail(err, ENOMEM, "open '%s': %s", path, strerror(ENOMEM));
	rc = walk_to_root(&walk);
	while (rc == 0)
		rc = walk_step(&walk);
	if (rc == -ELOOP)
		return sbx_fail(err, ELOOP, "open '%s': a symbolic link on the way is not root's",
				path);
	if (rc < 0)
		return sbx_fail(err, -rc, "open '%s': %s", path, strerror(-rc));
	*ret_fd = sbx_take_fd(&walk.fd);
	return 0;
}

int sbx_path_open_parent(const char *path, uid_t owner, int *ret_fd, const char **ret_name,
			 struct sbx_err *err)
{
	sbx_autofree char *parent = NULL;
	const char *slash = strrchr(path, '/');

	if (slash == NULL || slash[1] == '\0')
		return sbx_fail(err, EINVAL, "'%s' has no last component", path);
	parent = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	if (parent == NULL)
		return sbx_fail(err, ENOMEM, "open '%s': %s", path, strerror(ENOMEM));
	*ret_name = slash + 1;
	return sbx_path_open(parent, owner, ret_fd, err);
}

int sbx_path_open_in(int root_fd, const char *path, int flags, int *ret_fd, struct sbx_err *err)
{
	int fd = openat2_retry(root_fd, path, (uint64_t)(unsigned int)flags, 0,
			       RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	if (fd < 0)
		return sbx_fail(err, errno, "open '%s': %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* The part of an absolute path that openat2(RESOLVE_BENEATH) wants; "." for the root itself. */
static const char *beneath(const char *path)
{
	path += strspn(path, "/");
	return *path == '\0' ? "." : path;
}

static int open_beneath(int root_fd, const char *path, int flags)
{
	return openat2_retry(root_fd, beneath(path), (uint64_t)(unsigned int)flags, 0,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int sbx_path_make_directory(int root_fd, const char *path, int *ret_fd, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	sbx_autofree char *copy = NULL;
	char *save = NULL;

	/* Nearly always it is there already, or only its last component is missing. */
	fd = open_beneath(root_fd, path, O_PATH | O_DIRECTORY);
	if (fd >= 0) {
		*ret_fd = sbx_take_fd(&fd);
		return 0;
	}
	copy = strdup(path);
	fd = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (copy == NULL || fd < 0)
		return sbx_fail(err, errno, "make '%s': %s", path, strerror(errno));
	for (char *name = strtok_r(copy, "/", &save); name != NULL;
	     name = strtok_r(NULL, "/", &save)) {
		int next;

		if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
			return sbx_fail(err, errno, "make '%s': %s", path, strerror(errno));
		next = open_beneath(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
		if (next < 0)
			return sbx_fail(err, errno, "make '%s': %s", path, strerror(errno));
		(void)close(fd); /* O_PATH: nothing to lose */
		fd = next;
	}
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

int sbx_path_make_file(int root_fd, const char *path, int *ret_fd, struct sbx_err *err)
{
	sbx_autoclose int parent_fd = -EBADF;
	sbx_autoclose int fd = -EBADF;
	sbx_autofree char *parent = NULL;
	const char *slash = strrchr(path, '/');
	struct stat st;
	int rc;

	if (slash == NULL || slash[1] == '\0')
		return sbx_fail(err, EINVAL, "'%s' has no last component", path);
	parent = strndup(path, (size_t)(slash - path));
	if (parent == NULL)
		return sbx_fail(err, ENOMEM, "make '%s': %s", path, strerror(ENOMEM));
	rc = sbx_path_make_directory(root_fd, parent, &parent_fd, err);
	if (rc < 0)
		return rc;
	/* A fifo or socket planted here must not block or be written: open it as O_PATH only. */
	fd = open_beneath(parent_fd, slash + 1, O_PATH | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		sbx_autoclose int made =
		    openat(parent_fd, slash + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

		if (made < 0)
			return sbx_fail(err, errno, "make '%s': %s", path, strerror(errno));
		fd = open_beneath(parent_fd, slash + 1, O_PATH | O_NOFOLLOW);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "make '%s': %s", path, strerror(errno));
	/* The last link is opened as itself; a mount on it would be seen by nobody. */
	if (S_ISLNK(st.st_mode) || S_ISDIR(st.st_mode))
		return sbx_fail(err, S_ISDIR(st.st_mode) ? EISDIR : ELOOP,
				"make '%s': a %s is in its place", path,
				S_ISDIR(st.st_mode) ? "directory" : "symbolic link");
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}
