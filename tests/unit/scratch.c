/* SPDX-License-Identifier: MIT */
#include "tests/unit/scratch.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define UID_NOBODY 65534
#define PATHS_MAX 512
#define FILE_MAX_BYTES ((size_t)16 << 20)

static char *paths[PATHS_MAX];
static size_t n_paths;

/* By descriptor: some tests make paths longer than PATH_MAX. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a test has made it */
static bool remove_tree(int parent_fd, const char *name)
{
	const struct dirent *entry;
	bool removed = true;
	DIR *dir;
	int fd;

	if (unlinkat(parent_fd, name, 0) == 0)
		return true;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir == NULL)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			removed = remove_tree(fd, entry->d_name) && removed;
	}
	(void)closedir(dir); /* nothing written */
	return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 && removed;
}

int scratch_setup(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	if (scratch == NULL)
		return -1;
	(void)snprintf(scratch->path, sizeof(scratch->path), "/tmp/sbx-test-XXXXXX"); /* fits */
	if (mkdtemp(scratch->path) == NULL) {
		free(scratch);
		return -1;
	}
	scratch->fd = open(scratch->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = scratch;
	return scratch->fd < 0 ? -1 : 0;
}

int scratch_teardown(void **state)
{
	struct scratch *scratch = *state;
	bool removed = remove_tree(AT_FDCWD, scratch->path);

	(void)close(scratch->fd); /* O_PATH */
	free(scratch);
	while (n_paths > 0)
		free(paths[--n_paths]);
	return removed ? 0 : -1;
}

const char *scratch_path(const struct scratch *scratch, const char *name)
{
	struct sbx_str path = {0};

	assert_true(n_paths < PATHS_MAX);
	sbx_str_addf(&path, "%s%s%s", scratch->path, name[0] == '\0' ? "" : "/", name);
	assert_int_equal(sbx_str_take(&path, &paths[n_paths]), 0);
	return paths[n_paths++];
}

static void must(bool done, const char *what, const char *name)
{
	if (!done)
		fail_msg("%s '%s': %s", what, name, strerror(errno));
}

void scratch_directory(const struct scratch *scratch, const char *name, mode_t mode)
{
	must(mkdirat(scratch->fd, name, 0700) == 0, "mkdir", name);
	must(fchmodat(scratch->fd, name, mode, 0) == 0, "chmod", name); /* not by the umask */
}

void scratch_file(const struct scratch *scratch, const char *name, const char *text)
{
	sbx_autoclose int fd =
	    openat(scratch->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0, "open", name);
	must(fchmod(fd, 0644) == 0, "chmod", name);
	must(sbx_write_all(fd, text, strlen(text)) == 0, "write", name);
}

void scratch_link(const struct scratch *scratch, const char *name, const char *text)
{
	must(symlinkat(text, scratch->fd, name) == 0, "symlink", name);
}

void scratch_fifo(const struct scratch *scratch, const char *name)
{
	must(mkfifoat(scratch->fd, name, 0600) == 0, "mkfifo", name);
}

void scratch_give_away(const struct scratch *scratch, const char *name)
{
	if (geteuid() == 0)
		must(fchownat(scratch->fd, name, UID_NOBODY, UID_NOBODY,
			      AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0,
		     "chown", name);
}

char *scratch_read(const struct scratch *scratch, const char *name)
{
	char *text = NULL;

	return sbx_file_read(scratch->fd, name, O_NOFOLLOW, FILE_MAX_BYTES, &text, NULL, NULL,
			     NULL) < 0
		   ? NULL
		   : text;
}

int scratch_is(const struct scratch *scratch, const char *name, int fd)
{
	struct stat named;
	struct stat opened;

	must(fstatat(scratch->fd, name, &named, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0, "stat",
	     name);
	must(fstat(fd, &opened) == 0, "stat of what was opened as", name);
	return named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

size_t scratch_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.';
	(void)closedir(dir); /* nothing written */
	return n - 1;	     /* its own */
}
