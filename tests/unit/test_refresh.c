/* SPDX-License-Identifier: MIT */
/*
 * What is written, and how. sbx_refresh_take() looks at this machine's own hosts and
 * resolv.conf, so only what comes from the literals is compared.
 */
#include "sandbox/refresh.h"

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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG_S 60
#define TEXT(text) ((char[]){text})
#define REFRESH __attribute__((cleanup(sbx_refresh_freep))) struct sbx_refresh

static struct sbx_group groups[] = {{1000, TEXT("agent")}};
static const struct sbx_identity agent = {
    .name = TEXT("agent"),
    .uid = 1000,
    .gid = 1000,
    .gecos = TEXT(""),
    .home = TEXT("/home/agent"),
    .login_shell = TEXT("/bin/sh"),
    .groups = groups,
    .n_groups = 1,
};
static const struct sbx_policy policy = {
    .home = TEXT("/work"), .root = TEXT("/"), .shell = TEXT("/usr/bin/fish")};

static const char passwd[] = "root:x:0:0:root:/root:/usr/sbin/nologin\n"
			     "agent:x:1000:1000::/work:/usr/bin/fish\n"
			     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char group[] = "root:x:0:\ntty:x:5:\nagent:x:1000:agent\nnogroup:x:65534:\n";

static struct sbx_refresh *take(void)
{
	struct sbx_refresh *refresh = NULL;
	struct sbx_err err = {0};

	if (sbx_refresh_take(&policy, &agent, &refresh, &err) < 0)
		fail_msg("%s", err.msg);
	return refresh;
}

static int put(const struct scratch *scratch, struct sbx_err *err)
{
	REFRESH *refresh = take();
	sbx_autoclose int dirfd = openat(scratch->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	assert_true(dirfd >= 0);
	(void)alarm(HANG_S);
	rc = sbx_refresh_put_in(refresh, dirfd, err);
	(void)alarm(0);
	return rc;
}

static void holds(const struct scratch *scratch, const char *name, const char *text)
{
	sbx_autofree char *found = scratch_read(scratch, name);

	assert_non_null(found);
	assert_string_equal(found, text);
}

static struct stat stat_of(const struct scratch *scratch, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static void no_temporary(const struct scratch *scratch)
{
	static const char *const names[] = {"resolv.conf", "hosts", "passwd", "group"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char temporary[64];
		struct stat st;

		(void)snprintf(temporary, sizeof(temporary), ".%s.%d", names[i], (int)getpid());
		if (fstatat(scratch->fd, temporary, &st, AT_SYMLINK_NOFOLLOW) == 0)
			fail_msg("'%s' was left", temporary);
	}
}

static void test_written(void **state)
{
	const struct scratch *s = *state;
	const size_t n_fds = scratch_open_fds();
	mode_t mask = umask(077);

	scratch_file(s, "other", "kept");
	assert_int_equal(put(s, NULL), 0);
	(void)umask(mask);
	holds(s, "passwd", passwd);
	holds(s, "group", group);
	holds(s, "other", "kept");
	assert_int_equal(stat_of(s, "passwd").st_mode, S_IFREG | 0644); /* not by the umask */
	no_temporary(s);
	assert_int_equal(scratch_open_fds(), n_fds);
	sbx_refresh_free(NULL);
}

/* What is right already is not touched; what is not is replaced, so that a reader sees a whole one.
 */
static void test_by_rename(void **state)
{
	const struct scratch *s = *state;
	sbx_autoclose int old_fd = -EBADF;
	char old[8] = {0};
	ino_t group_inode;

	scratch_file(s, "passwd", "old");
	scratch_file(s, "group", group);
	old_fd = openat(s->fd, "passwd", O_RDONLY | O_CLOEXEC);
	group_inode = stat_of(s, "group").st_ino;
	assert_int_equal(put(s, NULL), 0);
	assert_int_equal(stat_of(s, "group").st_ino, group_inode);
	assert_false(scratch_is(s, "passwd", old_fd));
	assert_int_equal(read(old_fd, old, sizeof(old) - 1), 3);
	assert_string_equal(old, "old");
	holds(s, "passwd", passwd);
}

/* The same length and beginning, and one that is longer. */
static void test_content_counts(void **state)
{
	const struct scratch *s = *state;
	char changed[sizeof(passwd)];

	memcpy(changed, passwd, sizeof(changed));
	changed[sizeof(changed) - 2] = 'X';
	scratch_file(s, "passwd", changed);
	assert_int_equal(put(s, NULL), 0);
	holds(s, "passwd", passwd);
	scratch_file(s, "passwd", "");
	assert_int_equal(put(s, NULL), 0);
	holds(s, "passwd", passwd);
}

static void test_planted(void **state)
{
	const struct scratch *s = *state;
	char temporary[64];

	scratch_file(s, "victim", passwd); /* the same text: following it would look right */
	scratch_link(s, "passwd", "victim");
	scratch_fifo(s, "group");
	(void)snprintf(temporary, sizeof(temporary), ".passwd.%d", (int)getpid());
	scratch_link(s, temporary, "made");
	(void)snprintf(temporary, sizeof(temporary), ".group.%d", (int)getpid());
	scratch_file(s, temporary, "left by one that was killed");
	assert_int_equal(put(s, NULL), 0);
	assert_true(S_ISREG(stat_of(s, "passwd").st_mode));
	assert_true(S_ISREG(stat_of(s, "group").st_mode));
	holds(s, "passwd", passwd);
	holds(s, "group", group);
	holds(s, "victim", passwd);
	assert_int_equal(faccessat(s->fd, "made", F_OK, 0), -1);
	no_temporary(s);
}

static void test_directory_in_its_place(void **state)
{
	const struct scratch *s = *state;
	struct sbx_err err = {0};

	scratch_directory(s, "passwd", 0755);
	assert_int_equal(put(s, &err), -EISDIR);
	assert_string_equal(err.msg, "renew /etc/passwd in the sandbox: Is a directory");
	no_temporary(s);
}

/* On a full file system the old file stays, and no half of a new one to fill it further. */
static void test_write_fails(void **state)
{
	const struct scratch *s = *state;
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before_action;
	struct rlimit before;
	struct rlimit small;
	struct sbx_err err = {0};
	int rc;

	/* Right already, so that the first to fail is passwd. */
	assert_int_equal(put(s, NULL), 0);
	scratch_file(s, "passwd", "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 20;
	assert_int_equal(sigaction(SIGXFSZ, &ignore, &before_action), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = put(s, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(sigaction(SIGXFSZ, &before_action, NULL), 0);
	assert_int_equal(rc, -EFBIG);
	assert_string_equal(err.msg, "renew /etc/passwd in the sandbox: File too large");
	holds(s, "passwd", "old");
	no_temporary(s);
}

/* Many logins write while one reads: it never finds less than a whole file. */
static void test_concurrent(void **state)
{
	enum { WRITERS = 3, TIMES = 40 };
	const struct scratch *s = *state;
	pid_t pids[WRITERS];
	int left = WRITERS;

	assert_int_equal(put(s, NULL), 0);
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			for (int j = 0; j < TIMES; j++) {
				/* Gone, so that it has to be written. */
				(void)unlinkat(s->fd, "passwd", 0);
				if (put(s, NULL) < 0)
					_exit(1);
			}
			_exit(0);
		}
	}
	while (left > 0) {
		sbx_autofree char *text = scratch_read(s, "passwd");
		int status = -1;

		if (text != NULL)
			assert_string_equal(text, passwd);
		if (waitpid(-1, &status, WNOHANG) > 0) {
			assert_int_equal(status, 0);
			left--;
		}
	}
	holds(s, "passwd", passwd);
	no_temporary(s);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_written),
	    TEST(test_by_rename),
	    TEST(test_content_counts),
	    TEST(test_planted),
	    TEST(test_directory_in_its_place),
	    TEST(test_write_fails),
	    TEST(test_concurrent),
	};

	return cmocka_run_group_tests_name("refresh", tests, NULL, NULL);
}
