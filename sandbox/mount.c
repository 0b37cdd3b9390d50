/* SPDX-License-Identifier: MIT */
#include "sandbox/mount.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Declared here because <sys/mount.h> of glibc 2.36 and <linux/mount.h> cannot be
 * included together; the numbers are the kernel's interface.
 */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data);
int umount2(const char *target, int flags);

#define FLAG_REC 16384	       /* MS_REC */
#define FLAG_PRIVATE (1 << 18) /* MS_PRIVATE */
#define FLAG_DETACH 2	       /* MNT_DETACH */
#define FLAG_NOFOLLOW 8	       /* UMOUNT_NOFOLLOW */
#define FLAG_RECURSIVE 0x8000U /* AT_RECURSIVE */

static const char *hint(int code)
{
	return code == ENOSYS ? " (sbx needs Linux 5.14 or newer)" : "";
}

static uint64_t attributes(unsigned int flags)
{
	uint64_t set = MOUNT_ATTR_NOSUID;

	if ((flags & SBX_MOUNT_RDONLY) != 0)
		set |= MOUNT_ATTR_RDONLY;
	if ((flags & SBX_MOUNT_NODEV) != 0)
		set |= MOUNT_ATTR_NODEV;
	if ((flags & SBX_MOUNT_NOEXEC) != 0)
		set |= MOUNT_ATTR_NOEXEC;
	return set;
}

static int set_attributes(int fd, unsigned int at_flags, uint64_t set)
{
	struct mount_attr attr = {.attr_set = set};

	return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | at_flags, &attr,
			    sizeof(attr));
}

int sbx_mount_clone(int source_fd, unsigned int flags, bool recursive, int *ret_fd,
		    struct sbx_err *err)
{
	const unsigned int depth = recursive ? FLAG_RECURSIVE : 0;
	sbx_autoclose int fd =
	    (int)syscall(SYS_open_tree, source_fd, "",
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | depth);

	if (fd < 0)
		return sbx_fail(err, errno, "open_tree: %s%s", strerror(errno), hint(errno));
	if (set_attributes(fd, depth, attributes(flags)) < 0)
		return sbx_fail(err, errno, "mount_setattr: %s%s", strerror(errno), hint(errno));
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

int sbx_mount_writable(int fd, int *ret_fd, struct sbx_err *err)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};
	sbx_autoclose int tree_fd = (int)syscall(
	    SYS_open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (tree_fd < 0)
		return sbx_fail(err, errno, "open_tree: %s%s", strerror(errno), hint(errno));
	if (syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return sbx_fail(err, errno, "mount_setattr: %s%s", strerror(errno), hint(errno));
	*ret_fd = sbx_take_fd(&tree_fd);
	return 0;
}

int sbx_mount_new(const char *type, const char *const *options, unsigned int flags, int *ret_fd,
		  struct sbx_err *err)
{
	sbx_autoclose int fs_fd = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (fs_fd < 0)
		return sbx_fail(err, errno, "fsopen '%s': %s%s", type, strerror(errno),
				hint(errno));
	for (size_t i = 0; options[i] != NULL; i += 2) {
		if (syscall(SYS_fsconfig, fs_fd, FSCONFIG_SET_STRING, options[i], options[i + 1],
			    0) < 0)
			return sbx_fail(err, errno, "%s option '%s': %s", type, options[i],
					strerror(errno));
	}
	if (syscall(SYS_fsconfig, fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return sbx_fail(err, errno, "make a %s: %s", type, strerror(errno));
	fd = (int)syscall(SYS_fsmount, fs_fd, FSMOUNT_CLOEXEC, attributes(flags));
	if (fd < 0)
		return sbx_fail(err, errno, "fsmount %s: %s", type, strerror(errno));
	*ret_fd = fd;
	return 0;
}

int sbx_mount_attach(int tree_fd, int target_fd, struct sbx_err *err)
{
	if (syscall(SYS_move_mount, tree_fd, "", target_fd, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return sbx_fail(err, errno, "move_mount: %s%s", strerror(errno), hint(errno));
	return 0;
}

int sbx_mount_seal(int fd, struct sbx_err *err)
{
	if (set_attributes(fd, 0, MOUNT_ATTR_RDONLY) < 0)
		return sbx_fail(err, errno, "make the root read-only: %s%s", strerror(errno),
				hint(errno));
	return 0;
}

int sbx_mount_make_private(struct sbx_err *err)
{
	if (mount("none", "/", NULL, FLAG_REC | FLAG_PRIVATE, NULL) < 0)
		return sbx_fail(err, errno, "make the mounts private: %s", strerror(errno));
	return 0;
}

void sbx_mount_detach(const char *path)
{
	(void)umount2(path, FLAG_DETACH | FLAG_NOFOLLOW); /* nothing there: all the better */
}

/* pivot_root(".", "."): the old root is stacked over the new one and then let go, pivot_root(2). */
int sbx_mount_pivot(int root_fd, struct sbx_err *err)
{
	if (fchdir(root_fd) < 0)
		return sbx_fail(err, errno, "enter the new root: %s", strerror(errno));
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return sbx_fail(err, errno, "pivot_root: %s%s", strerror(errno),
				errno == EINVAL ? " (is this a chroot or an initramfs?)" : "");
	if (umount2(".", FLAG_DETACH) < 0)
		return sbx_fail(err, errno, "let go of the old root: %s", strerror(errno));
	if (chdir("/") < 0)
		return sbx_fail(err, errno, "chdir '/': %s", strerror(errno));
	return 0;
}
