/* SPDX-License-Identifier: MIT */
#include "shell/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORKING_UMASK 022

static int open_standard_streams(struct sbx_err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		int opened;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is this one; it is to survive exec. */
		opened = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
		if (opened < 0)
			return sbx_fail(err, errno, "open '/dev/null': %s", strerror(errno));
		if (opened != fd)
			return sbx_fail(err, EBADF, "descriptor %d cannot be opened", fd);
	}
	return 0;
}

int sbx_startup(struct sbx_inherited *ret_inherited, struct sbx_err *err)
{
	/* Also against core dumps. exec undoes it for what is started. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "prctl: %s", strerror(errno));
	(void)sigprocmask(SIG_SETMASK, NULL, &ret_inherited->blocked); /* these cannot fail */
	(void)sigaction(SIGCHLD, NULL, &ret_inherited->on_child);
	(void)sigaction(SIGXFSZ, NULL, &ret_inherited->on_file_size);
	ret_inherited->umask = umask(WORKING_UMASK);
	(void)umask(ret_inherited->umask);
	return open_standard_streams(err);
}

/* With a directory as standard input, "cd /proc/self/fd/0/.." would be outside. */
static int check_standard_streams(struct sbx_err *err)
{
	static const char *const names[] = {"input", "output", "error"};

	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fstat(fd, &st) < 0)
			return sbx_fail(err, errno, "look at standard %s: %s", names[fd],
					strerror(errno));
		if (S_ISDIR(st.st_mode) || (flags & O_PATH) != 0)
			return sbx_fail(err, EPERM,
					"standard %s is a directory, which would lead out of the "
					"sandbox; give it a file, a pipe or a terminal",
					names[fd]);
	}
	return 0;
}

int sbx_startup_outside(struct sbx_err *err)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	int rc = check_standard_streams(err);

	if (rc < 0)
		return rc;
	if (syscall(SYS_close_range, 3U, ~0U, 0) < 0)
		return sbx_fail(err, errno, "close_range: %s%s", strerror(errno),
				errno == ENOSYS ? " (sbx needs Linux 5.14 or newer)" : "");
	(void)umask(WORKING_UMASK);
	/* Ignored, it would make the kernel reap the child whose status is to be passed on. */
	(void)sigaction(SIGCHLD, &action, NULL);
	/* Under a small "ulimit -f" a write shall fail, with a message, and not kill. */
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGXFSZ, &action, NULL);
	return 0;
}

void sbx_startup_restore(const struct sbx_inherited *inherited)
{
	(void)umask(inherited->umask);
	(void)sigaction(SIGCHLD, &inherited->on_child, NULL);
	(void)sigaction(SIGXFSZ, &inherited->on_file_size, NULL);
	(void)sigprocmask(SIG_SETMASK, &inherited->blocked, NULL);
}
