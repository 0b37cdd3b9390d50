/* SPDX-License-Identifier: MIT */
#include "shell/terminal.h"

#include "base/fd.h"
#include "sandbox/mount.h"
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the terminal on 'fd' is in the host's /dev, provided that it is there. */
static bool find_node(int fd, char *path, size_t size, struct stat *ret_stat)
{
	char fd_path[64];
	struct stat named;
	ssize_t length;

	if (fstat(fd, ret_stat) < 0 || !S_ISCHR(ret_stat->st_mode) || isatty(fd) == 0)
		return false;
	(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd); /* fits */
	length = readlink(fd_path, path, size - 1);
	if (length < 0)
		return false;
	path[length] = '\0';
	return strncmp(path, "/dev/", 5) == 0 && lstat(path, &named) == 0 &&
	       named.st_dev == ret_stat->st_dev && named.st_ino == ret_stat->st_ino &&
	       named.st_rdev == ret_stat->st_rdev;
}

/* "/dev/pts/5" becomes "host-pts-5", a name that nothing inside has. */
static bool make_name(const char *path, char *name, size_t size)
{
	int length = snprintf(name, size, "host-%s", path + strlen("/dev/"));

	if (length < 0 || (size_t)length >= size)
		return false;
	for (char *p = name; *p != '\0'; p++) {
		if (*p == '/')
			*p = '-';
	}
	return true;
}

/* In the child: clone the node in our own copy of the mounts, and send that. */
static int clone_and_send(const char *path, const struct stat *expected, int socket_fd)
{
	const char done = 1;
	sbx_autoclose int node_fd = -EBADF;
	sbx_autoclose int tree_fd = -EBADF;
	struct stat st;
	int rc;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	node_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (node_fd < 0 || fstat(node_fd, &st) < 0)
		return -errno;
	if (st.st_dev != expected->st_dev || st.st_ino != expected->st_ino)
		return -ESTALE;
	rc = sbx_mount_clone(node_fd, SBX_MOUNT_NOEXEC, false, &tree_fd, NULL);
	return rc < 0 ? rc : sbx_message_send(socket_fd, &done, sizeof(done), &tree_fd, 1);
}

static int receive(int socket_fd)
{
	char done;
	int fd = -EBADF;
	size_t n_fds;

	if (sbx_message_receive(socket_fd, &done, sizeof(done), &fd, 1, &n_fds) < 0 || n_fds != 1)
		return -EBADF;
	return fd;
}

void sbx_user_terminal_take(struct sbx_terminal *terminal)
{
	char path[PATH_MAX];
	struct stat st;
	int sockets[2];
	int fd = 0;
	pid_t pid;

	while (fd <= 2 && !find_node(fd, path, sizeof(path), &st))
		fd++;
	if (fd > 2 || !make_name(path, terminal->name, sizeof(terminal->name)) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(clone_and_send(path, &st, sockets[1]) < 0 ? 1 : 0);
	(void)close(sockets[1]); /* the child's end */
	if (pid > 0) {
		terminal->tree_fd = receive(sockets[0]);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	(void)close(sockets[0]); /* nothing more comes */
}

/* The tree of /dev inside belongs to a read-only mount; this makes the one file in it. */
static int make_place(const char *name, struct sbx_err *err)
{
	sbx_autoclose int dev_fd = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	sbx_autoclose int tree_fd = -EBADF;
	sbx_autoclose int fd = -EBADF;
	int rc;

	if (dev_fd < 0)
		return sbx_fail(err, errno, "open '/dev': %s", strerror(errno));
	rc = sbx_mount_writable(dev_fd, &tree_fd, err);
	if (rc < 0)
		return rc;
	fd = openat(tree_fd, name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return sbx_fail(err, errno, "make '/dev/%s': %s", name, strerror(errno));
	return 0;
}

int sbx_user_terminal_put(const struct sbx_terminal *terminal, struct sbx_err *err)
{
	sbx_autoclose int place_fd = -EBADF;
	char path[64];
	int rc = 0;

	if (terminal->tree_fd < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/dev/%s", terminal->name); /* fits */
	if (access(path, F_OK) < 0)
		rc = make_place(terminal->name, err);
	if (rc < 0)
		return sbx_wrap(err, rc, "show the terminal");
	/* An earlier session's terminal of that number is another one by now. */
	sbx_mount_detach(path);
	place_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place_fd < 0)
		return sbx_fail(err, errno, "show the terminal: open '%s': %s", path,
				strerror(errno));
	return sbx_mount_attach(terminal->tree_fd, place_fd, err);
}
