/* SPDX-License-Identifier: MIT */
/* Replacing a file of a workspace: all or nothing, and never outside. */
#include "base/fd.h"
#include "base/str.h"
#include "control/workspace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel, path_resolution(7) */
#define CHUNK_BYTES 65536
#define MODE_NEW 0644

/* Where the file is to stand. */
struct place {
	int parent_fd;	  /* O_PATH */
	char *path;	  /* all of it, below the workspace */
	const char *name; /* its last component, in 'path' */
};

static void place_done(struct place *place)
{
	sbx_closep(&place->parent_fd);
	free(place->path);
}

/* Open the directory that is the first 'length' bytes of 'path', made if absent. */
static int open_or_make(int workspace_fd, const char *path, size_t length, int above_fd,
			int *ret_fd)
{
	sbx_autofree char *prefix = length == 0 ? strdup(".") : strndup(path, length);
	const char *name;
	int fd;

	if (prefix == NULL)
		return -ENOMEM;
	fd = sbx_workspace_openat(workspace_fd, prefix, O_PATH | O_DIRECTORY);
	if (fd == -ENOENT && above_fd >= 0) {
		name = strrchr(prefix, '/');
		name = name == NULL ? prefix : name + 1;
		/* Somebody else may be making it just now, or a link that leads nowhere stands
		 * there. */
		if (mkdirat(above_fd, name, 0777) < 0 && errno != EEXIST)
			return -errno;
		fd = sbx_workspace_openat(workspace_fd, prefix, O_PATH | O_DIRECTORY);
	}
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* All directories of 'path', up to its last component. */
static int make_parents(int workspace_fd, const char *path, const char *name, int *ret_fd)
{
	sbx_autoclose int fd = -EBADF;
	size_t end = 0;
	int rc = open_or_make(workspace_fd, path, 0, -EBADF, &fd);

	while (rc == 0 && path + end < name) {
		int next = -EBADF;

		end += strspn(path + end, "/");
		if (path + end >= name)
			break;
		end += strcspn(path + end, "/");
		rc = open_or_make(workspace_fd, path, end, fd, &next);
		if (rc == 0) {
			sbx_closep(&fd);
			fd = next;
		}
	}
	if (rc < 0)
		return rc;
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

/* The place that 'path' names, without following its last component. */
static int find_place(int workspace_fd, const char *path, struct place *place)
{
	const char *slash;
	char *copy = strdup(path);

	if (copy == NULL)
		return -ENOMEM;
	free(place->path);
	place->path = copy;
	slash = strrchr(copy, '/');
	place->name = slash == NULL ? copy : slash + 1;
	if (place->name[0] == '\0' || strcmp(place->name, ".") == 0 ||
	    strcmp(place->name, "..") == 0)
		return -EISDIR;
	sbx_closep(&place->parent_fd);
	return make_parents(workspace_fd, copy, place->name, &place->parent_fd);
}

/*
 * If a link stands at the place, go where it leads. Its text may hold "..", which the
 * kernel resolves when the directory is opened, beneath the workspace. Whoever changes
 * the link meanwhile gets the file at the old or the new place, both inside.
 * Returns 1 when there is no link (any more).
 */
static int follow(int workspace_fd, struct place *place)
{
	sbx_autostr struct sbx_str path = {0};
	char text[PATH_MAX];
	ssize_t length = readlinkat(place->parent_fd, place->name, text, sizeof(text) - 1);

	if (length < 0)
		return errno == EINVAL || errno == ENOENT ? 1 : -errno;
	text[length] = '\0';
	if (text[0] == '/')
		return -EXDEV;
	sbx_str_addn(&path, place->path, (size_t)(place->name - place->path));
	sbx_str_add(&path, text);
	return path.rc < 0 ? path.rc : find_place(workspace_fd, path.text, place);
}

/* What stands there, and is to be replaced: the new file gets its mode. */
static int look_at_old(const struct place *place, mode_t *ret_mode)
{
	struct stat st;

	*ret_mode = MODE_NEW;
	if (fstatat(place->parent_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	if (faccessat(place->parent_fd, place->name, W_OK, 0) < 0)
		return -errno;
	*ret_mode = st.st_mode & 0777;
	return 0;
}

static int copy(int from_fd, int to_fd, struct sbx_err *err)
{
	sbx_autofree char *chunk = malloc(CHUNK_BYTES);

	if (chunk == NULL)
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	for (;;) {
		ssize_t n = read(from_fd, chunk, CHUNK_BYTES);
		int rc;

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail(err, errno, "standard input: %s", strerror(errno));
		rc = sbx_write_all(to_fd, chunk, (size_t)n);
		if (rc < 0)
			return sbx_fail(err, -rc, "%s", strerror(-rc));
	}
}

/* A file without a name, so that nothing is left when this process is killed. */
static int open_nameless(const struct place *place)
{
	int fd = openat(place->parent_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int fill(int fd, int from_fd, mode_t mode, struct sbx_err *err)
{
	int rc = copy(from_fd, fd, err);

	if (rc == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		rc = sbx_fail(err, errno, "%s", strerror(errno));
	return rc;
}

static int give_name(int fd, const struct place *place, const char *name)
{
	char self[64];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd); /* fits */
	return linkat(AT_FDCWD, self, place->parent_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int put(const struct place *place, const char *temporary, int from_fd, mode_t mode,
	       struct sbx_err *err)
{
	sbx_autoclose int fd = open_nameless(place);
	const bool nameless = fd >= 0;
	int rc;

	if (!nameless) /* a file system that cannot, or a directory that may not be written */
		fd = openat(place->parent_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
	if (fd < 0)
		return sbx_fail(err, errno, "%s", strerror(errno));
	rc = fill(fd, from_fd, mode, err);
	if (rc == 0 && nameless) {
		rc = give_name(fd, place, temporary);
		if (rc < 0)
			return sbx_fail(err, -rc, "%s", strerror(-rc));
	}
	if (rc == 0 && renameat(place->parent_fd, temporary, place->parent_fd, place->name) < 0)
		rc = sbx_fail(err, errno, "%s", strerror(errno));
	if (rc < 0)
		(void)unlinkat(place->parent_fd, temporary, 0); /* if it has a name */
	return rc;
}

/* So that the name survives a power cut. A directory that cannot be opened is no reason to fail. */
static void sync_directory(const struct place *place)
{
	sbx_autoclose int fd = openat(place->parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)fsync(fd);
}

int sbx_workspace_write(int workspace_fd, const char *relative, int from_fd, struct sbx_err *err)
{
	__attribute__((cleanup(place_done))) struct place place = {.parent_fd = -EBADF};
	char temporary[40];
	uint64_t random;
	mode_t mode = 0;
	int rc = find_place(workspace_fd, relative, &place);

	for (int links = 0; rc == 0; links++) {
		rc = links < LINKS_MAX ? follow(workspace_fd, &place) : -ELOOP;
	}
	if (rc == 1)
		rc = look_at_old(&place, &mode);
	if (rc < 0)
		return sbx_fail(err, -rc, "%s", sbx_workspace_reason(rc));
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail(err, errno, "getrandom: %s", strerror(errno));
	(void)snprintf(temporary, sizeof(temporary), ".sbx-%016" PRIx64, random); /* fits */
	rc = put(&place, temporary, from_fd, mode, err);
	if (rc == 0)
		sync_directory(&place);
	return rc;
}
