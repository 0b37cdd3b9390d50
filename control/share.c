/* SPDX-License-Identifier: MIT */
#include "control/share.h"

#include "base/fd.h"
#include "sandbox/path.h"

#include <acl/libacl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 128 /* a descriptor each */

struct share {
	gid_t gid;
	bool dry_run;
	struct sbx_share_report *report;
	struct sbx_err *err;
};

/* Libraries and system calls that take no O_PATH descriptor take this name of it. */
struct fd_path {
	char text[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
};

static struct fd_path path_of(int fd)
{
	struct fd_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd); /* fits */
	return path;
}

static void acl_freep(acl_t *acl)
{
	if (*acl != NULL)
		(void)acl_free(*acl); /* fails for what is no ACL only */
}

#define autoacl __attribute__((cleanup(acl_freep)))

/* Let the owning group do all; the mask must not take it away again. */
static int allow_group(acl_t acl)
{
	acl_entry_t entry;
	int which = ACL_FIRST_ENTRY;
	int rc;

	while ((rc = acl_get_entry(acl, which, &entry)) == 1) {
		acl_permset_t permissions;
		acl_tag_t tag;

		which = ACL_NEXT_ENTRY;
		if (acl_get_tag_type(entry, &tag) < 0)
			return -errno;
		if (tag != ACL_GROUP_OBJ && tag != ACL_MASK)
			continue;
		if (acl_get_permset(entry, &permissions) < 0 ||
		    acl_add_perm(permissions, ACL_READ) < 0 ||
		    acl_add_perm(permissions, ACL_WRITE) < 0 ||
		    acl_add_perm(permissions, ACL_EXECUTE) < 0)
			return -errno;
	}
	return rc < 0 ? -errno : 0;
}

/* The ACL that new entries inherit. Named entries that an administrator put there stay. */
static int set_default_acl(const struct share *share, int fd, mode_t mode, bool *changed)
{
	const struct fd_path path = path_of(fd);
	autoacl acl_t present = acl_get_file(path.text, ACL_TYPE_DEFAULT);
	autoacl acl_t acl = NULL;
	int rc;

	if (present == NULL)
		return -errno;
	acl = acl_entries(present) > 0 ? acl_dup(present) : acl_from_mode(mode);
	if (acl == NULL)
		return -errno;
	rc = allow_group(acl);
	if (rc < 0)
		return rc;
	if (acl_cmp(acl, present) == 0)
		return 0;
	*changed = true;
	if (!share->dry_run && acl_set_file(path.text, ACL_TYPE_DEFAULT, acl) < 0)
		return -errno;
	return 0;
}

/* Owning group and mode. The descriptor pins the inode, so what was looked at is what changes. */
static int set_group_and_mode(const struct share *share, int fd, const struct stat *st,
			      mode_t wanted, bool *changed)
{
	const struct fd_path path = path_of(fd);

	if (st->st_gid == share->gid && (st->st_mode & 07777) == wanted)
		return 0;
	*changed = true;
	if (share->dry_run)
		return 0;
	if (st->st_gid != share->gid && fchownat(fd, "", (uid_t)-1, share->gid, AT_EMPTY_PATH) < 0)
		return -errno;
	return chmod(path.text, wanted) < 0 ? -errno : 0;
}

static int share_file(const struct share *share, int fd, const struct stat *st)
{
	mode_t mode = st->st_mode & 0777; /* no setuid file is made anybody's but its owner's */
	bool changed = false;
	int rc = set_group_and_mode(share, fd, st, mode | ((mode & 0700) >> 3), &changed);

	share->report->n_changed += changed;
	return rc;
}

/* Recursive, but no deeper than DEPTH_MAX. */
// NOLINTBEGIN(misc-no-recursion)
static int share_directory(const struct share *share, int fd, const struct stat *st, int depth);

static int share_entry(const struct share *share, int dir_fd, const char *name, int depth)
{
	struct open_how how = {
	    .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	sbx_autoclose int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0; /* gone meanwhile */
	if (fd < 0 && errno == EXDEV) {
		share->report->n_skipped++;
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return share_directory(share, fd, &st, depth + 1);
	if (S_ISREG(st.st_mode) && st.st_nlink == 1)
		return share_file(share, fd, &st);
	if (!S_ISLNK(st.st_mode)) /* a link has no permissions of its own */
		share->report->n_skipped++;
	return 0;
}

static int share_directory(const struct share *share, int fd, const struct stat *st, int depth)
{
	const mode_t wanted = (st->st_mode & 07777) | S_ISGID | 0070;
	const struct dirent *entry;
	bool changed = false;
	int list_fd;
	DIR *dir;
	int rc;

	if (depth > DEPTH_MAX)
		return sbx_fail(share->err, ELOOP, "more than %d directories deep", DEPTH_MAX);
	rc = set_group_and_mode(share, fd, st, wanted, &changed);
	if (rc == 0)
		rc = set_default_acl(share, fd, wanted, &changed);
	share->report->n_changed += changed;
	if (rc < 0)
		return rc;
	list_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (list_fd < 0)
		return -errno;
	dir = fdopendir(list_fd);
	if (dir == NULL) {
		rc = -errno;
		(void)close(list_fd); /* nothing written */
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = share_entry(share, fd, entry->d_name, depth);
	}
	if (rc == 0)
		rc = -errno; /* of readdir(3); 0 at the end of the directory */
	(void)closedir(dir); /* nothing written */
	return rc;
}
// NOLINTEND(misc-no-recursion)

int sbx_share_folder(const char *path, gid_t gid, bool dry_run, struct sbx_share_report *ret,
		     struct sbx_err *err)
{
	struct sbx_share_report report = {0};
	struct sbx_err reason = {0};
	const struct share share = {
	    .gid = gid, .dry_run = dry_run, .report = &report, .err = &reason};
	sbx_autoclose int fd = -EBADF;
	struct stat st;
	int rc = sbx_path_open(path, 0, &fd, err);

	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sbx_fail(err, ENOTDIR, "'%s' is not a directory", path);
	rc = share_directory(&share, fd, &st, 0);
	if (rc == -EOPNOTSUPP)
		return sbx_fail(err, EOPNOTSUPP, "share '%s': its file system has no ACLs", path);
	if (rc < 0)
		return sbx_fail(err, -rc, "share '%s': %s", path,
				reason.code != 0 ? reason.msg : strerror(-rc));
	*ret = report;
	return 0;
}
