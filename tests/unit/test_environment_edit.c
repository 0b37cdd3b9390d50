/* SPDX-License-Identifier: MIT */
/* Editing the store as text, and what a session's environment is composed of. */
#include "config/environment_edit.h"

#include "base/str.h"
#include "config/environment_file.h"
#include "config/git_credentials.h"
#include "config/session_environment.h"
#include "control/secret_input.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATE "2025-01-31T12:00:00Z"
#define LATER "2026-02-28T00:00:01Z"

/* ------------------------------------------------------------------ the text */

static char *set(const char *text, const char *name, const char *value, bool secret,
		 const char *date)
{
	const struct sbx_environment_change change = {
	    .name = name, .value = value, .date = date, .secret = secret};
	struct sbx_str out = {0};
	struct sbx_err err = {0};
	char *result;

	if (sbx_environment_text_set(text, strlen(text), &change, &out, &err) < 0)
		fail_msg("refused: %s", err.msg);
	assert_int_equal(sbx_str_take(&out, &result), 0);
	return result;
}

static void expect_set(const char *text, const char *name, bool secret, const char *wanted)
{
	char *result = set(text, name, "new", secret, NULL);

	assert_string_equal(result, wanted);
	free(result);
}

static const char by_hand[] = "# of the team\n"
			      "\n"
			      "[secret]\n"
			      "  A = 1\n"
			      "; about B\n"
			      "B.b64.0 = MQ\n"
			      "# in between\n"
			      "B.b64.1 = Mg\n"
			      "BB = 3\n"
			      "# about C\n"
			      "C=\"[env] D = 4\"\n"
			      "\n"
			      "# of all\n"
			      "[env]\n"
			      "E = 5\n"
			      "# the end\n";

static void test_replace(void **state)
{
	(void)state;
	expect_set(by_hand, "A", true,
		   "# of the team\n\n[secret]\nA = new\n; about B\nB.b64.0 = MQ\n# in between\n"
		   "B.b64.1 = Mg\nBB = 3\n# about C\nC=\"[env] D = 4\"\n\n# of all\n[env]\nE = 5\n"
		   "# the end\n");
	/* All pieces go, nobody's comments do. BB, which only begins like it, stays. */
	expect_set(by_hand, "B", true,
		   "# of the team\n\n[secret]\n  A = 1\n; about B\nB = new\n# in between\n"
		   "BB = 3\n# about C\nC=\"[env] D = 4\"\n\n# of all\n[env]\nE = 5\n"
		   "# the end\n");
}

static void test_new(void **state)
{
	(void)state;
	/* Behind the section's last entry; the comment below belongs to the next section. */
	expect_set(by_hand, "D", true,
		   "# of the team\n\n[secret]\n  A = 1\n; about B\nB.b64.0 = MQ\n# in between\n"
		   "B.b64.1 = Mg\nBB = 3\n# about C\nC=\"[env] D = 4\"\nD = new\n\n# of all\n"
		   "[env]\nE = 5\n# the end\n");
	expect_set("[env]\nE = 5\n", "D", true, "[env]\nE = 5\n\n[secret]\nD = new\n");
	expect_set("", "D", true, "[secret]\nD = new\n");
	expect_set("# only this\n", "D", false, "# only this\n\n[env]\nD = new\n");
	expect_set(" [secret] \n# c\n\n", "D", true, " [secret] \nD = new\n# c\n\n");
}

static void test_move(void **state)
{
	(void)state;
	expect_set(by_hand, "E", true,
		   "# of the team\n\n[secret]\n  A = 1\n; about B\nB.b64.0 = MQ\n# in between\n"
		   "B.b64.1 = Mg\nBB = 3\n# about C\nC=\"[env] D = 4\"\nE = new\n\n# of all\n"
		   "[env]\n# the end\n");
}

static void test_dates(void **state)
{
	char *first = set(by_hand, "A", "x", true, DATE);
	char *second = set(first, "A", "y", true, LATER);
	char date[SBX_ENVIRONMENT_DATE_BYTES] = "";
	struct sbx_str out = {0};

	(void)state;
	assert_non_null(strstr(first, "[secret]\n# sbxctl: A " DATE "\nA = x\n; about B\n"));
	assert_true(sbx_environment_text_date(first, strlen(first), "A", date));
	assert_string_equal(date, DATE);
	assert_non_null(strstr(second, "[secret]\n# sbxctl: A " LATER "\nA = y\n; about B\n"));
	assert_null(strstr(second, DATE));
	assert_false(sbx_environment_text_date(second, strlen(second), "B", date));
	assert_false(sbx_environment_text_date(second, strlen(second), "AA", date));
	sbx_environment_text_remove(second, strlen(second), "A", &out);
	assert_non_null(strstr(out.text, "[secret]\n; about B\n"));
	assert_null(strstr(out.text, LATER));
	sbx_str_done(&out);
	free(first);
	free(second);
}

static void test_values(void **state)
{
	static const char *const values[] = {
	    "",	  " x ",      "a#b;c=\"d'",   "\\",	    "one\ntwo\n", "{\"a\": [1]}\n",
	    "\t", "\xff\x01", "[env]\nE = 5", "caf\xc3\xa9"};
	static char big[65537];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	for (size_t i = 0; i <= sizeof(values) / sizeof(values[0]); i++) {
		const char *value = i < sizeof(values) / sizeof(values[0]) ? values[i] : big;
		char *text = set(by_hand, "NEW", value, true, DATE);
		struct sbx_environment *environment = NULL;
		struct sbx_err err = {0};

		if (sbx_environment_parse("e.ini", text, strlen(text), &environment, &err) < 0)
			fail_msg("value %zu: %s", i, err.msg);
		assert_int_equal(environment->n_variables, 6);
		assert_string_equal(environment->variables[4].name, "NEW");
		assert_string_equal(environment->variables[4].value, value);
		assert_true(environment->variables[4].secret);
		sbx_environment_free(environment);
		free(text);
	}
}

static void test_refused(void **state)
{
	static const char *const names[] = {"PATH", "LD_PRELOAD", "1A", "A-B", "", "BASH_ENV"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sbx_environment_change change = {
		    .name = names[i], .value = "s3cr3t", .secret = true};
		struct sbx_str out = {0};
		struct sbx_err err = {0};

		assert_int_equal(
		    sbx_environment_text_set(by_hand, strlen(by_hand), &change, &out, &err),
		    -EINVAL);
		assert_null(strstr(err.msg, "s3cr3t"));
		sbx_str_done(&out);
	}
}

static void test_input(void **state)
{
	(void)state;
	assert_int_equal(sbx_secret_length("abc\n", 4, false), 3);
	assert_int_equal(sbx_secret_length("abc\r\n", 5, false), 3);
	assert_int_equal(sbx_secret_length("abc", 3, false), 3);
	assert_int_equal(sbx_secret_length("abc\n", 4, true), 4);
	assert_int_equal(sbx_secret_length("a\nb\n", 4, false), 4);
	assert_int_equal(sbx_secret_length("abc\n\n", 5, false), 5);
	assert_int_equal(sbx_secret_length("\n", 1, false), 0);
	assert_int_equal(sbx_secret_length("", 0, false), 0);
	assert_int_equal(sbx_secret_length("a\r", 2, false), 2);
}

/* ------------------------------------------------------------------ a session */

static char home[] = "/home/agent";
static char path[] = "/usr/bin:/bin";
static char name[] = "agent";
static char *env_pass[] = {(char[]){"TERM"}, (char[]){"LC_*"}, (char[]){"GIT_*"}, NULL};

static char **make(const char *store_text, char *const *brought, bool git_credentials)
{
	const struct sbx_policy policy = {
	    .home = home, .path = path, .env_pass = env_pass, .git_credentials = git_credentials};
	const struct sbx_identity who = {.name = name, .uid = 3001};
	struct sbx_environment *store = NULL;
	struct sbx_err err = {0};
	char **env = NULL;

	if (store_text != NULL &&
	    sbx_environment_parse("e.ini", store_text, strlen(store_text), &store, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(
	    sbx_session_environment_make(&policy, &who, "/bin/bash", store, brought, &env, &err),
	    0);
	sbx_environment_free(store);
	return env;
}

static void expect(char **env, const char *variable, const char *value)
{
	const char *found = sbx_session_environment_get(env, variable);

	if (value == NULL)
		assert_null(found);
	else if (found == NULL || strcmp(found, value) != 0)
		fail_msg("%s is '%s', not '%s'", variable, found == NULL ? "(unset)" : found,
			 value);
}

static void test_compose(void **state)
{
	char *const brought[] = {
	    (char[]){"TERM=vt100"}, (char[]){"LC_ALL=C=D"},   (char[]){"LEAK=1"},
	    (char[]){"HOME=/root"}, (char[]){"LD_PRELOAD=x"}, (char[]){"=nameless"},
	    (char[]){"no value"},   (char[]){"LC_X="},	      NULL};
	char **env = make("[env]\nTERM = dumb\nEDITOR = vi\n", brought, true);

	(void)state;
	expect(env, "TERM", "dumb");
	expect(env, "LC_ALL", "C=D");
	expect(env, "LC_X", "");
	expect(env, "LEAK", NULL);
	expect(env, "LD_PRELOAD", NULL);
	expect(env, "HOME", "/home/agent");
	expect(env, "USER", "agent");
	expect(env, "LOGNAME", "agent");
	expect(env, "SHELL", "/bin/bash");
	expect(env, "PATH", "/usr/bin:/bin");
	expect(env, "XDG_RUNTIME_DIR", "/run/user/3001");
	expect(env, "EDITOR", "vi");
	expect(env, "GIT_CONFIG_COUNT", NULL);
	assert_int_equal(sbx_strv_length(env), 10);
	assert_int_equal(sbx_session_environment_set(&env, "TERM", "xterm"), 0);
	assert_int_equal(sbx_session_environment_set(&env, "TERMX", "y"), 0);
	expect(env, "TERM", "xterm");
	assert_int_equal(sbx_strv_length(env), 11);
	sbx_session_environment_free(env);
	env = make(NULL, NULL, true);
	assert_int_equal(sbx_strv_length(env), 6);
	sbx_session_environment_free(env);
}

static void test_git(void **state)
{
	static const char store[] = "[secret]\nGITHUB_TOKEN = ghp_1\n[env]\n"
				    "SBX_GIT_NAME = The Octocat\nSBX_GIT_EMAIL = 1+o@h\n";
	char **env = make(store, NULL, true);

	(void)state;
	expect(env, "GIT_CONFIG_COUNT", "4");
	expect(env, "GIT_CONFIG_KEY_0", "credential.https://github.com.helper");
	expect(env, "GIT_CONFIG_VALUE_0", "");
	expect(env, "GIT_CONFIG_KEY_1", "credential.https://github.com.helper");
	expect(env, "GIT_CONFIG_VALUE_1",
	       "!f() { test \"$1\" != get || printf 'username=x-access-token\\npassword=%s\\n' "
	       "\"$GITHUB_TOKEN\"; }; f");
	expect(env, "GIT_CONFIG_KEY_2", "user.name");
	expect(env, "GIT_CONFIG_VALUE_2", "The Octocat");
	expect(env, "GIT_CONFIG_KEY_3", "user.email");
	expect(env, "GIT_CONFIG_VALUE_3", "1+o@h");
	expect(env, "GIT_CONFIG_KEY_4", NULL);
	expect(env, "GH_HOST", NULL);
	expect(env, "GH_ENTERPRISE_TOKEN", NULL);
	sbx_session_environment_free(env);
	env = make(store, NULL, false);
	expect(env, "GITHUB_TOKEN", "ghp_1");
	expect(env, "GIT_CONFIG_COUNT", NULL);
	sbx_session_environment_free(env);
}

static void test_git_cases(void **state)
{
	char *const brought[] = {(char[]){"GIT_CONFIG_COUNT=1"}, (char[]){"GIT_CONFIG_KEY_0=a.b"},
				 (char[]){"GIT_CONFIG_VALUE_0=c"}, NULL};
	char *const odd[] = {(char[]){"GIT_CONFIG_COUNT=many"}, NULL};
	char **env = make("[secret]\nGITHUB_TOKEN = ghp_1\nGH_TOKEN = ghp_2\n", brought, true);

	(void)state;
	/* Behind what is configured that way already; GH_TOKEN before the other. */
	expect(env, "GIT_CONFIG_COUNT", "3");
	expect(env, "GIT_CONFIG_KEY_0", "a.b");
	assert_non_null(
	    strstr(sbx_session_environment_get(env, "GIT_CONFIG_VALUE_2"), "\"$GH_TOKEN\""));
	sbx_session_environment_free(env);
	env = make("[secret]\nGH_TOKEN = x\n", odd, true);
	expect(env, "GIT_CONFIG_COUNT", "many");
	expect(env, "GIT_CONFIG_KEY_0", NULL);
	sbx_session_environment_free(env);
	env = make("[secret]\nGH_TOKEN = x\n[env]\nGITHUB_SERVER_URL = https://ghe.example.com\n",
		   NULL, true);
	expect(env, "GIT_CONFIG_COUNT", "2");
	expect(env, "GIT_CONFIG_KEY_1", "credential.https://ghe.example.com.helper");
	expect(env, "GH_HOST", "ghe.example.com");
	expect(env, "GH_ENTERPRISE_TOKEN", "x");
	sbx_session_environment_free(env);
	/* A key with a line break, or no URL at all: git would refuse to run. */
	env = make("[secret]\nGH_TOKEN = x\n[env]\nGITHUB_SERVER_URL = nonsense\n", NULL, true);
	expect(env, "GIT_CONFIG_COUNT", NULL);
	sbx_session_environment_free(env);
	env = make("[secret]\nGH_TOKEN = \"\"\n", NULL, true);
	expect(env, "GIT_CONFIG_COUNT", NULL);
	sbx_session_environment_free(env);
}

static void test_host(void **state)
{
	static const struct {
		const char *url;
		const char *host;
	} rows[] = {
	    {"https://github.com", "github.com"},
	    {"http://127.0.0.1:80/x", "127.0.0.1"},
	    {"https://[::1]:8/", "[::1]"},
	    {"ftp://x", NULL},
	    {"https://", NULL},
	    {"https://a b", NULL},
	    {"https://a\nb", NULL},
	    {"https://user@h", NULL},
	    {"github.com", NULL},
	    {"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *host = sbx_url_host(rows[i].url);

		if (rows[i].host == NULL)
			assert_null(host);
		else
			assert_string_equal(host, rows[i].host);
		free(host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_replace), cmocka_unit_test(test_new),
	    cmocka_unit_test(test_move),    cmocka_unit_test(test_dates),
	    cmocka_unit_test(test_values),  cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_input),   cmocka_unit_test(test_compose),
	    cmocka_unit_test(test_git),	    cmocka_unit_test(test_git_cases),
	    cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
