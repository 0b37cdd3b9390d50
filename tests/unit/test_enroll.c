/* SPDX-License-Identifier: MIT */
/* What sbxctl enroll and sbxctl secret accept and refuse. */
#include "base/str.h"
#include "control/account.h"
#include "control/github.h"
#include "control/public_key.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ED25519 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF"

static void test_keys(void **state)
{
	static const char *const right[] = {
	    ED25519 "\n",
	    ED25519,
	    ED25519 " me@host with blanks\n",
	    "# comment\n\n" ED25519 "\n",
	    "command=\"echo ssh-rsa \\\" x\",no-pty " ED25519 " c\n",
	    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBAAAAA== x\n",
	};
	static const char *const wrong[] = {
	    "",
	    "# comment only\n",
	    "ssh-ed25519\n",
	    "ssh-ed25519 hello\n",
	    "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n",
	    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
	    "a b " ED25519 "\n",
	    ED25519 "\nrubbish\n",
	    ED25519 "\r\n",
	    "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cr3t\n",
	    "PuTTY-User-Key-File-3: ssh-ed25519\ns3cr3t\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		struct sbx_err err = {0};

		if (sbx_public_keys_check("k", right[i], strlen(right[i]), &err) < 0)
			fail_msg("refused '%s': %s", right[i], err.msg);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct sbx_err err = {0};

		if (sbx_public_keys_check("k", wrong[i], strlen(wrong[i]), &err) != -EINVAL ||
		    strstr(err.msg, "s3cr3t") != NULL)
			fail_msg("'%s': '%s'", wrong[i], err.msg);
	}
	assert_int_equal(sbx_public_keys_check("k", ED25519 "\n\0x", sizeof(ED25519) + 2, NULL),
			 -EINVAL);
}

static void test_uid_min(void **state)
{
	(void)state;
	assert_int_equal(sbx_login_defs_minimum("", "UID_MIN"), 1000);
	assert_int_equal(sbx_login_defs_minimum("# UID_MIN 7\nUID_MAX 60000\n", "UID_MIN"), 1000);
	assert_int_equal(sbx_login_defs_minimum("UID_MIN\t\t\t  500\n", "UID_MIN"), 500);
	assert_int_equal(sbx_login_defs_minimum("A b\n  UID_MIN 2000", "UID_MIN"), 2000);
	assert_int_equal(sbx_login_defs_minimum("UID_MIN x\nUID_MIN 99999999999\n", "UID_MIN"),
			 1000);
	assert_int_equal(sbx_login_defs_minimum("UID_MIN 500\nGID_MIN 600\n", "GID_MIN"), 600);
	assert_int_equal(sbx_login_defs_minimum("UID_MINIMUM 5\n", "UID_MIN"), 1000);
}

static void test_account_check(void **state)
{
	static const uid_t refused[] = {0, 1, 999, 65534};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(sbx_account_check("x", refused[i], "/nonexistent", NULL), -EPERM);
	assert_int_equal(sbx_account_check("x", 54321, "/nonexistent", NULL), 0);
	assert_int_equal(setenv("SUDO_UID", "54321", 1), 0);
	assert_int_equal(sbx_account_check("x", 54321, "/nonexistent", NULL), -EPERM);
	assert_int_equal(sbx_account_check("x", 54322, "/nonexistent", NULL), 0);
	assert_int_equal(unsetenv("SUDO_UID"), 0);
	assert_int_equal(setenv("DOAS_USER", "x", 1), 0);
	assert_int_equal(sbx_account_check("x", 54321, "/nonexistent", NULL), -EPERM);
	assert_int_equal(unsetenv("DOAS_USER"), 0);
}

static void expect_account(const char *json, const char *name, const char *email)
{
	struct sbx_github_account account = {0};
	struct sbx_err err = {0};

	if (sbx_github_account_parse(json, strlen(json), "github.com", &account, &err) < 0)
		fail_msg("%s: %s", json, err.msg);
	assert_string_equal(account.name, name);
	assert_string_equal(account.email, email);
	sbx_github_account_done(&account);
}

static void test_github_answer(void **state)
{
	static const char *const wrong[] = {
	    "",
	    "nonsense",
	    "[]",
	    "{}",
	    "{\"login\": \"o\"}",
	    "{\"id\": 1}",
	    "{\"login\": \"o\", \"id\": \"1\"}",
	    "{\"login\": \"a b\", \"id\": 1}",
	    "{\"login\": \"a>\\n\", \"id\": 1}",
	    "{\"login\": \"o\", \"id\": -1}",
	};

	(void)state;
	expect_account("{\"login\": \"octocat\", \"id\": 583231, \"name\": \"The Octocat\"}",
		       "The Octocat", "583231+octocat@users.noreply.github.com");
	expect_account("{\"login\": \"o-c\", \"id\": 1, \"name\": null}", "o-c",
		       "1+o-c@users.noreply.github.com");
	expect_account("{\"login\": \"bot[bot]\", \"id\": 2, \"name\": \"x <y>\"}", "bot[bot]",
		       "2+bot[bot]@users.noreply.github.com");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct sbx_github_account account = {0};

		if (sbx_github_account_parse(wrong[i], strlen(wrong[i]), "h", &account, NULL) !=
		    -EBADMSG)
			fail_msg("accepted %s", wrong[i]);
	}
}

static void test_github_urls(void **state)
{
	struct sbx_github_account account = {0};
	struct sbx_err err = {0};
	char *url = sbx_github_server_url("https://api.github.com");

	(void)state;
	assert_string_equal(url, "https://github.com");
	free(url);
	url = sbx_github_server_url("http://127.0.0.1:8080/api/v3");
	assert_string_equal(url, "http://127.0.0.1:8080");
	free(url);
	assert_null(sbx_github_server_url("https://example.com/"));
	/* Refused before anything is sent. */
	assert_int_equal(
	    sbx_github_account_lookup("http://example.com/api/v3", "h", "tok", &account, &err),
	    -EINVAL);
	assert_int_equal(sbx_github_account_lookup("file:///etc", "h", "tok", &account, &err),
			 -EINVAL);
	assert_int_equal(
	    sbx_github_account_lookup("https://127.0.0.1:1", "h", "s3cr3t\nX: y", &account, &err),
	    -EINVAL);
	assert_null(strstr(err.msg, "s3cr3t"));
	/* Nobody listens there. */
	assert_true(
	    sbx_github_account_lookup("https://127.0.0.1:1", "h", "s3cr3t", &account, &err) < 0);
	assert_null(strstr(err.msg, "s3cr3t"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys),	  cmocka_unit_test(test_uid_min),
	    cmocka_unit_test(test_account_check), cmocka_unit_test(test_github_answer),
	    cmocka_unit_test(test_github_urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
