/* SPDX-License-Identifier: MIT */
/* What is seen of an image; the host half of the facts is this machine's and not looked at. */
#include "sandbox/facts.h"

#include "tests/unit/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define FACTS __attribute__((cleanup(sbx_facts_freep))) struct sbx_facts

static struct sbx_facts *probe(const struct scratch *scratch)
{
	const size_t n_fds = scratch_open_fds();
	struct sbx_facts *facts = NULL;
	struct sbx_err err = {0};

	if (sbx_facts_probe(scratch->path, &facts, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(scratch_open_fds(), n_fds);
	return facts;
}

static void is(const struct sbx_facts *facts, const char *path, enum sbx_fact_kind kind,
	       const char *link_text)
{
	const struct sbx_fact *fact = sbx_fact_find(&facts->image, path);

	if (fact == NULL) {
		fail_msg("'%s' was not found", path);
		return;
	}
	assert_int_equal(fact->kind, kind);
	if (link_text == NULL)
		assert_null(fact->link_text);
	else
		assert_string_equal(fact->link_text, link_text);
}

static void test_image(void **state)
{
	const struct scratch *s = *state;
	FACTS *facts = NULL;

	scratch_directory(s, "usr", 0755);
	scratch_directory(s, "usr/bin", 0755);
	scratch_file(s, "usr/bin/bash", "x");
	scratch_link(s, "bin", "usr/bin");
	scratch_link(s, "lib", "/usr/lib");
	scratch_directory(s, "home", 0755);
	scratch_directory(s, "etc", 0755);
	scratch_file(s, "etc/shells", "x");
	scratch_file(s, "etc/shadow", "x");
	scratch_file(s, "etc/.shells", "x");
	scratch_file(s, "etc/python3.11", "x");
	scratch_file(s, "etc/new\nline", "x");
	scratch_link(s, "etc/os-release", "../usr/lib/os-release");
	scratch_directory(s, "etc/ssl", 0755);
	scratch_directory(s, "etc/ssl/certs", 0755);
	scratch_directory(s, "etc/ssl/private", 0700);
	scratch_directory(s, "etc/ssh", 0755);
	scratch_file(s, "etc/ssh/ssh_host_rsa_key", "x");
	scratch_fifo(s, "etc/motd");
	facts = probe(s);
	is(facts, "/usr", SBX_FACT_DIRECTORY, NULL);
	is(facts, "/bin", SBX_FACT_LINK, "usr/bin");
	is(facts, "/lib", SBX_FACT_LINK, "/usr/lib");
	is(facts, "/bin/bash", SBX_FACT_FILE, NULL);
	is(facts, "/etc/shells", SBX_FACT_FILE, NULL);
	is(facts, "/etc/python3.11", SBX_FACT_FILE, NULL);
	is(facts, "/etc/os-release", SBX_FACT_LINK, "../usr/lib/os-release");
	is(facts, "/etc/ssl/certs", SBX_FACT_DIRECTORY, NULL);
	/* Refused when it is copied, with a reason. */
	is(facts, "/etc/motd", SBX_FACT_FILE, NULL);
	assert_int_equal(facts->image.n_entries, 9);
}

/* An absolute link in an image means a path in the image, whatever the host has there. */
static void test_shell_behind_absolute_link(void **state)
{
	const struct scratch *s = *state;
	FACTS *facts = NULL;

	scratch_directory(s, "usr", 0755);
	scratch_directory(s, "usr/bin", 0755);
	scratch_link(s, "bin", "/usr/bin");
	facts = probe(s);
	assert_null(sbx_fact_find(&facts->image, "/bin/bash"));
	sbx_facts_free(facts);
	scratch_file(s, "usr/bin/bash", "x");
	facts = probe(s);
	assert_non_null(sbx_fact_find(&facts->image, "/bin/bash"));
}

static void test_shell_is_dangling(void **state)
{
	const struct scratch *s = *state;
	FACTS *facts = NULL;

	scratch_directory(s, "bin", 0755);
	scratch_link(s, "bin/bash", "/usr/local/bin/bash");
	facts = probe(s);
	assert_null(sbx_fact_find(&facts->image, "/bin/bash"));
}

static void test_empty_image(void **state)
{
	FACTS *facts = probe(*state);

	assert_int_equal(facts->image.n_entries, 0);
	assert_null(sbx_fact_find(&facts->image, "/usr"));
}

static void test_no_image(void **state)
{
	const struct scratch *s = *state;
	struct sbx_facts *facts = NULL;
	struct sbx_err err = {0};

	scratch_file(s, "f", "x");
	assert_int_equal(sbx_facts_probe(scratch_path(s, "absent"), &facts, &err), -ENOENT);
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(sbx_facts_probe(scratch_path(s, "f"), &facts, &err), -ENOTDIR);
	assert_null(facts);
	sbx_facts_free(NULL);
}

static void test_add_and_find(void **state)
{
	struct sbx_facts *facts = calloc(1, sizeof(*facts));
	char path[] = "/a00";

	(void)state;
	assert_non_null(facts);
	for (int i = 0; i < 100; i++) {
		path[2] = (char)('0' + i / 10);
		path[3] = (char)('0' + i % 10);
		assert_int_equal(sbx_fact_add(&facts->host, path, SBX_FACT_LINK, path), 0);
	}
	path[1] = 'b'; /* copies were taken */
	assert_int_equal(facts->host.n_entries, 100);
	assert_string_equal(sbx_fact_find(&facts->host, "/a63")->link_text, "/a63");
	assert_null(sbx_fact_find(&facts->host, "/a6"));
	assert_null(sbx_fact_find(&facts->host, "/a630"));
	assert_null(sbx_fact_find(&facts->image, "/a63"));
	sbx_facts_free(facts);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_image),
	    TEST(test_shell_behind_absolute_link),
	    TEST(test_shell_is_dangling),
	    TEST(test_empty_image),
	    TEST(test_no_image),
	    TEST(test_add_and_find),
	};

	return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
