/* SPDX-License-Identifier: MIT */
#include "sandbox/namespaces.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* In the order of SBX_NS_MNT, ... */
static const struct sbx_namespaces host = {{11, 12, 13, 14, 15, 16, 17}};
static const struct sbx_namespaces sandbox = {{21, 22, 23, 24, 25, 26, 27}};

static const struct {
	int flag;
	const char *name;
} kinds[SBX_NS_COUNT] = {
    {CLONE_NEWNS, "mnt"},    {CLONE_NEWPID, "pid_for_children"}, {CLONE_NEWIPC, "ipc"},
    {CLONE_NEWUTS, "uts"},   {CLONE_NEWCGROUP, "cgroup"},	 {CLONE_NEWNET, "net"},
    {CLONE_NEWUSER, "user"},
};

#define ALL                                                                                        \
	(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |              \
	 CLONE_NEWNET | CLONE_NEWUSER)

/* What a process looks like after it has joined those of 'flags'. */
static struct sbx_namespaces after(int flags)
{
	struct sbx_namespaces now = host;

	for (int i = 0; i < SBX_NS_COUNT; i++) {
		if ((flags & kinds[i].flag) != 0)
			now.inode[i] = sandbox.inode[i];
	}
	return now;
}

static void refuses(const struct sbx_namespaces *before, const struct sbx_namespaces *now,
		    int flags, int kind, const char *what)
{
	struct sbx_err err = {0};
	char text[128];

	(void)snprintf(text, sizeof(text), "the %s namespace after joining is not %s",
		       kinds[kind].name, what);
	assert_int_equal(sbx_namespaces_verify(before, now, &sandbox, flags, &err), -EXDEV);
	assert_int_equal(err.code, EXDEV);
	assert_string_equal(err.msg, text);
	assert_int_equal(sbx_namespaces_verify(before, now, &sandbox, flags, NULL), -EXDEV);
}

/* All 128 sets of flags: exactly those joined, and no other. */
static void test_verify_all_sets(void **state)
{
	(void)state;
	for (int set = 0; set < 1 << SBX_NS_COUNT; set++) {
		struct sbx_namespaces now;
		int flags = 0;

		for (int i = 0; i < SBX_NS_COUNT; i++)
			flags |= (set & 1 << i) != 0 ? kinds[i].flag : 0;
		now = after(flags);
		assert_int_equal(sbx_namespaces_verify(&host, &now, &sandbox, flags, NULL), 0);
		for (int i = 0; i < SBX_NS_COUNT; i++) {
			bool wanted = (flags & kinds[i].flag) != 0;

			/* One too few, or one too many. */
			now = after(flags ^ kinds[i].flag);
			refuses(&host, &now, flags, i, wanted ? "the sandbox's" : "the one before");
			/* A third one: of another sandbox. */
			now = after(flags);
			now.inode[i] = 99;
			refuses(&host, &now, flags, i, wanted ? "the sandbox's" : "the one before");
		}
	}
}

/* The keeper "is" where the caller was: then nothing was joined, however equal all looks. */
static void test_verify_sandbox_is_host(void **state)
{
	(void)state;
	for (int i = 0; i < SBX_NS_COUNT; i++) {
		struct sbx_namespaces before = host;
		struct sbx_namespaces now = after(ALL);

		before.inode[i] = sandbox.inode[i];
		refuses(&before, &now, ALL, i, "the sandbox's");
	}
}

static int open_proc(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_read(void **state)
{
	static const char *const files[SBX_NS_COUNT] = {
	    "/proc/self/ns/mnt", "/proc/self/ns/pid_for_children", "/proc/self/ns/ipc",
	    "/proc/self/ns/uts", "/proc/self/ns/cgroup",	   "/proc/self/ns/net",
	    "/proc/self/ns/user"};
	sbx_autoclose int fd = open_proc("/proc/self");
	struct sbx_namespaces found = {{0}};

	(void)state;
	assert_int_equal(sbx_namespaces_read(fd, &found, NULL), 0);
	for (int i = 0; i < SBX_NS_COUNT; i++) {
		struct stat st;

		assert_int_equal(stat(files[i], &st), 0);
		assert_int_equal(found.inode[i], st.st_ino);
	}
	assert_int_equal(sbx_namespaces_verify(&found, &found, &found, 0, NULL), 0);
}

/* The descriptor goes on naming its process: when that is gone it is an error, not another one. */
static void test_read_ended_process(void **state)
{
	struct sbx_namespaces found = host;
	struct sbx_err err = {0};
	sbx_autoclose int fd = -EBADF;
	char path[32];
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open_proc(path);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(sbx_namespaces_read(fd, &found, &err) < 0);
	assert_true(err.code > 0);
	assert_memory_equal(&found, &host, sizeof(found));
}

static void test_read_wrong_descriptor(void **state)
{
	struct sbx_namespaces found = host;
	sbx_autoclose int fd = open_proc("/");

	(void)state;
	assert_int_equal(sbx_namespaces_read(fd, &found, NULL), -ENOENT);
	assert_int_equal(sbx_namespaces_read(-1, &found, NULL), -EBADF);
	assert_memory_equal(&found, &host, sizeof(found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_verify_all_sets),
	    cmocka_unit_test(test_verify_sandbox_is_host),
	    cmocka_unit_test(test_read),
	    cmocka_unit_test(test_read_ended_process),
	    cmocka_unit_test(test_read_wrong_descriptor),
	};

	return cmocka_run_group_tests_name("namespaces", tests, NULL, NULL);
}
