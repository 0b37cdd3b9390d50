/* SPDX-License-Identifier: MIT */
#include "sandbox/copy.h"

#include "base/str.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG_S 60
#define LARGEST ((size_t)4 << 20)
#define HOST (-EBADF)

static void copies(int image_fd, const char *path, const char *suffix, const char *expected)
{
	const size_t n_fds = scratch_open_fds();
	sbx_autofree char *text = NULL;
	struct sbx_err err = {0};
	size_t length = 0;

	if (sbx_copy_read(image_fd, path, suffix, &text, &length, &err) < 0)
		fail_msg("%s", err.msg);
	assert_non_null(text);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	assert_int_equal(scratch_open_fds(), n_fds);
}

static void refuses(int image_fd, const char *path, int expected)
{
	const size_t n_fds = scratch_open_fds();
	char untouched[] = "";
	char *text = untouched;
	struct sbx_err err = {0};
	size_t length = 7;

	(void)alarm(HANG_S);
	assert_int_equal(sbx_copy_read(image_fd, path, "suffix", &text, &length, &err), expected);
	(void)alarm(0);
	assert_int_equal(err.code, -expected);
	assert_ptr_equal(text, untouched);
	assert_int_equal(length, 7);
	assert_int_equal(scratch_open_fds(), n_fds);
}

static void test_of_host(void **state)
{
	const struct scratch *s = *state;

	scratch_file(s, "f", "nameserver 127.0.0.53\n");
	scratch_file(s, "empty", "");
	copies(HOST, scratch_path(s, "f"), NULL, "nameserver 127.0.0.53\n");
	copies(HOST, scratch_path(s, "f"), "+\n", "nameserver 127.0.0.53\n+\n");
	copies(HOST, scratch_path(s, "empty"), NULL, "");
	copies(HOST, scratch_path(s, "empty"), "+", "+");
	refuses(HOST, scratch_path(s, "absent"), -ENOENT);
	refuses(HOST, "relative", -EINVAL);
}

static void test_of_image(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "image", 0755);
	scratch_directory(s, "image/etc", 0755);
	scratch_file(s, "image/etc/shells", "the image's");
	scratch_link(s, "image/etc/absolute", "/etc/shells");
	scratch_link(s, "image/etc/above", "../../../etc/shells");
	scratch_link(s, "image/etc/passwd", "/etc/only-on-the-host");
	{
		int image_fd = openat(s->fd, "image", O_PATH | O_DIRECTORY | O_CLOEXEC);

		assert_true(image_fd >= 0);
		copies(image_fd, "/etc/shells", NULL, "the image's");
		copies(image_fd, "/etc/absolute", NULL, "the image's");
		copies(image_fd, "/etc/above", NULL, "the image's");
		copies(image_fd, "/../etc/shells", NULL, "the image's");
		refuses(image_fd, "/etc/passwd", -ENOENT);
		refuses(image_fd, scratch_path(s, "image/etc/shells"), -ENOENT);
		assert_int_equal(close(image_fd), 0);
	}
}

static void test_untrusted_link(void **state)
{
	const struct scratch *s = *state;

	scratch_file(s, "f", "x");
	scratch_link(s, "link", "f");
	scratch_give_away(s, "link");
	refuses(HOST, scratch_path(s, "link"), -ELOOP);
}

/* What others may not read outside they may not read inside either. */
static void test_not_for_others(void **state)
{
	static const mode_t closed[] = {0600, 0640, 0660, 0400, 0751};
	const struct scratch *s = *state;

	scratch_file(s, "f", "secret");
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		char untouched[] = "";
		char *text = untouched;
		size_t length = 7;

		assert_int_equal(fchmodat(s->fd, "f", closed[i], 0), 0);
		assert_int_equal(
		    sbx_copy_read(HOST, scratch_path(s, "f"), "+", &text, &length, NULL), 0);
		assert_null(text);
		assert_int_equal(length, 0);
	}
	assert_int_equal(fchmodat(s->fd, "f", 0604, 0), 0);
	copies(HOST, scratch_path(s, "f"), NULL, "secret");
}

static void test_not_a_file(void **state)
{
	const struct scratch *s = *state;

	scratch_directory(s, "d", 0755);
	scratch_fifo(s, "fifo");
	refuses(HOST, scratch_path(s, "d"), -EINVAL);
	refuses(HOST, scratch_path(s, "fifo"), -EINVAL);
	refuses(HOST, "/dev/zero", -EINVAL);
}

/*
 * A fifo is not opened even for a moment, and with it no device, on which that may have an
 * effect: a writer who does not wait for a reader never finds one.
 */
static void test_fifo_not_opened(void **state)
{
	const struct scratch *s = *state;
	const char *path = scratch_path(s, "fifo");
	int status = -1;
	pid_t pid;

	scratch_fifo(s, "fifo");
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 20000; i++) {
			int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

			if (fd >= 0)
				_exit(1);
		}
		_exit(0);
	}
	assert_true(pid > 0);
	while (waitpid(pid, &status, WNOHANG) == 0)
		refuses(HOST, path, -EINVAL);
	assert_int_equal(status, 0);
}

static void test_size(void **state)
{
	const struct scratch *s = *state;
	sbx_autofree char *text = malloc(LARGEST + 2);

	assert_non_null(text);
	memset(text, 'x', LARGEST + 1);
	text[LARGEST + 1] = '\0';
	scratch_file(s, "f", text);
	refuses(HOST, scratch_path(s, "f"), -EFBIG);
	text[LARGEST] = '\0';
	scratch_file(s, "f", text);
	copies(HOST, scratch_path(s, "f"), NULL, text);
}

static void test_nul_bytes(void **state)
{
	const struct scratch *s = *state;
	int fd = openat(s->fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	sbx_autofree char *text = NULL;
	size_t length = 0;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a\0b", 3), 3);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(sbx_copy_read(HOST, scratch_path(s, "f"), "+", &text, &length, NULL), 0);
	assert_int_equal(length, 4);
	assert_memory_equal(text, "a\0b+", 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_of_host),	       TEST(test_of_image),   TEST(test_untrusted_link),
	    TEST(test_not_for_others), TEST(test_not_a_file), TEST(test_fifo_not_opened),
	    TEST(test_size),	       TEST(test_nul_bytes),
	};

	return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
