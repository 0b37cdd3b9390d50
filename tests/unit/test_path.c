/* SPDX-License-Identifier: MIT */
#include "sandbox/path.h"

#include "base/fd.h"
#include "base/str.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Seconds after which what must not block has hung. */
#define HANG_S 5

/* --- sbx_path_open ------------------------------------------------------------------------- */

/* Opens scratch/name as the caller's own, and tells which of the scratch files it is. */
static void opens(const struct scratch *scratch, const char *name, const char *is)
{
	sbx_autoclose int fd = -EBADF;
	struct sbx_err err = {0};

	if (sbx_path_open(scratch_path(scratch, name), geteuid(), &fd, &err) < 0)
		fail_msg("%s", err.msg);
	if (!scratch_is(scratch, is, fd))
		fail_msg("'%s' is not '%s'", name, is);
	assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void refuses_as(const struct scratch *scratch, const char *name, uid_t owner, int rc)
{
	struct sbx_err err = {0};
	const size_t n_fds = scratch_open_fds();
	int fd = -EBADF;
	int got = sbx_path_open(scratch_path(scratch, name), owner, &fd, &err);

	if (got != rc)
		fail_msg("'%s': %d instead of %d", name, got, rc);
	assert_int_equal(fd, -EBADF);
	assert_int_equal(err.code, -rc);
	assert_int_equal(scratch_open_fds(), n_fds);
}

static void refuses(const struct scratch *scratch, const char *name, int rc)
{
	refuses_as(scratch, name, geteuid(), rc);
}

static void test_open_plain(void **state)
{
	const struct scratch *s = *state;
	int fd = -EBADF;

	scratch_directory(s, "d", 0755);
	scratch_file(s, "d/f", "x");
	opens(s, "d/f", "d/f");
	opens(s, "d", "d");
	opens(s, "d/", "d");
	opens(s, "d///", "d");
	opens(s, "//d////f", "d/f");
	opens(s, "./d/./.", "d");
	opens(s, "d/../d/f", "d/f");
	refuses(s, "absent", -ENOENT);
	refuses(s, "absent/f", -ENOENT);
	refuses(s, "d/f/x", -ENOTDIR);
	refuses(s, "d/f/.", -ENOTDIR);
	refuses(s, "d/f/..", -ENOTDIR);
	assert_int_equal(sbx_path_open("tmp", 0, &fd, NULL), -EINVAL);
	assert_int_equal(sbx_path_open("", 0, &fd, NULL), -EINVAL);
	assert_int_equal(sbx_path_open("/", 0, &fd, NULL), 0);
	sbx_closep(&fd);
	assert_int_equal(sbx_path_open("/../..", 0, &fd, NULL), 0);
	sbx_closep(&fd);
}

static void test_open_trusted_links(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "d", 0755);
	scratch_directory(s, "d/e", 0755);
	scratch_file(s, "d/e/f", "x");
	scratch_link(s, "relative", "d/e");
	scratch_link(s, "absolute", scratch_path(s, "d/e"));
	scratch_link(s, "d/up", "../d/e/f");
	scratch_link(s, "slash", "d/e/");
	scratch_link(s, "chain", "relative/../up");
	scratch_link(s, "dangling", "d/absent");
	opens(s, "relative", "d/e");
	opens(s, "relative/f", "d/e/f");
	opens(s, "absolute/f", "d/e/f");
	opens(s, "absolute", "d/e");
	opens(s, "d/up", "d/e/f");
	opens(s, "slash", "d/e");
	opens(s, "chain", "d/e/f");
	refuses(s, "dangling", -ENOENT);
}

static void test_open_link_loops(void **state)
{
	const struct scratch *s = *state;

	scratch_link(s, "self", "self");
	scratch_link(s, "a", "b");
	scratch_link(s, "b", "a/x");
	scratch_link(s, "0", "real");
	scratch_file(s, "real", "x");
	for (unsigned int i = 1; i < 60; i++) {
		char name[16];
		char text[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		(void)snprintf(text, sizeof(text), "%u", i - 1);
		scratch_link(s, name, text);
	}
	refuses(s, "self", -ELOOP);
	refuses(s, "self/x", -ELOOP);
	refuses(s, "a", -ELOOP);
	opens(s, "39", "real"); /* 40 links, as many as the kernel follows */
	refuses(s, "40", -ELOOP);
	refuses(s, "59", -ELOOP);
}

/* Root walks, with nobody else's directories trusted. */
static void test_open_untrusted_owner(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "d", 0755);
	scratch_file(s, "d/f", "x");
	scratch_link(s, "link", "d/f");
	scratch_link(s, "d/etc", "/etc");
	scratch_give_away(s, "d/etc");
	scratch_give_away(s, "d/f");
	scratch_give_away(s, "d");
	scratch_give_away(s, "link");
	scratch_give_away(s, "");
	refuses_as(s, "link", 0, -ELOOP);
	refuses_as(s, "d/etc", 0, -ELOOP);
	refuses_as(s, "d/etc/passwd", 0, -ELOOP);
	if (geteuid() == 0) {
		sbx_autoclose int fd = -EBADF;

		/* No link on the way: may be opened, whoever it belongs to. */
		assert_int_equal(sbx_path_open(scratch_path(s, "d/f"), 0, &fd, NULL), 0);
		assert_true(scratch_is(s, "d/f", fd));
	}
}

static void test_open_unsafe_directories(void **state)
{
	static const mode_t unsafe[] = {0777, 0775, 0757, 0720};
	const struct scratch *s = *state;

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
		char name[32];
		char path[64];

		(void)snprintf(name, sizeof(name), "%03o", unsafe[i]);
		scratch_directory(s, name, unsafe[i]);
		(void)snprintf(path, sizeof(path), "%s/link", name);
		scratch_link(s, path, "/etc");
		refuses(s, path, -ELOOP);
		/* What lies below it may be exchanged as a whole, so a safe mode there is none. */
		(void)snprintf(path, sizeof(path), "%s/sub", name);
		scratch_directory(s, path, 0755);
		(void)snprintf(path, sizeof(path), "%s/sub/f", name);
		scratch_file(s, path, "x");
		opens(s, path, path);
		(void)snprintf(path, sizeof(path), "%s/sub/link", name);
		scratch_link(s, path, "f");
		refuses(s, path, -ELOOP);
		(void)snprintf(path, sizeof(path), "%s/sub/..", name);
		refuses(s, path, -ELOOP);
	}
}

static void test_open_sticky(void **state)
{
	const struct scratch *s = *state;
	const char *own = strrchr(s->path, '/') + 1;
	char in_tmp[96];
	int fd = -EBADF;

	scratch_directory(s, "sticky", 01777);
	scratch_file(s, "sticky/f", "x");
	scratch_link(s, "sticky/link", "f");
	scratch_link(s, "sticky/other", "f");
	opens(s, "sticky/link", "sticky/f");
	if (geteuid() == 0) {
		scratch_give_away(s, "sticky/other");
		refuses(s, "sticky/other", -ELOOP);
	}
	/* The same in /tmp itself, where this works without root too. */
	(void)snprintf(in_tmp, sizeof(in_tmp), "/tmp/%s.link", own);
	assert_int_equal(symlink("/etc", in_tmp), 0);
	if (geteuid() == 0)
		assert_int_equal(lchown(in_tmp, 65534, 65534), 0);
	assert_int_equal(sbx_path_open(in_tmp, 0, &fd, NULL), -ELOOP);
	assert_int_equal(unlink(in_tmp), 0);
}

/* Who owns a directory in /tmp can move it, and what ".." in it means with it. */
static void test_open_up_from_sticky(void **state)
{
	const struct scratch *s = *state;
	int fd = -EBADF;

	scratch_give_away(s, "");
	assert_int_equal(sbx_path_open(scratch_path(s, ".."), 0, &fd, NULL), -ELOOP);
	assert_int_equal(sbx_path_open(scratch_path(s, "../../etc"), 0, &fd, NULL), -ELOOP);
	assert_int_equal(fd, -EBADF);
}

static void test_open_odd_names(void **state)
{
	static const char *const names[] = {
	    "new\nline", " ", "-rf", "...", "a;b$(c)", "\\", "%s%n", "caf\xc3\xa9", "\xff\xfe", "*",
	};
	const struct scratch *s = *state;
	char longest[256];
	char too_long[257];
	struct sbx_err err = {0};
	int fd = -EBADF;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		scratch_file(s, names[i], "x");
		opens(s, names[i], names[i]);
	}
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memset(too_long, 'n', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	scratch_file(s, longest, "x");
	opens(s, longest, longest);
	refuses(s, too_long, -ENAMETOOLONG);
	/* One line, whatever the name. */
	assert_int_equal(sbx_path_open("/absent\nname\x1b[1m", 0, &fd, &err), -ENOENT);
	assert_string_equal(err.msg, "open '/absent?name?[1m': No such file or directory");
}

/* 300 components of 20 bytes: longer than PATH_MAX, which the kernel would refuse as a whole. */
static void test_open_deep(void **state)
{
	const struct scratch *s = *state;
	sbx_autostr struct sbx_str path = {0};
	sbx_autoclose int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
	sbx_autoclose int opened = -EBADF;
	struct stat made;
	struct stat found;

	sbx_str_add(&path, s->path);
	for (int i = 0; i < 300; i++) {
		int next;

		assert_int_equal(mkdirat(fd, "component-of-20-byte", 0755), 0);
		next = openat(fd, "component-of-20-byte", O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		sbx_closep(&fd);
		fd = next;
		sbx_str_add(&path, "/component-of-20-byte");
	}
	assert_int_equal(path.rc, 0);
	assert_true(path.length > 4096);
	assert_int_equal(fstat(fd, &made), 0);
	assert_int_equal(sbx_path_open(path.text, geteuid(), &opened, NULL), 0);
	assert_int_equal(fstat(opened, &found), 0);
	assert_int_equal(made.st_ino, found.st_ino);
}

/* Opened as O_PATH, a fifo without a writer does not block and a device is not touched. */
static void test_open_special(void **state)
{
	const struct scratch *s = *state;

	scratch_fifo(s, "fifo");
	scratch_link(s, "to-fifo", "fifo");
	(void)alarm(HANG_S);
	opens(s, "fifo", "fifo");
	opens(s, "to-fifo", "fifo");
	(void)alarm(0);
}

static void test_open_parent(void **state)
{
	const struct scratch *s = *state;
	static const char *const refused[] = {"/", "/a/", "", "name", "/a/b//"};
	const char *path;
	const char *name = NULL;
	int fd = -EBADF;

	scratch_directory(s, "d", 0755);
	path = scratch_path(s, "d/absent");
	assert_int_equal(sbx_path_open_parent(path, geteuid(), &fd, &name, NULL), 0);
	assert_true(scratch_is(s, "d", fd));
	assert_string_equal(name, "absent");
	assert_true(name > path && name < path + strlen(path));
	sbx_closep(&fd);
	assert_int_equal(sbx_path_open_parent("/etc", 0, &fd, &name, NULL), 0);
	assert_string_equal(name, "etc");
	sbx_closep(&fd);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(sbx_path_open_parent(refused[i], 0, &fd, &name, NULL), -EINVAL);
	assert_int_equal(fd, -EBADF);
}

/*
 * Another process exchanges a directory with a link to another place, thousands of times.
 * Whatever a walk meets, it never ends up behind the link: where it is the walker's own
 * user who plays, only a directory that others may write to makes the link count as theirs.
 */
static void test_open_exchange_race(void **state)
{
	const struct scratch *s = *state;
	const char *const targets[] = {scratch_path(s, "open/d/f"), scratch_path(s, "open/x/f")};
	size_t reached = 0;
	pid_t pid;

	scratch_directory(s, "open", 0777);
	scratch_directory(s, "open/d", 0755);
	scratch_file(s, "open/d/f", "right");
	scratch_directory(s, "elsewhere", 0755);
	scratch_file(s, "elsewhere/f", "wrong");
	scratch_link(s, "open/x", scratch_path(s, "elsewhere"));
	pid = fork();
	if (pid == 0) {
		const char *one = scratch_path(s, "open/d");
		const char *two = scratch_path(s, "open/x");

		(void)alarm(HANG_S * 12); /* should the test die */
		for (;;)
			(void)renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 4000; i++) {
		sbx_autoclose int fd = -EBADF;
		int rc = sbx_path_open(targets[i % 2], geteuid(), &fd, NULL);

		if (rc == 0) {
			struct stat wrong;
			struct stat found;

			assert_int_equal(fstatat(s->fd, "elsewhere/f", &wrong, AT_SYMLINK_NOFOLLOW),
					 0);
			assert_int_equal(fstat(fd, &found), 0);
			assert_int_not_equal(wrong.st_ino, found.st_ino);
			reached++;
		} else {
			assert_int_equal(rc, -ELOOP);
		}
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(reached > 0);
}

/* --- sbx_path_open_in ---------------------------------------------------------------------- */

static void test_open_in(void **state)
{
	const struct scratch *s = *state;
	int fd = -EBADF;

	scratch_directory(s, "etc", 0755);
	scratch_file(s, "etc/passwd", "the image's");
	scratch_link(s, "absolute", "/etc/passwd");
	scratch_link(s, "above", "../../../../etc/passwd");
	scratch_link(s, "loop", "loop");
	assert_int_equal(sbx_path_open_in(s->fd, "/absolute", O_PATH, &fd, NULL), 0);
	assert_true(scratch_is(s, "etc/passwd", fd));
	sbx_closep(&fd);
	assert_int_equal(sbx_path_open_in(s->fd, "/above", O_PATH, &fd, NULL), 0);
	assert_true(scratch_is(s, "etc/passwd", fd));
	sbx_closep(&fd);
	assert_int_equal(sbx_path_open_in(s->fd, "/../../etc/passwd", O_PATH, &fd, NULL), 0);
	assert_true(scratch_is(s, "etc/passwd", fd));
	sbx_closep(&fd);
	assert_int_equal(sbx_path_open_in(s->fd, "/etc/absent", O_PATH, &fd, NULL), -ENOENT);
	assert_int_equal(sbx_path_open_in(s->fd, "/loop", O_PATH, &fd, NULL), -ELOOP);
	assert_int_equal(fd, -EBADF);
}

static void test_open_in_magic_link(void **state)
{
	sbx_autoclose int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -EBADF;

	(void)state;
	assert_int_equal(sbx_path_open_in(root_fd, "/proc/self/root", O_PATH, &fd, NULL), -ELOOP);
	assert_int_equal(sbx_path_open_in(root_fd, "/proc/self/cwd/x", O_PATH, &fd, NULL), -ELOOP);
	assert_int_equal(fd, -EBADF);
}

/* --- sbx_path_make_directory, sbx_path_make_file ------------------------------------------- */

static void test_make_directory(void **state)
{
	const struct scratch *s = *state;
	mode_t mask = umask(022);
	struct stat st;
	int fd = -EBADF;

	assert_int_equal(sbx_path_make_directory(s->fd, "/a/b/c", &fd, NULL), 0);
	assert_true(scratch_is(s, "a/b/c", fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	sbx_closep(&fd);
	assert_int_equal(fstatat(s->fd, "a/b", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	/* There already, its mode left alone. */
	assert_int_equal(fchmodat(s->fd, "a/b", 0700, 0), 0);
	assert_int_equal(sbx_path_make_directory(s->fd, "/a//b/", &fd, NULL), 0);
	assert_true(scratch_is(s, "a/b", fd));
	sbx_closep(&fd);
	assert_int_equal(fstatat(s->fd, "a/b", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(sbx_path_make_directory(s->fd, "/", &fd, NULL), 0);
	assert_true(scratch_is(s, "", fd));
	sbx_closep(&fd);
	assert_int_equal(sbx_path_make_directory(s->fd, "", &fd, NULL), 0);
	assert_true(scratch_is(s, "", fd));
	sbx_closep(&fd);
	(void)umask(mask);
}

/* Every component in turn is a link, a file or a fifo: refused, and nothing appears behind it. */
static void test_make_directory_planted(void **state)
{
	const struct scratch *s = *state;
	const size_t n_fds = scratch_open_fds();
	static const char *const paths[] = {"/l", "/l/b", "/a/l", "/a/l/c", "/a/l/c/d/e"};
	sbx_autoclose int root_fd = -EBADF;
	int fd = -EBADF;

	scratch_directory(s, "outside", 0755);
	scratch_directory(s, "root", 0755);
	scratch_directory(s, "root/a", 0755);
	scratch_link(s, "root/l", "../outside");
	scratch_link(s, "root/a/l", scratch_path(s, "outside"));
	scratch_link(s, "root/inside", "a");
	scratch_link(s, "root/dangling", "absent");
	scratch_file(s, "root/file", "x");
	scratch_fifo(s, "root/fifo");
	root_fd = openat(s->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_fd >= 0);
	(void)alarm(HANG_S);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(sbx_path_make_directory(root_fd, paths[i], &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/inside/x", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/dangling", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/dangling/x", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/file", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/file/x", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/fifo/x", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_directory(root_fd, "/../outside/x", &fd, NULL), -EXDEV);
	assert_int_equal(sbx_path_make_directory(root_fd, "/a/../../outside/x", &fd, NULL), -EXDEV);
	(void)alarm(0);
	assert_int_equal(fd, -EBADF);
	sbx_closep(&root_fd);
	assert_int_equal(scratch_open_fds(), n_fds);
	/* Empty still: only an empty directory can be removed. */
	assert_int_equal(unlinkat(s->fd, "outside", AT_REMOVEDIR), 0);
	assert_int_equal(faccessat(s->fd, "root/absent", F_OK, 0), -1);
	assert_int_equal(faccessat(s->fd, "root/a/x", F_OK, 0), -1);
}

static void test_make_deep(void **state)
{
	const struct scratch *s = *state;
	sbx_autostr struct sbx_str path = {0};
	sbx_autoclose int fd = -EBADF;
	const size_t n_fds = scratch_open_fds();

	for (int i = 0; i < 300; i++)
		sbx_str_add(&path, "/component-of-20-byte");
	assert_int_equal(path.rc, 0);
	assert_int_equal(sbx_path_make_directory(s->fd, path.text, &fd, NULL), 0);
	sbx_closep(&fd);
	assert_int_equal(sbx_path_make_directory(s->fd, path.text, &fd, NULL), 0); /* again */
	assert_int_equal(scratch_open_fds(), n_fds + 1);
}

static void test_make_file(void **state)
{
	const struct scratch *s = *state;
	sbx_autofree char *text = NULL;
	int fd = -EBADF;

	assert_int_equal(sbx_path_make_file(s->fd, "/a/b/f", &fd, NULL), 0);
	assert_true(scratch_is(s, "a/b/f", fd));
	assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	sbx_closep(&fd);
	assert_int_equal(sbx_path_make_file(s->fd, "/top", &fd, NULL), 0);
	assert_true(scratch_is(s, "top", fd));
	sbx_closep(&fd);
	/* One that is there is left as it is. */
	scratch_file(s, "there", "content");
	assert_int_equal(sbx_path_make_file(s->fd, "/there", &fd, NULL), 0);
	sbx_closep(&fd);
	text = scratch_read(s, "there");
	assert_string_equal(text, "content");
	scratch_fifo(s, "fifo");
	(void)alarm(HANG_S);
	assert_int_equal(sbx_path_make_file(s->fd, "/fifo", &fd, NULL), 0);
	(void)alarm(0);
	sbx_closep(&fd);
}

static void test_make_file_planted(void **state)
{
	const struct scratch *s = *state;
	sbx_autoclose int root_fd = -EBADF;
	int fd = -EBADF;

	scratch_directory(s, "outside", 0755);
	scratch_file(s, "victim", "x");
	scratch_directory(s, "root", 0755);
	scratch_directory(s, "root/a", 0755);
	scratch_link(s, "root/l", "../outside");
	scratch_link(s, "root/a/l", scratch_path(s, "outside"));
	scratch_link(s, "root/to-file", "../victim");
	scratch_link(s, "root/dangling", "../outside/made");
	root_fd = openat(s->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_fd >= 0);
	assert_int_equal(sbx_path_make_file(root_fd, "/l/f", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_file(root_fd, "/a/l/f", &fd, NULL), -ENOTDIR);
	assert_int_equal(sbx_path_make_file(root_fd, "/to-file", &fd, NULL), -ELOOP);
	assert_int_equal(sbx_path_make_file(root_fd, "/dangling", &fd, NULL), -ELOOP);
	assert_int_equal(sbx_path_make_file(root_fd, "/a", &fd, NULL), -EISDIR);
	assert_int_equal(sbx_path_make_file(root_fd, "/..", &fd, NULL), -EXDEV);
	assert_int_equal(sbx_path_make_file(root_fd, "/a/..", &fd, NULL), -EXDEV);
	assert_int_equal(sbx_path_make_file(root_fd, "/a/.", &fd, NULL), -EISDIR);
	assert_int_equal(sbx_path_make_file(root_fd, "/a/", &fd, NULL), -EINVAL);
	assert_int_equal(sbx_path_make_file(root_fd, "name", &fd, NULL), -EINVAL);
	assert_int_equal(fd, -EBADF);
	assert_int_equal(unlinkat(s->fd, "outside", AT_REMOVEDIR), 0); /* empty still */
}

/* A component of the target is exchanged with a link that leads out, all the time. */
static void test_make_exchange_race(void **state)
{
	const struct scratch *s = *state;
	sbx_autoclose int root_fd = -EBADF;
	size_t made = 0;
	pid_t pid;

	scratch_directory(s, "outside", 0755);
	scratch_directory(s, "root", 0755);
	scratch_directory(s, "root/a", 0755);
	scratch_directory(s, "root/a/b", 0755);
	scratch_link(s, "root/a/l", "../../outside");
	root_fd = openat(s->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_fd >= 0);
	pid = fork();
	if (pid == 0) {
		const char *one = scratch_path(s, "root/a/b");
		const char *two = scratch_path(s, "root/a/l");

		(void)alarm(HANG_S * 12); /* should the test die */
		for (;;)
			(void)renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 2000; i++) {
		char path[64];
		int fd = -EBADF;
		int rc;

		(void)snprintf(path, sizeof(path), "/a/b/%d/%d", i, i);
		if (i % 2 == 0)
			rc = sbx_path_make_directory(root_fd, path, &fd, NULL);
		else
			rc = sbx_path_make_file(root_fd, path, &fd, NULL);
		if (rc == 0)
			made++;
		else if (rc != -ENOTDIR)
			fail_msg("'%s': %s", path, strerror(-rc));
		sbx_closep(&fd);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(made > 0);
	assert_int_equal(unlinkat(s->fd, "outside", AT_REMOVEDIR), 0); /* empty still */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_open_plain),
	    TEST(test_open_trusted_links),
	    TEST(test_open_link_loops),
	    TEST(test_open_untrusted_owner),
	    TEST(test_open_unsafe_directories),
	    TEST(test_open_sticky),
	    TEST(test_open_up_from_sticky),
	    TEST(test_open_odd_names),
	    TEST(test_open_deep),
	    TEST(test_open_special),
	    TEST(test_open_parent),
	    TEST(test_open_exchange_race),
	    TEST(test_open_in),
	    TEST(test_open_in_magic_link),
	    TEST(test_make_directory),
	    TEST(test_make_directory_planted),
	    TEST(test_make_deep),
	    TEST(test_make_file),
	    TEST(test_make_file_planted),
	    TEST(test_make_exchange_race),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
