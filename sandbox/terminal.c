/* SPDX-License-Identifier: MIT */
#include "sandbox/terminal.h"

#include "base/fd.h"
#include "base/paths.h"
#include "sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FDS_LOOKED_AT 64 /* a login program has a dozen */

/* The slave side of a pty, or a virtual console or serial line. */
static bool is_terminal(int fd, struct stat *ret_stat)
{
	unsigned int device_major;

	if (fstat(fd, ret_stat) < 0 || !S_ISCHR(ret_stat->st_mode) || isatty(fd) == 0)
		return false;
	device_major = major(ret_stat->st_rdev);
	return (device_major >= UNIX98_PTY_SLAVE_MAJOR &&
		device_major < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT) ||
	       device_major == TTY_MAJOR;
}

static void name_terminal(struct sbx_terminal *terminal, const struct stat *st)
{
	unsigned int number = minor(st->st_rdev);

	if (major(st->st_rdev) == TTY_MAJOR)
		(void)snprintf(terminal->name, sizeof(terminal->name), "host-tty-%u", number);
	else
		(void)snprintf(terminal->name, sizeof(terminal->name), "host-pts-%u",
			       (major(st->st_rdev) - UNIX98_PTY_SLAVE_MAJOR) * 256 + number);
}

/*
 * The user's end of a pseudo-terminal whose other end this process holds: sudo with
 * use_pty makes one before it opens the PAM session and gives that to the command.
 */
static int open_own_pty(struct stat *ret_stat)
{
	for (int fd = 3; fd < FDS_LOOKED_AT; fd++) {
		struct stat st;
		int user_fd;

		if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(5, 2))
			continue;
		user_fd = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (user_fd >= 0 && is_terminal(user_fd, ret_stat))
			return user_fd;
		sbx_closep(&user_fd);
	}
	return -ENOENT;
}

void sbx_terminal_take(struct sbx_terminal *terminal)
{
	struct stat st;
	sbx_autoclose int own_fd = open_own_pty(&st);
	int fd = own_fd;

	for (int i = 0; fd < 0 && i <= 2; i++) {
		if (is_terminal(i, &st))
			fd = i;
	}
	/* Fails for a terminal of another mount namespace, which then has no name here. */
	if (fd >= 0 && sbx_mount_clone(fd, SBX_MOUNT_NOEXEC, false, &terminal->tree_fd, NULL) == 0)
		name_terminal(terminal, &st);
}

int sbx_terminal_put(const struct sbx_terminal *terminal, struct sbx_err *err)
{
	sbx_autoclose int made_fd = -EBADF;
	sbx_autoclose int target_fd = -EBADF;
	char in_pocket[64];
	char in_dev[64];

	if (terminal->tree_fd < 0)
		return 0;
	/* /dev is read-only; the pocket holds a writable mount of the same directory. */
	(void)snprintf(in_pocket, sizeof(in_pocket), SBX_INSIDE_POCKET "/dev/%s",
		       terminal->name);					   /* fits */
	(void)snprintf(in_dev, sizeof(in_dev), "/dev/%s", terminal->name); /* fits */
	made_fd = open(in_pocket, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (made_fd < 0)
		return sbx_fail(err, errno, "show the terminal: make '%s': %s", in_pocket,
				strerror(errno));
	/* An earlier login's terminal of that number is another one by now. */
	sbx_mount_detach(in_dev);
	target_fd = open(in_dev, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (target_fd < 0)
		return sbx_fail(err, errno, "show the terminal: open '%s': %s", in_dev,
				strerror(errno));
	return sbx_mount_attach(terminal->tree_fd, target_fd, err);
}

void sbx_terminal_done(struct sbx_terminal *terminal) { sbx_closep(&terminal->tree_fd); }
