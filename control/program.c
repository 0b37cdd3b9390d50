/* SPDX-License-Identifier: MIT */
#include "control/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(const char *path, char *const argv[], pid_t *ret_pid)
{
	static char path_variable[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	static char locale_variable[] = "LC_ALL=C";
	char *const environment[] = {path_variable, locale_variable, NULL};
	posix_spawn_file_actions_t actions;
	int code = posix_spawn_file_actions_init(&actions);

	if (code != 0)
		return code;
	code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	/* Ours is for what was asked of sbxctl; theirs only repeats what they were told to do. */
	if (code == 0)
		code = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
							O_WRONLY, 0);
	if (code == 0)
		code = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	if (code == 0)
		code = posix_spawn(ret_pid, path, &actions, NULL, argv, environment);
	(void)posix_spawn_file_actions_destroy(&actions); /* always 0 */
	return code;
}

int sbx_program_run(const char *path, char *const argv[], struct sbx_err *err)
{
	pid_t pid;
	int status;
	int code = spawn(path, argv, &pid);

	if (code == ENOENT)
		return sbx_fail(err, ENOENT, "'%s' is not installed", path);
	if (code != 0)
		return sbx_fail(err, code, "run '%s': %s", path, strerror(code));
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return sbx_fail(err, errno, "wait for '%s': %s", path, strerror(errno));
	}
	if (WIFSIGNALED(status))
		return sbx_fail(err, EIO, "'%s' was killed by signal %d", path, WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return sbx_fail(err, EIO, "'%s' ended with status %d", path, WEXITSTATUS(status));
	return 0;
}
