/* SPDX-License-Identifier: MIT */
#include "shell/inside.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/paths.h"
#include "base/str.h"
#include "shell/exit_status.h"
#include "shell/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static int open_marker(void)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, AT_FDCWD, SBX_INSIDE_MARKER, &how, sizeof(how));
}

/* "UID UID 1": just one id exists here, and root is not it. */
static bool only_own_id_exists(void)
{
	sbx_autofree char *map = NULL;
	uint64_t numbers[3] = {0};
	char *save = NULL;
	char *word;

	if (sbx_file_read(AT_FDCWD, "/proc/self/uid_map", 0, 4096, &map, NULL, NULL, NULL) < 0)
		return false;
	word = strtok_r(map, " \n", &save);
	for (size_t i = 0; i < 3; i++) {
		if (word == NULL || sbx_parse_u64(word, 0, UINT32_MAX, &numbers[i]) < 0)
			return false;
		word = strtok_r(NULL, " \n", &save);
	}
	return word == NULL && numbers[2] == 1 && numbers[0] == getuid() && numbers[0] != 0;
}

static int check_marker(int fd, struct sbx_err *err)
{
	struct stat st;
	struct statfs fs;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return sbx_fail(err, errno, "look at '" SBX_INSIDE_MARKER "': %s", strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
	    fs.f_type != TMPFS_MAGIC || (fs.f_flags & ST_RDONLY) == 0)
		return sbx_fail(err, EPERM,
				"'" SBX_INSIDE_MARKER
				"' is not what a sandbox has there; remove it");
	if (st.st_uid != 0 && !(st.st_uid == getuid() && only_own_id_exists()))
		return sbx_fail(err, EPERM, "'" SBX_INSIDE_MARKER "' belongs to uid %u; remove it",
				st.st_uid);
	return 0;
}

static bool usable_shell(const char *path)
{
	const char *slash = strrchr(path, '/');

	return path[0] == '/' && slash[1] != '\0' && strcmp(slash + 1, SBX_SHELL_NAME) != 0 &&
	       strchr(path, '\n') == NULL;
}

int sbx_inside_shell(char **ret_shell, struct sbx_err *err)
{
	sbx_autoclose int fd = open_marker();
	char text[PATH_MAX + 1];
	ssize_t length;
	int rc;

	*ret_shell = NULL;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0; /* EACCES: /run/sbx of a host is closed to users */
	if (fd < 0)
		return sbx_fail(err, errno, "open '" SBX_INSIDE_MARKER "': %s%s", strerror(errno),
				errno == ENOSYS ? " (sbx needs Linux 5.14 or newer)" : "");
	rc = check_marker(fd, err);
	if (rc < 0)
		return rc;
	length = read(fd, text, sizeof(text) - 1);
	if (length < 0)
		return sbx_fail(err, errno, "read '" SBX_INSIDE_MARKER "': %s", strerror(errno));
	text[length] = '\0';
	if (length == 0 || text[length - 1] != '\n')
		return sbx_fail(err, EINVAL, "'" SBX_INSIDE_MARKER "' is cut off");
	text[length - 1] = '\0';
	if (!usable_shell(text))
		return sbx_fail(err, EINVAL, "'" SBX_INSIDE_MARKER "' names no usable shell");
	*ret_shell = strdup(text);
	return *ret_shell == NULL ? sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM)) : 0;
}

int sbx_inside_exec(const struct sbx_options *options, const char *shell)
{
	struct sbx_err err = {0};

	if (options->own) {
		(void)sbx_fail(&err, EINVAL,
			       "this is a sandbox already; its settings cannot be changed from "
			       "inside");
		return sbx_refuse(&err);
	}
	if (options->dry_run) {
		(void)printf("This is a sandbox already: nothing would be done but to run %s.\n",
			     options->command ? options->rest[0] : shell);
		return fflush(stdout) == 0 ? 0 : 1;
	}
	return sbx_run_here(options, shell);
}
