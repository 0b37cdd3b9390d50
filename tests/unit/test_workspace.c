/* SPDX-License-Identifier: MIT */
/* The workspace of the user who runs the tests: giving it to another needs root. */
#include "sandbox/workspace.h"

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
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG_S 60
#define TEMPORARY "parent/.ws.sbx-new"

static int open_for(const struct scratch *scratch, uid_t uid, int *ret_fd, struct sbx_err *err)
{
	return sbx_workspace_open(scratch_path(scratch, "parent/ws"), scratch_path(scratch, "skel"),
				  uid, getegid(), ret_fd, err);
}

static void opens(const struct scratch *scratch)
{
	const size_t n_fds = scratch_open_fds();
	sbx_autoclose int fd = -EBADF;
	struct sbx_err err = {0};

	(void)alarm(HANG_S);
	if (open_for(scratch, geteuid(), &fd, &err) < 0)
		fail_msg("%s", err.msg);
	(void)alarm(0);
	assert_true(scratch_is(scratch, "parent/ws", fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(scratch_open_fds(), n_fds + 1);
	assert_int_equal(faccessat(scratch->fd, TEMPORARY, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void refuses(const struct scratch *scratch, int expected)
{
	const size_t n_fds = scratch_open_fds();
	struct sbx_err err = {0};
	int fd = -EBADF;

	(void)alarm(HANG_S);
	assert_int_equal(open_for(scratch, geteuid(), &fd, &err), expected);
	(void)alarm(0);
	assert_int_equal(fd, -EBADF);
	assert_int_equal(err.code, -expected);
	assert_non_null(strstr(err.msg, "parent/ws"));
	assert_int_equal(scratch_open_fds(), n_fds);
	assert_int_equal(faccessat(scratch->fd, TEMPORARY, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void absent(const struct scratch *scratch, const char *name)
{
	struct stat st;

	if (fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		fail_msg("'%s' is there", name);
}

static mode_t mode_of(const struct scratch *scratch, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_gid, getegid());
	return st.st_mode & 07777;
}

static void holds(const struct scratch *scratch, const char *name, const char *text)
{
	sbx_autofree char *found = scratch_read(scratch, name);

	assert_non_null(found);
	assert_string_equal(found, text);
}

static void test_made_from_skeleton(void **state)
{
	const struct scratch *s = *state;
	char text[64] = {0};
	mode_t mask;

	scratch_directory(s, "parent", 0711);
	scratch_directory(s, "skel", 0755);
	scratch_file(s, "skel/.bashrc", "# hello\n");
	scratch_file(s, "skel/empty", "");
	scratch_file(s, "skel/new\nline", "x");
	scratch_directory(s, "skel/bin", 0750);
	scratch_directory(s, "skel/bin/deeper", 0700);
	scratch_file(s, "skel/bin/run", "#!/bin/sh\n");
	assert_int_equal(fchmodat(s->fd, "skel/bin/run", 04755, 0), 0);
	scratch_link(s, "skel/link", "bin/run");
	scratch_link(s, "skel/dangling", "/absent/\n");
	mask = umask(027);
	opens(s);
	(void)umask(mask);
	assert_int_equal(mode_of(s, "parent/ws"), 0700);
	holds(s, "parent/ws/.bashrc", "# hello\n");
	assert_int_equal(mode_of(s, "parent/ws/.bashrc"), 0644); /* not by the umask */
	holds(s, "parent/ws/empty", "");
	holds(s, "parent/ws/new\nline", "x");
	holds(s, "parent/ws/bin/run", "#!/bin/sh\n");
	assert_int_equal(mode_of(s, "parent/ws/bin"), 0750);
	assert_int_equal(mode_of(s, "parent/ws/bin/deeper"), 0700);
	assert_int_equal(mode_of(s, "parent/ws/bin/run"), 0755); /* set-uid is not copied */
	assert_int_equal(readlinkat(s->fd, "parent/ws/link", text, sizeof(text) - 1), 7);
	assert_string_equal(text, "bin/run");
	assert_int_equal(mode_of(s, "parent/ws/link") & 0777, 0777);
	assert_int_equal(readlinkat(s->fd, "parent/ws/dangling", text, sizeof(text) - 1), 9);
	/* The skeleton is as it was. */
	holds(s, "skel/.bashrc", "# hello\n");
}

static void test_large_file(void **state)
{
	enum { BYTES = 5 << 20 };
	const struct scratch *s = *state;
	sbx_autofree char *big = malloc(BYTES + 1);

	assert_non_null(big);
	for (size_t i = 0; i < BYTES; i++)
		big[i] = (char)('a' + i % 23);
	big[BYTES] = '\0';
	scratch_directory(s, "parent", 0711);
	scratch_directory(s, "skel", 0755);
	scratch_file(s, "skel/big", big);
	opens(s);
	holds(s, "parent/ws/big", big);
}

static void test_no_skeleton(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "parent", 0711);
	opens(s);
	assert_int_equal(mode_of(s, "parent/ws"), 0700);
	assert_int_equal(unlinkat(s->fd, "parent/ws", AT_REMOVEDIR), 0); /* empty */
}

static void test_existing_is_kept(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "parent", 0711);
	scratch_directory(s, "parent/ws", 0750);
	scratch_file(s, "parent/ws/.bashrc", "mine");
	scratch_directory(s, "skel", 0755);
	scratch_file(s, "skel/.bashrc", "skeleton's");
	scratch_file(s, "skel/other", "x");
	opens(s);
	opens(s);
	holds(s, "parent/ws/.bashrc", "mine");
	absent(s, "parent/ws/other");
	assert_int_equal(mode_of(s, "parent/ws"), 0750);
}

static void test_not_a_directory(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "parent", 0711);
	scratch_file(s, "parent/ws", "x");
	refuses(s, -ENOTDIR);
	holds(s, "parent/ws", "x");
	assert_int_equal(unlinkat(s->fd, "parent/ws", 0), 0);
	scratch_fifo(s, "parent/ws");
	refuses(s, -ENOTDIR);
}

static void test_link_in_its_place(void **state)
{
	const struct scratch *s = *state;

	/* Whoever may write to the parent may have put the link there. */
	scratch_directory(s, "parent", geteuid() == 0 ? 0711 : 0777);
	scratch_directory(s, "other", 0700);
	scratch_link(s, "parent/ws", "../other");
	scratch_give_away(s, "parent/ws");
	refuses(s, -ELOOP);
	assert_int_equal(unlinkat(s->fd, "parent/ws", 0), 0);
	/* One that leads nowhere must not have its target made. */
	scratch_link(s, "parent/ws", "../made");
	scratch_give_away(s, "parent/ws");
	refuses(s, -ELOOP);
	absent(s, "made");
	/* Nor one's own. */
	assert_int_equal(unlinkat(s->fd, "parent/ws", 0), 0);
	assert_int_equal(fchmodat(s->fd, "parent", 0711, 0), 0);
	scratch_link(s, "parent/ws", "../made");
	refuses(s, -EEXIST);
	absent(s, "made");
}

static void test_other_owner(void **state)
{
	const struct scratch *s = *state;
	struct sbx_err err = {0};
	int fd = -EBADF;

	scratch_directory(s, "parent", 0711);
	scratch_directory(s, "parent/ws", 0700);
	assert_int_equal(open_for(s, geteuid() + 1, &fd, &err), -EPERM);
	assert_int_equal(fd, -EBADF);
	/* Something that the administrator can do about it. */
	assert_non_null(strstr(err.msg, "each user needs one"));
	if (geteuid() == 0) {
		scratch_give_away(s, "parent/ws");
		refuses(s, -EPERM);
	}
}

static void test_no_parent(void **state)
{
	const struct scratch *s = *state;

	refuses(s, -ENOENT);
	absent(s, "parent");
}

/* Whatever an interrupted start, or somebody else, has left under the temporary name. */
static void test_leftovers(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "parent", 0711);
	scratch_directory(s, "skel", 0755);
	scratch_file(s, "skel/f", "new");
	scratch_directory(s, "victim", 0700);
	scratch_file(s, "victim/f", "kept");

	scratch_directory(s, TEMPORARY, 0700);
	scratch_directory(s, TEMPORARY "/d", 0700);
	scratch_file(s, TEMPORARY "/d/half", "x");
	scratch_link(s, TEMPORARY "/link", "../../victim");
	opens(s);
	holds(s, "parent/ws/f", "new");
	absent(s, "parent/ws/d");
	holds(s, "victim/f", "kept");

	assert_int_equal(unlinkat(s->fd, "parent/ws/f", 0), 0);
	assert_int_equal(unlinkat(s->fd, "parent/ws", AT_REMOVEDIR), 0);
	scratch_link(s, TEMPORARY, "../victim");
	opens(s);
	holds(s, "parent/ws/f", "new");
	holds(s, "victim/f", "kept");
	absent(s, "victim/.bashrc");
}

static void test_skeleton_is_wrong(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "parent", 0711);
	scratch_file(s, "skel", "a file");
	refuses(s, -ENOTDIR);
	assert_int_equal(unlinkat(s->fd, "skel", 0), 0);
	scratch_directory(s, "skel", 0755);
	scratch_file(s, "skel/a", "x");
	scratch_directory(s, "skel/d", 0755);
	scratch_fifo(s, "skel/d/fifo");
	refuses(s, -EINVAL);
	absent(s, "parent/ws"); /* all of it or nothing */
	assert_int_equal(unlinkat(s->fd, "skel/d/fifo", 0), 0);
	opens(s);
	holds(s, "parent/ws/a", "x");
}

/* Too deep is refused, and leaves nothing that would be in the way once it is mended. */
static void test_skeleton_is_deep(void **state)
{
	enum { DEEP = 20 };
	const struct scratch *s = *state;
	char path[128] = "skel";
	size_t length = strlen(path);

	scratch_directory(s, "parent", 0711);
	scratch_directory(s, path, 0755);
	for (int i = 0; i < DEEP; i++, length += 2) {
		memcpy(path + length, "/d", 3);
		scratch_directory(s, path, 0755);
	}
	refuses(s, -ELOOP);
	absent(s, "parent/ws");
	for (int i = 0; i < DEEP; i++) {
		assert_int_equal(unlinkat(s->fd, path, AT_REMOVEDIR), 0);
		length -= 2;
		path[length] = '\0';
	}
	opens(s);
}

/* A write that fails in the middle, as on a full disk. */
static void test_write_fails(void **state)
{
	const struct scratch *s = *state;
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before_action;
	struct rlimit before;
	struct rlimit small;

	scratch_directory(s, "parent", 0711);
	scratch_directory(s, "skel", 0755);
	scratch_file(s, "skel/a", "0123456789");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4;
	assert_int_equal(sigaction(SIGXFSZ, &ignore, &before_action), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	refuses(s, -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(sigaction(SIGXFSZ, &before_action, NULL), 0);
	absent(s, "parent/ws");
	opens(s);
	holds(s, "parent/ws/a", "0123456789");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_made_from_skeleton), TEST(test_large_file),
	    TEST(test_no_skeleton),	   TEST(test_existing_is_kept),
	    TEST(test_not_a_directory),	   TEST(test_link_in_its_place),
	    TEST(test_other_owner),	   TEST(test_no_parent),
	    TEST(test_leftovers),	   TEST(test_skeleton_is_wrong),
	    TEST(test_skeleton_is_deep),   TEST(test_write_fails),
	};

	return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}
