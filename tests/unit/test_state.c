/* SPDX-License-Identifier: MIT */
#include "sandbox/state.h"

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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG_S 60
#define SHORT_MS 30
#define LONG_MS 30000

#define STATE __attribute__((cleanup(sbx_state_freep))) struct sbx_state

static int open_as(const struct scratch *scratch, uid_t owner, struct sbx_state **ret,
		   struct sbx_err *err)
{
	return sbx_state_open(scratch_path(scratch, "run"), "agent", owner, ret, err);
}

static struct sbx_state *open_own(const struct scratch *scratch)
{
	struct sbx_state *state = NULL;
	struct sbx_err err = {0};

	if (open_as(scratch, geteuid(), &state, &err) < 0)
		fail_msg("%s", err.msg);
	return state;
}

static void refuses(const struct scratch *scratch, int expected)
{
	const size_t n_fds = scratch_open_fds();
	struct sbx_state *state = NULL;
	struct sbx_err err = {0};

	assert_int_equal(open_as(scratch, geteuid(), &state, &err), expected);
	assert_null(state);
	assert_int_equal(err.code, -expected);
	assert_int_equal(scratch_open_fds(), n_fds);
}

static void test_made(void **state)
{
	const struct scratch *s = *state;
	const size_t n_fds = scratch_open_fds();
	struct stat st;
	struct sbx_state *opened = open_own(s);

	assert_string_equal(opened->path, scratch_path(s, "run/agent"));
	assert_true(scratch_is(s, "run/agent", opened->dir_fd));
	assert_true(scratch_is(s, "run/agent/lock", opened->lock_fd));
	assert_int_equal(fcntl(opened->dir_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(opened->lock_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstatat(s->fd, "run", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstat(opened->dir_fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstat(opened->lock_fd, &st), 0);
	assert_int_equal(st.st_mode & 0077, 0);
	sbx_state_free(opened);
	/* And found again. */
	sbx_state_free(open_own(s));
	assert_int_equal(scratch_open_fds(), n_fds);
	sbx_state_free(NULL);
}

static void test_parent_is_not_made(void **state)
{
	const struct scratch *s = *state;
	struct sbx_state *opened = NULL;

	assert_int_equal(
	    sbx_state_open(scratch_path(s, "absent/run"), "agent", geteuid(), &opened, NULL),
	    -ENOENT);
	assert_null(opened);
}

static void test_wrong_mode(void **state)
{
	const struct scratch *s = *state;
	static const mode_t modes[] = {0701, 0710, 0702, 0720, 0755, 0777, 01777, 0704};

	scratch_directory(s, "run", 0700);
	scratch_directory(s, "run/agent", 0700);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(fchmodat(s->fd, "run", modes[i], 0), 0);
		refuses(s, -EPERM);
		assert_int_equal(fchmodat(s->fd, "run", 0700, 0), 0);
		assert_int_equal(fchmodat(s->fd, "run/agent", modes[i], 0), 0);
		refuses(s, -EPERM);
		assert_int_equal(fchmodat(s->fd, "run/agent", 0700, 0), 0);
	}
	sbx_state_free(open_own(s));
}

static void test_wrong_owner(void **state)
{
	const struct scratch *s = *state;
	struct sbx_state *opened = NULL;
	struct sbx_err err = {0};

	scratch_directory(s, "run", 0700);
	assert_int_equal(open_as(s, geteuid() + 1, &opened, &err), -EPERM);
	assert_null(opened);
	assert_non_null(strstr(err.msg, "must be owned by uid"));
	if (geteuid() == 0) {
		scratch_directory(s, "run/agent", 0700);
		scratch_give_away(s, "run/agent");
		refuses(s, -EPERM);
	}
}

/* In place of either directory and of the lock: nothing is followed, nothing hangs. */
static void test_planted(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "other", 0700);
	scratch_directory(s, "other/agent", 0700);
	(void)alarm(HANG_S);

	scratch_link(s, "run", "other");
	refuses(s, -ENOTDIR);
	assert_int_equal(unlinkat(s->fd, "run", 0), 0);
	scratch_file(s, "run", "");
	refuses(s, -ENOTDIR);
	assert_int_equal(unlinkat(s->fd, "run", 0), 0);
	scratch_fifo(s, "run");
	refuses(s, -ENOTDIR);
	assert_int_equal(unlinkat(s->fd, "run", 0), 0);

	scratch_directory(s, "run", 0700);
	scratch_link(s, "run/agent", "../other/agent");
	refuses(s, -ENOTDIR);
	assert_int_equal(unlinkat(s->fd, "run/agent", 0), 0);
	scratch_link(s, "run/agent", "absent");
	refuses(s, -ENOTDIR);
	assert_int_equal(faccessat(s->fd, "run/absent", F_OK, 0), -1);
	assert_int_equal(unlinkat(s->fd, "run/agent", 0), 0);

	scratch_directory(s, "run/agent", 0700);
	scratch_link(s, "run/agent/lock", "../../other/made");
	refuses(s, -ELOOP);
	assert_int_equal(faccessat(s->fd, "other/made", F_OK, 0), -1);
	assert_int_equal(faccessat(s->fd, "other/agent/lock", F_OK, 0), -1);
	(void)alarm(0);
}

/* A child that has the lock, says so and waits to be killed. */
static pid_t start_holder(const struct scratch *scratch)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct sbx_state *held = NULL;

		(void)alarm(HANG_S);
		if (open_as(scratch, geteuid(), &held, NULL) < 0 ||
		    sbx_state_lock(held, LONG_MS, NULL) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	assert_int_equal(close(ready[1]), 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(close(ready[0]), 0);
	return pid;
}

static void test_lock_excludes(void **state)
{
	const struct scratch *s = *state;
	STATE *own = open_own(s);
	struct sbx_err err = {0};
	pid_t pid = start_holder(s);

	assert_int_equal(sbx_state_lock(own, SHORT_MS, &err), -ETIMEDOUT);
	assert_int_equal(err.code, ETIMEDOUT);
	assert_non_null(strstr(err.msg, own->path));
	assert_int_equal(sbx_state_lock(own, 0, NULL), -ETIMEDOUT);
	/* However a holder ends. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(sbx_state_lock(own, 0, NULL), 0);
	/* Again by the same: no deadlock with oneself. */
	assert_int_equal(sbx_state_lock(own, 0, NULL), 0);
}

static pid_t doomed;

static void kill_doomed(int number)
{
	(void)number;
	(void)kill(doomed, SIGKILL);
}

/* Who waits gets it when the holder dies meanwhile; and signals do not end the waiting. */
static void test_lock_waits(void **state)
{
	const struct scratch *s = *state;
	const struct sigaction action = {.sa_handler = kill_doomed};
	const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
	struct sigaction before;
	STATE *own = open_own(s);

	doomed = start_holder(s);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(sbx_state_lock(own, LONG_MS, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_int_equal(waitpid(doomed, NULL, 0), doomed);
}

static void test_lock_released(void **state)
{
	const struct scratch *s = *state;
	STATE *one = open_own(s);
	STATE *two = open_own(s);

	assert_int_equal(sbx_state_lock(one, 0, NULL), 0);
	assert_int_equal(sbx_state_lock(two, 0, NULL), -ETIMEDOUT);
	sbx_state_unlock(one);
	assert_int_equal(sbx_state_lock(two, 0, NULL), 0);
	assert_int_equal(sbx_state_lock(one, 0, NULL), -ETIMEDOUT);
	sbx_state_free(two);
	two = NULL;
	assert_int_equal(sbx_state_lock(one, 0, NULL), 0);
}

/* Read, add one, write, in many processes at once: none is lost. */
static int count_up(const struct scratch *scratch, int n_times)
{
	for (int i = 0; i < n_times; i++) {
		STATE *own = NULL;
		sbx_autofree char *text = NULL;
		char next[32];

		if (open_as(scratch, geteuid(), &own, NULL) < 0 ||
		    sbx_state_lock(own, LONG_MS, NULL) < 0)
			return 1;
		text = scratch_read(scratch, "count");
		(void)snprintf(next, sizeof(next), "%ld", strtol(text, NULL, 10) + 1);
		scratch_file(scratch, "count", next);
	}
	return 0;
}

static void test_lock_many(void **state)
{
	enum { PROCESSES = 6, TIMES = 15 };
	const struct scratch *s = *state;
	sbx_autofree char *text = NULL;
	pid_t pids[PROCESSES];

	scratch_file(s, "count", "0");
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(count_up(s, TIMES));
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	text = scratch_read(s, "count");
	assert_string_equal(text, "90");
}

/* All may make the directories at the same time. */
static void test_open_many(void **state)
{
	enum { PROCESSES = 10 };
	const struct scratch *s = *state;
	pid_t pids[PROCESSES];
	int start[2];

	assert_int_equal(pipe2(start, O_CLOEXEC), 0);
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct sbx_state *opened = NULL;
			char byte;

			(void)close(start[1]); /* so that the end is seen */
			/* The end, for all at the same time. */
			if (read(start[0], &byte, 1) != 0)
				_exit(1);
			_exit(open_as(s, geteuid(), &opened, NULL) == 0 ? 0 : 1);
		}
	}
	assert_int_equal(close(start[0]), 0);
	assert_int_equal(close(start[1]), 0);
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_made),	   TEST(test_parent_is_not_made),
	    TEST(test_wrong_mode), TEST(test_wrong_owner),
	    TEST(test_planted),	   TEST(test_lock_excludes),
	    TEST(test_lock_waits), TEST(test_lock_released),
	    TEST(test_lock_many),  TEST(test_open_many),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
