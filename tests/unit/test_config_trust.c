/* SPDX-License-Identifier: MIT */
/* Who may own and change the files that sbx believes. */
#include "config/trusted_file.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct sbx_trust policy_trust = {.owner = 0, .forbidden_mode = 022, .max_bytes = 64};
static const struct sbx_trust store_trust = {
    .owner = 0, .forbidden_mode = 07137, .group_limited = true, .group = 1000, .max_bytes = 64};

static void test_file(void **state)
{
	static const struct {
		const struct sbx_trust *trust;
		mode_t mode;
		uid_t uid;
		gid_t gid;
		int rc;
	} rows[] = {
	    {&policy_trust, S_IFREG | 0644, 0, 0, 0},
	    {&policy_trust, S_IFREG | 0600, 0, 7, 0},
	    {&policy_trust, S_IFREG | 0644, 1000, 0, -EPERM},
	    {&policy_trust, S_IFREG | 0664, 0, 0, -EPERM},
	    {&policy_trust, S_IFREG | 0646, 0, 0, -EPERM},
	    {&policy_trust, S_IFREG | 0666, 0, 0, -EPERM},
	    {&policy_trust, S_IFDIR | 0755, 0, 0, -EINVAL},
	    {&policy_trust, S_IFIFO | 0644, 0, 0, -EINVAL},
	    {&policy_trust, S_IFLNK | 0777, 0, 0, -EINVAL},
	    {&policy_trust, S_IFCHR | 0644, 0, 0, -EINVAL},
	    {&store_trust, S_IFREG | 0640, 0, 1000, 0},
	    {&store_trust, S_IFREG | 0640, 0, 0, 0},
	    {&store_trust, S_IFREG | 0600, 0, 1000, 0},
	    {&store_trust, S_IFREG | 0400, 0, 0, 0},
	    {&store_trust, S_IFREG | 0644, 0, 1000, -EPERM},
	    {&store_trust, S_IFREG | 0660, 0, 1000, -EPERM},
	    {&store_trust, S_IFREG | 0650, 0, 1000, -EPERM},
	    {&store_trust, S_IFREG | 0740, 0, 1000, -EPERM},
	    {&store_trust, S_IFREG | 04640, 0, 1000, -EPERM},
	    {&store_trust, S_IFREG | 0640, 0, 1001, -EPERM},
	    {&store_trust, S_IFREG | 0640, 1000, 1000, -EPERM},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct stat st = {
		    .st_mode = rows[i].mode, .st_uid = rows[i].uid, .st_gid = rows[i].gid};
		struct sbx_err err = {0};
		int rc = sbx_trust_check_file(rows[i].trust, &st, "/f", &err);

		if (rc != rows[i].rc || (rc < 0 && strncmp(err.msg, "'/f' ", 5) != 0))
			fail_msg("row %zu: %d, '%s'", i, rc, err.msg);
	}
}

static void test_directory(void **state)
{
	static const struct {
		mode_t mode;
		uid_t uid;
		uid_t owner;
		int rc;
	} rows[] = {
	    {S_IFDIR | 0755, 0, 0, 0},
	    {S_IFDIR | 0711, 0, 0, 0},
	    {S_IFDIR | 01777, 0, 0, 0},
	    {S_IFDIR | 0755, 0, 1000, 0},
	    {S_IFDIR | 0700, 1000, 1000, 0},
	    {S_IFDIR | 0755, 1000, 0, -EPERM},
	    {S_IFDIR | 0755, 1001, 1000, -EPERM},
	    {S_IFDIR | 0775, 0, 0, -EPERM},
	    {S_IFDIR | 0757, 0, 0, -EPERM},
	    {S_IFDIR | 0777, 0, 0, -EPERM},
	    {S_IFLNK | 0777, 0, 0, -EPERM},
	    {S_IFREG | 0644, 0, 0, -ENOTDIR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct stat st = {.st_mode = rows[i].mode, .st_uid = rows[i].uid};
		const struct sbx_trust trust = {.owner = rows[i].owner};
		int rc = sbx_trust_check_directory(&trust, &st, "/d", NULL);

		if (rc != rows[i].rc)
			fail_msg("row %zu: %d", i, rc);
	}
}

/* --- Real files, owned by whoever runs this ------------------------------------------------- */

static char place[64];

static int make_place(void **state)
{
	(void)state;
	(void)snprintf(place, sizeof(place), "/tmp/sbx-trust-XXXXXX");
	return mkdtemp(place) == NULL || chdir(place) < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
	static const char *const files[] = {"d/f", "d/fifo", "d/link", "loop"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(files[i]); /* not every test makes every one */
	(void)rmdir("d");
	return chdir("/") < 0 || rmdir(place) < 0 ? -1 : 0;
}

static void write_file(const char *text, size_t length)
{
	int fd;

	assert_true(mkdir("d", 0755) == 0 || errno == EEXIST);
	fd = open("d/f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	assert_int_equal(close(fd), 0);
}

static int read_at(const char *name, char **ret_text, size_t *ret_length, struct sbx_err *err)
{
	const struct sbx_trust trust = {.owner = getuid(), .forbidden_mode = 022, .max_bytes = 64};
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	return sbx_trusted_file_read(path, &trust, ret_text, ret_length, err);
}

static void expect_rc(const char *name, int expected, const char *reason)
{
	struct sbx_err err = {0};
	char *text = NULL;
	size_t length = 0;
	int rc = read_at(name, &text, &length, &err);

	if (rc != expected || text != NULL || strstr(err.msg, reason) == NULL)
		fail_msg("%s: %d, '%s'", name, rc, err.msg);
}

static void test_read(void **state)
{
	struct sbx_err err = {0};
	char *text = NULL;
	size_t length = 0;

	(void)state;
	write_file("a\0b\n", 4);
	assert_int_equal(read_at("d/f", &text, &length, &err), 0);
	assert_int_equal(length, 4);
	assert_memory_equal(text, "a\0b\n", 5);
	free(text);
	text = NULL;
	assert_int_equal(read_at("d//f", &text, &length, &err), 0);
	free(text);
	expect_rc("d/none", -ENOENT, "No such file");
	expect_rc("none/f", -ENOENT, "/none': No such file");
}

static void test_too_large(void **state)
{
	char text[65] = {0};
	char *read_text = NULL;
	size_t length = 0;

	(void)state;
	write_file(text, 64);
	assert_int_equal(read_at("d/f", &read_text, &length, NULL), 0);
	assert_int_equal(length, 64);
	free(read_text);
	write_file(text, 65);
	expect_rc("d/f", -EFBIG, "larger than 64");
}

static void test_untrusted(void **state)
{
	(void)state;
	write_file("x\n", 2);
	assert_int_equal(chmod("d/f", 0620), 0);
	expect_rc("d/f", -EPERM, "has mode 0620, which is too open; chmod 0644 it");
	assert_int_equal(chmod("d/f", 0602), 0);
	expect_rc("d/f", -EPERM, "has mode 0602");
	assert_int_equal(chmod("d/f", 0600), 0);
	assert_int_equal(chmod("d", 0775), 0);
	expect_rc("d/f", -EPERM, "only its owner may write");
	assert_int_equal(chmod("d", 0757), 0);
	expect_rc("d/f", -EPERM, "only its owner may write");
	assert_int_equal(chmod("d", 0755), 0);
}

static void test_wrong_owner(void **state)
{
	const struct sbx_trust trust = {
	    .owner = getuid() + 1, .forbidden_mode = 022, .max_bytes = 64};
	struct sbx_err err = {0};
	char path[128];
	char *text = NULL;
	size_t length = 0;

	(void)state;
	write_file("x\n", 2);
	(void)snprintf(path, sizeof(path), "%s/d/f", place);
	assert_int_equal(sbx_trusted_file_read(path, &trust, &text, &length, &err), -EPERM);
	assert_non_null(strstr(err.msg, "is owned by uid"));
	assert_null(text);
}

/* Links, and files that would block whoever opens them. */
static void test_special(void **state)
{
	(void)state;
	write_file("x\n", 2);
	assert_int_equal(symlink("f", "d/link"), 0);
	expect_rc("d/link", -ELOOP, "is a symbolic link");
	assert_int_equal(symlink("d", "loop"), 0);
	expect_rc("loop/f", -EPERM, "is a symbolic link");
	assert_int_equal(mkfifo("d/fifo", 0600), 0);
	expect_rc("d/fifo", -EINVAL, "not a regular file");
	expect_rc("d", -EINVAL, "not a regular file");
	expect_rc("d/f/x", -ENOTDIR, "not a directory");
	expect_rc("d/", -EINVAL, "not the absolute path of a file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_file),
	    cmocka_unit_test(test_directory),
	    cmocka_unit_test_setup_teardown(test_read, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_too_large, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_untrusted, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_wrong_owner, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_special, make_place, remove_place),
	};

	return cmocka_run_group_tests_name("config_trust", tests, NULL, NULL);
}
