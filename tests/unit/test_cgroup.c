/* SPDX-License-Identifier: MIT */
/* What sandboxes' cgroups are called; what a kernel does with them is tested by logins. */
#include "sandbox/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RANDOM UINT64_C(0x0123456789abcdef)

static void expect_name(const struct sbx_cgroup_driver *driver, const char *user,
			const char *expected)
{
	char *name = NULL;

	assert_int_equal(driver->make_name(user, RANDOM, &name), 0);
	assert_string_equal(name, expected);
	free(name);
}

static void test_plain_names(void **state)
{
	(void)state;
	expect_name(&sbx_cgroup_v1, "agent", "agent@0123456789abcdef");
	expect_name(&sbx_cgroup_v2, "a-b.c", "a-b.c@0123456789abcdef");
}

static void test_scope_names(void **state)
{
	(void)state;
	expect_name(&sbx_cgroup_systemd, "agent", "sbx-agent-0123456789abcdef.scope");
	expect_name(&sbx_cgroup_systemd, "a-b_c.D9", "sbx-a-b_c.D9-0123456789abcdef.scope");
}

/* What directory services allow: a domain, a space, letters of other scripts; and an attack. */
static void test_scope_names_escape(void **state)
{
	(void)state;
	expect_name(&sbx_cgroup_systemd, "AD\\bob", "sbx-AD\\x5cbob-0123456789abcdef.scope");
	expect_name(&sbx_cgroup_systemd, "b@ad", "sbx-b\\x40ad-0123456789abcdef.scope");
	expect_name(&sbx_cgroup_systemd, "\xc3\xa4 $",
		    "sbx-\\xc3\\xa4\\x20\\x24-0123456789abcdef.scope");
	expect_name(&sbx_cgroup_systemd, "../../x", "sbx-..\\x2f..\\x2fx-0123456789abcdef.scope");
}

/* The keeper hands the name on in a message with room for so much. */
static void test_scope_names_are_short(void **state)
{
	char user[256];
	char *name = NULL;

	(void)state;
	memset(user, '$', sizeof(user) - 1);
	user[sizeof(user) - 1] = '\0';
	assert_int_equal(sbx_cgroup_systemd.make_name(user, RANDOM, &name), 0);
	assert_in_range(strlen(name), 1, 127);
	assert_non_null(strstr(name, "\\x24-0123456789abcdef.scope"));
	free(name);
}

/* Who may be removed by us: told by the name alone, so no user's name may look like it. */
static void test_managed(void **state)
{
	char *name = NULL;

	(void)state;
	assert_true(sbx_cgroup_is_managed("sbx-agent-0123456789abcdef.scope"));
	assert_false(sbx_cgroup_is_managed("agent@0123456789abcdef"));
	assert_false(sbx_cgroup_is_managed("scope"));
	assert_false(sbx_cgroup_is_managed(""));
	assert_int_equal(sbx_cgroup_v2.make_name("x.scope", RANDOM, &name), 0);
	assert_false(sbx_cgroup_is_managed(name));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_plain_names),
	    cmocka_unit_test(test_scope_names),
	    cmocka_unit_test(test_scope_names_escape),
	    cmocka_unit_test(test_scope_names_are_short),
	    cmocka_unit_test(test_managed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
