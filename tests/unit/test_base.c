/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* --- err ----------------------------------------------------------------------------------- */

static void test_fail(void **state)
{
	struct sbx_err err = {0};

	(void)state;
	assert_int_equal(sbx_fail(&err, ENOENT, "open '%s': %d", "x", 5), -ENOENT);
	assert_int_equal(err.code, ENOENT);
	assert_string_equal(err.msg, "open 'x': 5");
	assert_int_equal(sbx_fail(NULL, EPERM, "%s", "x"), -EPERM);
	assert_int_equal(sbx_fail(&err, 0, "x"), -EIO); /* never success */
	assert_int_equal(err.code, EIO);
}

static void test_fail_hostile(void **state)
{
	struct sbx_err err = {0};
	char text[2000];

	(void)state;
	(void)sbx_fail(&err, EIO, "a\nb\x1b[31m\t\x7f\xc3\xa9");
	assert_string_equal(err.msg, "a?b?[31m??\xc3\xa9");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(sbx_fail(&err, EIO, "%s", text), -EIO);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
}

static void test_wrap(void **state)
{
	struct sbx_err err = {0};

	(void)state;
	(void)sbx_fail(&err, ENOENT, "inner");
	assert_int_equal(sbx_wrap(&err, -ENOENT, "outer %d", 1), -ENOENT);
	assert_string_equal(err.msg, "outer 1: inner");
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(sbx_wrap(NULL, -EPERM, "x"), -EPERM);
}

/* --- str ----------------------------------------------------------------------------------- */

static void test_str(void **state)
{
	struct sbx_str str = {0};
	char *text = NULL;

	(void)state;
	sbx_str_add(&str, "a");
	sbx_str_addf(&str, "%d%s", 12, "b");
	sbx_str_addn(&str, "c\0d", 3);
	assert_int_equal(str.rc, 0);
	assert_int_equal(str.length, 7);
	assert_memory_equal(str.text, "a12bc\0d", 8);
	assert_int_equal(sbx_str_take(&str, &text), 0);
	assert_memory_equal(text, "a12bc\0d", 8);
	assert_null(str.text);
	free(text);
	text = NULL;
	assert_int_equal(sbx_str_take(&str, &text), 0); /* empty, but a string */
	assert_string_equal(text, "");
	free(text);
	sbx_str_done(&str);
	sbx_str_done(NULL);
}

static void test_str_grows(void **state)
{
	struct sbx_str str = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		sbx_str_addn(&str, &"0123456789"[i % 10], 1);
	assert_int_equal(str.rc, 0);
	assert_int_equal(str.length, 100000);
	assert_int_equal(strlen(str.text), 100000);
	assert_int_equal(str.text[99999], '9');
	sbx_str_done(&str);
}

static void test_str_sticky(void **state)
{
	char untouched[] = "x";
	char *text = untouched;
	struct sbx_str str = {0};

	(void)state;
	sbx_str_add(&str, "a");
	sbx_str_addn(&str, "b", SIZE_MAX / 2); /* refused before anything is read */
	assert_int_equal(str.rc, -EOVERFLOW);
	sbx_str_add(&str, "c");
	assert_int_equal(sbx_str_take(&str, &text), -EOVERFLOW);
	assert_ptr_equal(text, untouched);
	assert_null(str.text);
	assert_int_equal(str.rc, 0);
}

static void test_strv(void **state)
{
	char **list = NULL;

	(void)state;
	assert_int_equal(sbx_strv_length(NULL), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(sbx_strv_append(&list, i == 7 ? "seven" : "x"), 0);
	assert_int_equal(sbx_strv_length(list), 20);
	assert_string_equal(list[7], "seven");
	assert_null(list[20]);
	sbx_strv_free(list);
	sbx_strv_free(NULL);
	sbx_secret_free(NULL);
}

/* --- number -------------------------------------------------------------------------------- */

static void test_u64(void **state)
{
	static const struct {
		const char *text;
		uint64_t min;
		uint64_t max;
		int rc;
		uint64_t value;
	} rows[] = {
	    {"0", 0, 10, 0, 0},
	    {"10", 0, 10, 0, 10},
	    {"007", 0, 10, 0, 7},
	    {"11", 0, 10, -ERANGE, 0},
	    {"4", 5, 10, -ERANGE, 0},
	    {"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
	    {"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
	    {"99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
	    {"", 0, 10, -EINVAL, 0},
	    {" 1", 0, 10, -EINVAL, 0},
	    {"1 ", 0, 10, -EINVAL, 0},
	    {"+1", 0, 10, -EINVAL, 0},
	    {"-1", 0, UINT64_MAX, -EINVAL, 0},
	    {"0x1", 0, 10, -EINVAL, 0},
	    {"1K", 0, 10000, -EINVAL, 0},
	    {"1\n", 0, 10, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 0;

		if (sbx_parse_u64(rows[i].text, rows[i].min, rows[i].max, &value) != rows[i].rc ||
		    value != rows[i].value)
			fail_msg("'%s'", rows[i].text);
	}
}

static void test_size(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t value;
	} rows[] = {
	    {"0", 0, 0},
	    {"512", 0, 512},
	    {"1K", 0, 1024},
	    {"3M", 0, 3145728},
	    {"4G", 0, 4294967296},
	    {"2T", 0, 2199023255552},
	    {"16777215T", 0, 18446742974197923840U},
	    {"16777216T", -ERANGE, 0},
	    {"18446744073709551615", 0, UINT64_MAX},
	    {"18446744073709551615K", -ERANGE, 0},
	    {"K", -EINVAL, 0},
	    {"", -EINVAL, 0},
	    {"1k", -EINVAL, 0},
	    {"1KB", -EINVAL, 0},
	    {"1P", -EINVAL, 0},
	    {"1 K", -EINVAL, 0},
	    {"1.5G", -EINVAL, 0},
	    {"-1K", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 0;

		if (sbx_parse_size(rows[i].text, 0, UINT64_MAX, &value) != rows[i].rc ||
		    value != rows[i].value)
			fail_msg("'%s'", rows[i].text);
	}
}

/* --- fd ------------------------------------------------------------------------------------ */

static void test_fd(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int taken;

	(void)state;
	assert_true(fd >= 0);
	taken = sbx_take_fd(&fd);
	assert_int_equal(fd, -EBADF);
	errno = ENOTTY;
	sbx_closep(&taken);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(taken, -EBADF);
	sbx_closep(&taken); /* a second time does no harm */
	assert_int_equal(taken, -EBADF);
}

/* Content by way of /proc: needs no place to write to. */
static void test_file_read(void **state)
{
	sbx_autoclose int fd = memfd_create("test", MFD_CLOEXEC);
	struct sbx_err err = {0};
	struct stat st = {0};
	char path[64];
	char *text = NULL;
	size_t length = 0;
	char block[10000];

	(void)state;
	assert_true(fd >= 0);
	memset(block, 'x', sizeof(block));
	block[5000] = '\0';
	assert_int_equal(sbx_write_all(fd, block, sizeof(block)), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(sbx_file_read(AT_FDCWD, path, 0, 10000, &text, &length, &st, &err), 0);
	assert_int_equal(length, sizeof(block));
	assert_memory_equal(text, block, sizeof(block));
	assert_int_equal(text[length], '\0');
	assert_int_equal(st.st_size, sizeof(block));
	free(text);
	text = NULL;
	assert_int_equal(sbx_file_read(AT_FDCWD, path, 0, 9999, &text, NULL, NULL, &err), -EFBIG);
	assert_int_equal(sbx_file_read(AT_FDCWD, "/dev/null", 0, 10, &text, NULL, NULL, &err),
			 -EINVAL);
	assert_int_equal(sbx_file_read(AT_FDCWD, "/dev", 0, 10, &text, NULL, NULL, &err), -EINVAL);
	assert_int_equal(sbx_file_read(AT_FDCWD, "/nonexistent", 0, 10, &text, NULL, NULL, &err),
			 -ENOENT);
	assert_null(text);
}

static void test_write_all(void **state)
{
	sbx_autoclose int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, "x", 1), -ENOSPC);
	assert_int_equal(sbx_write_all(fd, "x", 0), 0);
	assert_int_equal(sbx_write_all(-1, "x", 1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fail),      cmocka_unit_test(test_fail_hostile),
	    cmocka_unit_test(test_wrap),      cmocka_unit_test(test_str),
	    cmocka_unit_test(test_str_grows), cmocka_unit_test(test_str_sticky),
	    cmocka_unit_test(test_strv),      cmocka_unit_test(test_u64),
	    cmocka_unit_test(test_size),      cmocka_unit_test(test_fd),
	    cmocka_unit_test(test_file_read), cmocka_unit_test(test_write_all),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
