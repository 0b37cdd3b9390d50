/* SPDX-License-Identifier: MIT */
#include "sandbox/workspace.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"
#include "sandbox/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define SKEL_DEPTH_MAX 16
#define REMOVE_DEPTH_MAX (SKEL_DEPTH_MAX + 2) /* all that a refused skeleton has left */
#define TEMPORARY_SUFFIX ".sbx-new"

struct owner {
	uid_t uid;
	gid_t gid;
};

static int copy_bytes(int from_fd, int to_fd)
{
	ssize_t n;

	do {
		n = sendfile(to_fd, from_fd, NULL, 1 << 20);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

/* After a power cut the workspace is either not there yet or whole. */
static int finish(int fd, int rc) { return rc == 0 && fsync(fd) < 0 ? -errno : rc; }

static int copy_file(int from_dir, int to_dir, const char *name, const struct stat *st,
		     const struct owner *owner)
{
	sbx_autoclose int from_fd =
	    openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	sbx_autoclose int to_fd = -EBADF;

	if (from_fd < 0)
		return -errno;
	to_fd = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return -errno;
	/* Owner first: changing it afterwards would clear mode bits. */
	if (fchown(to_fd, owner->uid, owner->gid) < 0 || fchmod(to_fd, st->st_mode & 0777) < 0)
		return -errno;
	return finish(to_fd, copy_bytes(from_fd, to_fd));
}

static int copy_link(int from_dir, int to_dir, const char *name, const struct owner *owner)
{
	char text[4096];
	ssize_t length = readlinkat(from_dir, name, text, sizeof(text) - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	if (symlinkat(text, to_dir, name) < 0 ||
	    fchownat(to_dir, name, owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

/* Recursive, but no deeper than SKEL_DEPTH_MAX, and only in what root made. */
// NOLINTBEGIN(misc-no-recursion)
static int copy_tree(int from_dir, int to_dir, const struct owner *owner, int depth);

static int copy_directory(int from_dir, int to_dir, const char *name, const struct stat *st,
			  const struct owner *owner, int depth)
{
	sbx_autoclose int from_fd =
	    openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	sbx_autoclose int to_fd = -EBADF;

	if (from_fd < 0)
		return -errno;
	if (mkdirat(to_dir, name, 0700) < 0)
		return -errno;
	to_fd = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to_fd < 0)
		return -errno;
	if (fchown(to_fd, owner->uid, owner->gid) < 0 || fchmod(to_fd, st->st_mode & 0777) < 0)
		return -errno;
	return copy_tree(from_fd, to_fd, owner, depth + 1);
}

static int copy_entry(int from_dir, int to_dir, const char *name, const struct owner *owner,
		      int depth)
{
	struct stat st;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return copy_file(from_dir, to_dir, name, &st, owner);
	if (S_ISLNK(st.st_mode))
		return copy_link(from_dir, to_dir, name, owner);
	if (S_ISDIR(st.st_mode))
		return copy_directory(from_dir, to_dir, name, &st, owner, depth);
	return -EINVAL; /* fifos, sockets and devices have no place in a skeleton */
}

static int copy_tree(int from_dir, int to_dir, const struct owner *owner, int depth)
{
	const struct dirent *entry;
	DIR *dir;
	int fd;
	int rc = 0;

	if (depth > SKEL_DEPTH_MAX)
		return -ELOOP;
	fd = openat(from_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (dir == NULL) {
		rc = -errno;
		(void)close(fd); /* nothing written */
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = copy_entry(from_dir, to_dir, entry->d_name, owner, depth);
	}
	if (rc == 0)
		rc = -errno; /* of readdir(3); 0 at the end of the directory */
	(void)closedir(dir); /* nothing written */
	return finish(to_dir, rc);
}

/* Remove what an interrupted start left. It is root's and closed to all others, so nobody races. */
static int remove_tree(int parent_fd, const char *name, int depth)
{
	const struct dirent *entry;
	DIR *dir;
	int fd;
	int rc = 0;

	if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (depth > REMOVE_DEPTH_MAX)
		return -ELOOP;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (dir == NULL) {
		rc = -errno;
		(void)close(fd); /* nothing written */
		return rc;
	}
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = remove_tree(fd, entry->d_name, depth + 1);
	}
	(void)closedir(dir); /* nothing written */
	if (rc == 0 && unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
		rc = -errno;
	return rc;
}

// NOLINTEND(misc-no-recursion)

/* Fill a fresh directory; it becomes the user's only when all is in it. */
static int fill(int parent_fd, const char *temporary, const char *skel, const struct owner *owner)
{
	sbx_autoclose int skel_fd = -EBADF;
	sbx_autoclose int fd = -EBADF;
	int rc = 0;

	if (mkdirat(parent_fd, temporary, 0700) < 0)
		return -errno;
	fd = openat(parent_fd, temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	skel_fd = open(skel, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (skel_fd >= 0)
		rc = copy_tree(skel_fd, fd, owner, 0);
	else if (errno != ENOENT)
		rc = -errno;
	if (rc == 0 && fchown(fd, owner->uid, owner->gid) < 0)
		rc = -errno;
	return rc;
}

static int make_workspace(const char *path, const char *skel, const struct owner *owner,
			  struct sbx_err *err)
{
	sbx_autoclose int parent_fd = -EBADF;
	sbx_autostr struct sbx_str temporary = {0};
	struct stat st;
	const char *name;
	int rc;

	/* The default parent is made by the installation; on a machine set up by hand it may lack.
	 */
	if (strncmp(path, SBX_WORKSPACE_ROOT "/", sizeof(SBX_WORKSPACE_ROOT)) == 0 &&
	    mkdir(SBX_WORKSPACE_ROOT, 0711) < 0 && errno != EEXIST)
		return sbx_fail(err, errno, "make '" SBX_WORKSPACE_ROOT "': %s", strerror(errno));
	rc = sbx_path_open_parent(path, geteuid(), &parent_fd, &name, err);
	if (rc < 0)
		return sbx_wrap(err, rc, "make workspace '%s'", path);
	/* Whoever owns the parent could put another directory in the new one's place meanwhile. */
	if (fstat(parent_fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()))
		return sbx_fail(
		    err, EPERM,
		    "workspace '%s' does not exist, and its parent is not root's; make it "
		    "as its user",
		    path);
	sbx_str_addf(&temporary, ".%s" TEMPORARY_SUFFIX, name);
	if (temporary.rc < 0)
		return sbx_fail(err, ENOMEM, "make '%s': %s", path, strerror(ENOMEM));
	rc = remove_tree(parent_fd, temporary.text, 0);
	if (rc == 0)
		rc = fill(parent_fd, temporary.text, skel, owner);
	if (rc == 0 && renameat2(parent_fd, temporary.text, parent_fd, name, RENAME_NOREPLACE) < 0)
		rc = -errno;
	if (rc < 0) {
		(void)remove_tree(parent_fd, temporary.text, 0); /* else the next start does it */
		return sbx_fail(err, -rc, "make workspace '%s' from '%s': %s", path, skel,
				strerror(-rc));
	}
	return 0;
}

int sbx_workspace_open(const char *path, const char *skel, uid_t uid, gid_t gid, int *ret_fd,
		       struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	struct stat st;
	int rc = sbx_path_open(path, geteuid(), &fd, err);

	if (rc == -ENOENT) {
		const struct owner owner = {.uid = uid, .gid = gid};

		rc = make_workspace(path, skel, &owner, err);
		if (rc == 0)
			rc = sbx_path_open(path, geteuid(), &fd, err);
	}
	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sbx_fail(err, ENOTDIR, "workspace '%s' is not a directory", path);
	if (st.st_uid != uid)
		return sbx_fail(
		    err, EPERM,
		    "workspace '%s' belongs to uid %u, not to uid %u; each user needs one "
		    "of its own (%%u in the policy stands for the user's name)",
		    path, st.st_uid, uid);
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}
