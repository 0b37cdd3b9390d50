/* SPDX-License-Identifier: MIT */
#include "sandbox/identity.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_username(void **state)
{
	static const struct {
		const char *name;
		bool valid;
	} rows[] = {
	    {"agent", true},
	    {"a", true},
	    {"_apt", true},
	    {"Agent", true},
	    {"1000", true},
	    {"a.b-c_d", true},
	    {"host$", true},
	    /* 64 and 65 bytes */
	    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
	    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	    {"", false},
	    {".", false},
	    {"..", false},
	    {".a", false},
	    {"-a", false},
	    {"$", false},
	    {"a$b", false},
	    {"a$$", false},
	    {"a/b", false},
	    {"../a", false},
	    {"a b", false},
	    {"a:b", false},
	    {"a\nb", false},
	    {"a@b", false},
	    {"a,b", false},
	    {"a%u", false},
	    {"a;b", false},
	    {"DOM\\a", false},
	    {"\xc3\xa9", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (sbx_username_valid(rows[i].name) != rows[i].valid)
			fail_msg("'%s'", rows[i].name);
	}
}

static void test_in_group(void **state)
{
	char one[] = "one";
	char two[] = "two";
	struct sbx_group groups[] = {{1, one}, {2, two}};
	const struct sbx_identity identity = {.groups = groups, .n_groups = 2};
	const struct sbx_identity none = {0};

	(void)state;
	assert_true(sbx_identity_in_group(&identity, "one"));
	assert_true(sbx_identity_in_group(&identity, "two"));
	assert_false(sbx_identity_in_group(&identity, "tw"));
	assert_false(sbx_identity_in_group(&identity, "twoo"));
	assert_false(sbx_identity_in_group(&identity, ""));
	assert_false(sbx_identity_in_group(&none, "one"));
}

static void test_refused(void **state)
{
	static const struct {
		const char *name;
		int rc;
		const char *reason;
	} rows[] = {
	    {"root", -EPERM, "root (uid 0), which is never sandboxed"},
	    {"no-such-user-here", -ENOENT, "no such user: 'no-such-user-here'"},
	    {"../etc", -EINVAL, "not a usable user name"},
	    {"", -EINVAL, "not a usable user name"},
	    {"-v", -EINVAL, "not a usable user name"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_identity *identity = NULL;
		struct sbx_err err = {0};

		assert_int_equal(sbx_identity_lookup(rows[i].name, &identity, &err), rows[i].rc);
		assert_int_equal(err.code, -rows[i].rc);
		assert_non_null(strstr(err.msg, rows[i].reason));
		assert_null(identity);
	}
}

/* An account that every system has, with the ids that the Linux Standard Base gives it. */
static void test_found(void **state)
{
	struct sbx_identity *identity = NULL;
	struct sbx_err err = {0};

	(void)state;
	if (sbx_identity_lookup("daemon", &identity, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(identity->name, "daemon");
	assert_int_equal(identity->uid, 1);
	assert_int_equal(identity->gid, 1);
	assert_int_equal(identity->home[0], '/');
	assert_int_equal(identity->login_shell[0], '/');
	assert_non_null(identity->gecos);
	assert_true(identity->n_groups >= 1);
	assert_int_equal(identity->groups[0].gid, 1);
	assert_string_equal(identity->groups[0].name, "daemon");
	assert_true(sbx_identity_in_group(identity, "daemon"));
	sbx_identity_free(identity);
	sbx_identity_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_username),
	    cmocka_unit_test(test_in_group),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_found),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
