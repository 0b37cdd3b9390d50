/* SPDX-License-Identifier: MIT */
#include "control/pam_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Two directories of services, as /etc/pam.d and /usr/lib/pam.d. */
struct world {
	char top[32];
	char first[48];
	char second[48];
	const char *dirs[3];
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	(void)snprintf(world->top, sizeof(world->top), "/tmp/sbx-pam-XXXXXX");
	assert_non_null(mkdtemp(world->top));
	(void)snprintf(world->first, sizeof(world->first), "%s/first", world->top);
	(void)snprintf(world->second, sizeof(world->second), "%s/second", world->top);
	assert_int_equal(mkdir(world->first, 0700), 0);
	assert_int_equal(mkdir(world->second, 0700), 0);
	world->dirs[0] = world->first;
	world->dirs[1] = world->second;
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;
	int rc = nftw(world->top, remove_entry, 8, FTW_DEPTH | FTW_PHYS);

	free(world);
	return rc;
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void expect_hook(struct world *world, const char *text, enum sbx_pam_hook wanted)
{
	struct sbx_err err = {0};
	enum sbx_pam_hook hook;

	put(world->first, "service", text);
	assert_int_equal(sbx_pam_stack_scan(world->dirs, "service", &hook, &err), 0);
	assert_int_equal(hook, wanted);
}

static void test_no_service(void **state)
{
	struct world *world = *state;
	struct sbx_err err = {0};
	enum sbx_pam_hook hook;

	assert_int_equal(sbx_pam_stack_scan(world->dirs, "absent", &hook, &err), 0);
	assert_int_equal(hook, SBX_PAM_NO_SERVICE);
}

static void test_missing(void **state)
{
	expect_hook(*state, "", SBX_PAM_MISSING);
	expect_hook(*state, "session required pam_unix.so\n", SBX_PAM_MISSING);
	expect_hook(*state, "#session required pam_sbx.so\n", SBX_PAM_MISSING);
	expect_hook(*state, "auth required pam_sbx.so\n", SBX_PAM_MISSING);
	expect_hook(*state, "session required pam_not_sbx.so\n", SBX_PAM_MISSING);
	expect_hook(*state, "session required pam_unix.so # pam_sbx.so\n", SBX_PAM_MISSING);
}

static void test_hooked(void **state)
{
	expect_hook(*state, "session required pam_sbx.so\n", SBX_PAM_HOOKED);
	expect_hook(*state, "session required pam_sbx.so", SBX_PAM_HOOKED);
	expect_hook(*state, "Session\tREQUISITE /lib/security/pam_sbx.so debug\n", SBX_PAM_HOOKED);
	expect_hook(*state, "session [success=ok default=die] pam_sbx.so\n", SBX_PAM_HOOKED);
	expect_hook(*state, "session \\\n required pam_sbx.so\n", SBX_PAM_HOOKED);
	/* One that counts is enough. */
	expect_hook(*state, "session optional pam_sbx.so\nsession required pam_sbx.so\n",
		    SBX_PAM_HOOKED);
}

static void test_optional(void **state)
{
	expect_hook(*state, "session optional pam_sbx.so\n", SBX_PAM_OPTIONAL);
	expect_hook(*state, "session sufficient pam_sbx.so\n", SBX_PAM_OPTIONAL);
	expect_hook(*state, "session [default=ignore] pam_sbx.so\n", SBX_PAM_OPTIONAL);
	expect_hook(*state, "session [default=die session_err=ignore] pam_sbx.so\n",
		    SBX_PAM_OPTIONAL);
	/* The dash: nothing is said, and nothing fails, if the module is absent. */
	expect_hook(*state, "-session required pam_sbx.so\n", SBX_PAM_OPTIONAL);
}

static void test_bypassed(void **state)
{
	expect_hook(*state, "session sufficient pam_unix.so\nsession required pam_sbx.so\n",
		    SBX_PAM_BYPASSED);
	expect_hook(*state, "session [success=done] pam_unix.so\nsession required pam_sbx.so\n",
		    SBX_PAM_BYPASSED);
	expect_hook(*state,
		    "session [success=1 default=ignore] pam_unix.so\nsession required pam_sbx.so\n",
		    SBX_PAM_BYPASSED);
	expect_hook(*state,
		    "session [default=2] pam_a.so\nsession required pam_b.so\n"
		    "session required pam_sbx.so\n",
		    SBX_PAM_BYPASSED);
}

/* As in Debian's common-session: the jump ends before our line. */
static void test_jump_that_ends_earlier(void **state)
{
	expect_hook(*state,
		    "session [default=1] pam_permit.so\nsession requisite pam_deny.so\n"
		    "session required pam_sbx.so\n",
		    SBX_PAM_HOOKED);
	/* Other types do not count. */
	expect_hook(*state, "auth sufficient pam_rootok.so\nsession required pam_sbx.so\n",
		    SBX_PAM_HOOKED);
}

static void test_includes(void **state)
{
	struct world *world = *state;

	put(world->second, "common", "session required pam_sbx.so\n");
	expect_hook(world, "@include common\n", SBX_PAM_HOOKED);
	expect_hook(world, "session include common\n", SBX_PAM_HOOKED);
	expect_hook(world, "session substack common\n", SBX_PAM_HOOKED);
	expect_hook(world, "auth include common\n", SBX_PAM_MISSING);
	/* The first directory wins. */
	put(world->first, "common", "session required pam_unix.so\n");
	expect_hook(world, "@include common\n", SBX_PAM_MISSING);
}

static void test_bad_includes(void **state)
{
	struct world *world = *state;
	struct sbx_err err = {0};
	enum sbx_pam_hook hook = SBX_PAM_HOOKED;

	put(world->first, "service", "@include absent\n");
	assert_int_equal(sbx_pam_stack_scan(world->dirs, "service", &hook, &err), -ENOENT);
	put(world->first, "service", "@include service\n");
	assert_int_equal(sbx_pam_stack_scan(world->dirs, "service", &hook, &err), -ELOOP);
	put(world->first, "service", "session include\n@include\n");
	assert_int_equal(sbx_pam_stack_scan(world->dirs, "service", &hook, &err), -EINVAL);
	assert_int_equal(hook, SBX_PAM_HOOKED); /* untouched */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_no_service, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_hooked, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_optional, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_bypassed, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_jump_that_ends_earlier, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_includes, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_bad_includes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
