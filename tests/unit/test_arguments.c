/* SPDX-License-Identifier: MIT */
#include "pam_module/arguments.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_defaults(void **state)
{
	struct sbx_arguments arguments = {0};

	(void)state;
	assert_int_equal(sbx_arguments_parse(0, NULL, &arguments, NULL), 0);
	assert_string_equal(arguments.group, "sbx");
	assert_string_equal(arguments.policy_file, "/etc/sbx/policy.ini");
	assert_false(arguments.debug);
}

static void test_all(void **state)
{
	const char *argv[] = {"policy=/srv/p.ini", "debug", "group=agents"};
	struct sbx_arguments arguments = {0};

	(void)state;
	assert_int_equal(sbx_arguments_parse(3, argv, &arguments, NULL), 0);
	assert_string_equal(arguments.group, "agents");
	assert_string_equal(arguments.policy_file, "/srv/p.ini");
	assert_true(arguments.debug);
}

static void test_values(void **state)
{
	const char *argv[] = {"group=a=b", "policy=/a b=c"};
	const char *twice[] = {"group=one", "group=two"};
	struct sbx_arguments arguments = {0};

	(void)state;
	assert_int_equal(sbx_arguments_parse(2, argv, &arguments, NULL), 0);
	assert_string_equal(arguments.group, "a=b");
	assert_string_equal(arguments.policy_file, "/a b=c");
	assert_int_equal(sbx_arguments_parse(2, twice, &arguments, NULL), 0);
	assert_string_equal(arguments.group, "two");
}

/* Wrong wherever it stands, and what is right counts all the same: who is enrolled must be known.
 */
static void test_unknown(void **state)
{
	static const char *const wrong[] = {
	    "",		"group",	"group=",  "Group=x",	   "groups=x",
	    " group=x", "policy",	"policy=", "policy=p.ini", "policy=./p",
	    "debug=",	"debug=1",	"Debug",   "debugging",	   "no_warn",
	    "=",	"group:agents", "\n",	   "policy= /x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		for (int where = 0; where < 3; where++) {
			const char *argv[] = {"group=agents", "debug", "debug"};
			struct sbx_arguments arguments = {0};
			struct sbx_err err = {0};
			bool first = where == 0;

			argv[where] = wrong[i];
			if (sbx_arguments_parse(3, argv, &arguments, &err) != -EINVAL)
				fail_msg("'%s' as argument %d", wrong[i], where);
			assert_int_equal(err.code, EINVAL);
			assert_non_null(strstr(err.msg, "unknown module argument '"));
			assert_null(strchr(err.msg, '\n'));
			assert_string_equal(arguments.group, first ? "sbx" : "agents");
			assert_true(arguments.debug);
			assert_string_equal(arguments.policy_file, "/etc/sbx/policy.ini");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_all),
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
