/* SPDX-License-Identifier: MIT */
/* Accounts are this machine's: root, and the first two others that it has. */
#include "config/enrolment.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_GROUP "sbx-test-no-such-group"
#define UNTOUCHED ((enum sbx_enrolment)42)

/* One who is not root, whose primary group has a name and whose shell is not sbxsh. */
static char user[64];
static char primary[64];
/* A group that this one is not in. */
static char other[64];

static int setup(void **state)
{
	const struct passwd *passwd;
	const struct group *group;
	gid_t gid = 0;

	(void)state;
	setpwent();
	/* cppcheck-suppress getpwentCalled ; one thread */
	while (user[0] == '\0' && (passwd = getpwent()) != NULL) {
		/* cppcheck-suppress getgrgidCalled ; one thread */
		group = getgrgid(passwd->pw_gid);
		if (passwd->pw_uid == 0 || group == NULL ||
		    strstr(passwd->pw_shell, "sbxsh") != NULL)
			continue;
		gid = passwd->pw_gid;
		(void)snprintf(user, sizeof(user), "%s", passwd->pw_name);
		(void)snprintf(primary, sizeof(primary), "%s", group->gr_name);
	}
	endpwent();
	setgrent();
	/* cppcheck-suppress getgrentCalled ; one thread */
	while (other[0] == '\0' && (group = getgrent()) != NULL) {
		if (group->gr_gid != gid && group->gr_mem[0] == NULL)
			(void)snprintf(other, sizeof(other), "%s", group->gr_name);
	}
	endgrent();
	return user[0] == '\0' || other[0] == '\0' ? -1 : 0;
}

static enum sbx_enrolment look_up(const char *name, const char *group)
{
	enum sbx_enrolment enrolment = UNTOUCHED;
	struct sbx_err err = {0};

	if (sbx_enrolment_lookup(name, group, &enrolment, &err) < 0)
		fail_msg("%s", err.msg);
	return enrolment;
}

static void test_root_never(void **state)
{
	(void)state;
	assert_int_equal(look_up("root", "root"), SBX_NOT_ENROLLED);
	assert_int_equal(look_up("root", NO_GROUP), SBX_NOT_ENROLLED);
}

static void test_by_primary_group(void **state)
{
	(void)state;
	assert_int_equal(look_up(user, primary), SBX_ENROLLED_BY_GROUP);
	assert_int_equal(look_up(user, other), SBX_NOT_ENROLLED);
}

static void test_no_such_user(void **state)
{
	static const char *const names[] = {
	    "sbx-test-no-such-user", "", ":", "root:x", "a\nb", "/"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(look_up(names[i], primary), SBX_NOT_ENROLLED);
}

static void test_no_such_group(void **state)
{
	static const char *const names[] = {NO_GROUP, "", ":", "a\nb", "0", "*"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(look_up(user, names[i]), SBX_NOT_ENROLLED);
}

/* A process without a free descriptor cannot know, and must not say "no". */
static void test_out_of_descriptors(void **state)
{
	enum sbx_enrolment enrolment = UNTOUCHED;
	struct sbx_err err = {0};
	struct rlimit before;
	struct rlimit tight;
	int lowest = fcntl(0, F_DUPFD_CLOEXEC, 0);
	int rc;

	(void)state;
	assert_true(lowest > 0);
	assert_int_equal(close(lowest), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = (rlim_t)lowest;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	rc = sbx_enrolment_lookup(user, primary, &enrolment, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	if (rc == 0)
		fail_msg("the answer was %d", (int)enrolment);
	assert_int_equal(err.code, -rc);
	assert_non_null(strstr(err.msg, user));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_root_never),	       cmocka_unit_test(test_by_primary_group),
	    cmocka_unit_test(test_no_such_user),       cmocka_unit_test(test_no_such_group),
	    cmocka_unit_test(test_out_of_descriptors),
	};

	return cmocka_run_group_tests_name("enrolment", tests, setup, NULL);
}
