/* SPDX-License-Identifier: MIT */
/* The environment store: what is read, what is refused, and that all values come back. */
#include "config/environment_file.h"

#include "base/str.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIB64 ((size_t)65536)

static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
			  "MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n"
			  "-----END PRIVATE KEY-----\n";
static const char json[] = "{\n\t\"type\": \"service_account\",\n\t\"key\": \"a\\nb\\\\c\",\n"
			   "\t\"n\": [1, 2.5e-3, null]\n}";

static struct sbx_environment *parse(const char *text)
{
	struct sbx_environment *environment = NULL;
	struct sbx_err err = {0};

	if (sbx_environment_parse("e.ini", text, strlen(text), &environment, &err) < 0)
		fail_msg("refused: %s", err.msg);
	return environment;
}

static void expect_refused(const char *text, const char *start)
{
	struct sbx_environment *environment = NULL;
	struct sbx_err err = {0};
	int rc = sbx_environment_parse("e.ini", text, strlen(text), &environment, &err);

	if (rc != -EINVAL || environment != NULL || strncmp(err.msg, start, strlen(start)) != 0 ||
	    strstr(err.msg, "s3cr3t") != NULL)
		fail_msg("%d, '%s' instead of '%s...' for\n%.200s", rc, err.msg, start, text);
}

static void test_read(void **state)
{
	static const char text[] = "# by hand\n"
				   "[secret]\n"
				   "GITHUB_TOKEN = ghp_AbC123\n"
				   "Api_Key=a=b=\n"
				   "api_key = 100% {x} (y) <z> $HOME `w` ~ !\n"
				   "API_KEY = \xc3\xa9t\xc3\xa9\n"
				   "QUOTED = \"a#b;c=\\\"d'\\\\n \"\n"
				   "EMPTY = \"\"\n"
				   "LINES.b64.0 = b25l\n"
				   "; in between\n"
				   "LINES.b64.1 = CnR3bw\n"
				   "[env]\n"
				   "_x1 = two words\tand a tab\n"
				   "A.b64.0 = QQ\n"
				   "AB.b64.0 = QUI\n";
	static const struct {
		const char *name;
		const char *value;
		bool secret;
	} rows[] = {
	    {"GITHUB_TOKEN", "ghp_AbC123", true},
	    {"Api_Key", "a=b=", true},
	    {"api_key", "100% {x} (y) <z> $HOME `w` ~ !", true},
	    {"API_KEY", "\xc3\xa9t\xc3\xa9", true},
	    {"QUOTED", "a#b;c=\"d'\\n ", true},
	    {"EMPTY", "", true},
	    {"LINES", "one\ntwo", true},
	    {"_x1", "two words\tand a tab", false},
	    {"A", "A", false},
	    {"AB", "AB", false},
	};
	struct sbx_environment *environment = parse(text);

	(void)state;
	assert_int_equal(environment->n_variables, sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < environment->n_variables; i++) {
		assert_string_equal(environment->variables[i].name, rows[i].name);
		assert_string_equal(environment->variables[i].value, rows[i].value);
		assert_int_equal(environment->variables[i].secret, rows[i].secret);
	}
	sbx_environment_free(environment);
	sbx_environment_free(NULL);
}

static void test_nothing(void **state)
{
	static const char *const rows[] = {"", "# x\n", "[secret]\n", "[env]\n[secret]\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_environment *environment = parse(rows[i]);

		assert_int_equal(environment->n_variables, 0);
		sbx_environment_free(environment);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const char *start;
	} rows[] = {
	    {"[secrets]\nA = s3cr3t\n", "e.ini:1: a section is [secret] or [env]"},
	    {"[Secret]\nA = s3cr3t\n", "e.ini:1: a section is"},
	    {"[env]\n[default]\n", "e.ini:2: a section is"},
	    {"[secret]\nA = x\n[secret]\nB = y\n", "e.ini:3: the section was begun"},
	    {"A = s3cr3t\n", "e.ini:1: stands before"},
	    {"[secret]\nA = s3cr3t\nA = x\n", "e.ini:3: the key was given in line 2"},
	    {"[secret]\nA = s3cr3t\n[env]\nA = x\n", "e.ini:4: the variable was given"},
	    {"[secret]\nA = s3cr3t\nA.b64.0 = eA\n", "e.ini:3: the variable was given"},
	    {"[secret]\nA.b64.0 = eA\nA = s3cr3t\n", "e.ini:3: the variable was given"},
	    {"[secret]\n1A = s3cr3t\n", "e.ini:2: a variable's name is made of"},
	    {"[secret]\nA-B = s3cr3t\n", "e.ini:2: a variable's name is made of"},
	    {"[secret]\n.b64.0 = eA\n", "e.ini:2: a variable's name is made of"},
	    {"[secret]\n-A = s3cr3t\n", "e.ini:2: a variable's name is made of"},
	    {"[env]\nPATH = /s3cr3t\n", "e.ini:2: this variable is set by sbx"},
	    {"[env]\nLD_PRELOAD = x\n", "e.ini:2: this variable is set by sbx"},
	    {"[env]\nLD_.b64.0 = eA\n", "e.ini:2: this variable is set by sbx"},
	    {"[secret]\nA =\n", "e.ini:2: there is no value"},
	    {"[secret]\nA = s3cr3t # c\n", "e.ini:2: ';' or '#'"},
	    {"[secret]\nA = 's3cr3t'\n", "e.ini:2: single quote"},
	    {"[secret]\nA = s3cr3t \"x\"\n", "e.ini:2: double quotes must enclose"},
	    {"[secret]\nA = \"s3cr3t\" \"x\"\n", "e.ini:2: double quotes must enclose"},
	    {"[secret]\nA.b64 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64. = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64.1 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64.00 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64.x = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64.-0 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64.0.1 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.B64.0 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.hex.0 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.0 = eA\n", "e.ini:2: not NAME, nor"},
	    {"[secret]\nA.b64.0 = eA\nA.b64.2 = eA\n", "e.ini:3: the variable was given"},
	    {"[secret]\nA.b64.0 = eA\nB = x\nA.b64.1 = eA\n", "e.ini:4: the variable was given"},
	    {"[secret]\nA.b64.0 = eA\n[env]\nA.b64.1 = eA\n", "e.ini:4: the variable was given"},
	    {"[secret]\nA.b64.0 = eA==\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = e\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = eB\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = eHl\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = a+/b\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = eA eA\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = \"eA\"\n", "e.ini:2: the pieces are not base64url"},
	    {"[secret]\nA.b64.0 = AAAA\n", "e.ini:2: the pieces are not base64url without "
					   "padding, or hold a NUL"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refused(rows[i].text, rows[i].start);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool valid;
		bool reserved;
	} rows[] = {
	    {"A", true, false},
	    {"_", true, false},
	    {"a1_B", true, false},
	    {"", false, false},
	    {"1", false, false},
	    {"A B", false, false},
	    {"A=B", false, false},
	    {"A\n", false, false},
	    {"\xc3\xa9", false, false},
	    {"PATH", true, true},
	    {"Path", true, false},
	    {"PATH_X", true, false},
	    {"HOME", true, true},
	    {"USER", true, true},
	    {"LOGNAME", true, true},
	    {"SHELL", true, true},
	    {"IFS", true, true},
	    {"BASH_ENV", true, true},
	    {"ENV", true, false},
	    {"LD_PRELOAD", true, true},
	    {"LD_", true, true},
	    {"LDFLAGS", true, false},
	    {"MALLOC_TRACE", true, true},
	    {"GCONV_PATH", true, true},
	    {"GLIBC_TUNABLES", true, true},
	    {"XDG_RUNTIME_DIR", true, true},
	    {"TMPDIR", true, false},
	    {"NODE_OPTIONS", true, false},
	    /* 128 and 129 bytes */
	    {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	     true, false},
	    {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	     false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_str out = {0};
		struct sbx_err err = {0};
		int rc = sbx_environment_entry_add(&out, rows[i].name, "v", &err);

		if (sbx_variable_name_valid(rows[i].name) != rows[i].valid ||
		    sbx_variable_name_reserved(rows[i].name) != rows[i].reserved)
			fail_msg("name '%s'", rows[i].name);
		assert_int_equal(rc, rows[i].valid && !rows[i].reserved ? 0 : -EINVAL);
		sbx_str_done(&out);
	}
	assert_true(sbx_variable_pattern_reserved("*"));
	assert_true(sbx_variable_pattern_reserved("???_ENV")); /* LD__ENV */
	assert_false(sbx_variable_pattern_reserved("X??_ENV"));
	assert_true(sbx_variable_pattern_reserved("????_ENV"));
	assert_true(sbx_variable_pattern_reserved("MALLOC_X"));
	assert_true(sbx_variable_pattern_reserved("*_X")); /* LD_X */
	assert_false(sbx_variable_pattern_reserved("LC_*"));
	assert_false(sbx_variable_pattern_reserved("SSH_*"));
}

/* What one entry looks like in the file. */
static void test_forms(void **state)
{
	static const struct {
		const char *value;
		const char *lines;
	} rows[] = {
	    {"simple", "K = simple\n"},
	    {"two words = ok", "K = two words = ok\n"},
	    {"", "K = \"\"\n"},
	    {" x", "K = \" x\"\n"},
	    {"x ", "K = \"x \"\n"},
	    {"a#b;c=\"d'", "K = \"a#b;c=\\\"d'\"\n"},
	    {"a\\", "K = \"a\\\\\"\n"},
	    {"one\ntwo", "K.b64.0 = b25lCnR3bw\n"},
	    {"tab\tx", "K.b64.0 = dGFiCXg\n"},
	    {"\xff\xfe", "K.b64.0 = __4\n"},
	    {"\xfb\xef", "K.b64.0 = --8\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_str out = {0};

		assert_int_equal(sbx_environment_entry_add(&out, "K", rows[i].value, NULL), 0);
		assert_int_equal(out.rc, 0);
		assert_string_equal(out.text, rows[i].lines);
		sbx_str_done(&out);
	}
}

static void round_trip(const char *value)
{
	struct sbx_environment *environment;
	struct sbx_str out = {0};

	sbx_str_add(&out, "[secret]\nbefore = 1\n");
	assert_int_equal(sbx_environment_entry_add(&out, "My_KEY", value, NULL), 0);
	sbx_str_add(&out, "after = 2\n");
	assert_int_equal(out.rc, 0);
	environment = parse(out.text);
	assert_int_equal(environment->n_variables, 3);
	assert_string_equal(environment->variables[1].name, "My_KEY");
	assert_int_equal(strlen(environment->variables[1].value), strlen(value));
	assert_memory_equal(environment->variables[1].value, value, strlen(value));
	assert_string_equal(environment->variables[2].value, "2");
	sbx_environment_free(environment);
	sbx_str_done(&out);
}

static void test_round_trip(void **state)
{
	static const char *const rows[] = {
	    "x",
	    "",
	    " ",
	    "  both  ",
	    "a#b;c=\"d'",
	    "\\",
	    "\\\\",
	    "\"",
	    "\"\"",
	    "'",
	    "''",
	    "\\n",
	    "=",
	    "==",
	    "[section]",
	    "; comment",
	    "# comment",
	    "%41%",
	    "100%",
	    "\n",
	    "\n\n",
	    "\r\n",
	    "\t",
	    "a\\\nb",
	    "a \\",
	    "$(id)`id`${HOME}",
	    "\x01\x7f",
	    "\xff\x80\xc3\xa9",
	    "\xef\xbb\xbf",
	    "K = v",
	    "none",
	    pem,
	    json,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		round_trip(rows[i]);
	for (int c = 1; c < 256; c++) {
		const char text[] = {'a', (char)c, 'b', (char)c, '\0'};

		round_trip(text);
		round_trip(text + 1);
		round_trip(text + 3);
	}
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* All lengths around the places where lines and pieces are cut, up to the longest. */
static void test_round_trip_long(void **state)
{
	static const size_t lengths[] = {479,  480,  509,	510,	   511,	 512,  999,
					 1000, 1001, 1019,	1020,	   1021, 4095, 4096,
					 4097, 9999, KIB64 - 2, KIB64 - 1, KIB64};
	uint32_t seed = 20240229;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *value = malloc(lengths[i] + 1);

		assert_non_null(value);
		for (size_t k = 0; k < lengths[i]; k++)
			value[k] = (char)(1 + next_random(&seed) % 255);
		value[lengths[i]] = '\0';
		round_trip(value);
		for (size_t k = 0; k < lengths[i]; k++)
			value[k] = "\"\\;#' a"[next_random(&seed) % 7];
		round_trip(value);
		free(value);
	}
}

static void test_too_long(void **state)
{
	struct sbx_str out = {0};
	struct sbx_err err = {0};
	char *value = malloc(KIB64 + 2);

	(void)state;
	assert_non_null(value);
	memset(value, 'v', KIB64 + 1);
	value[KIB64 + 1] = '\0';
	assert_int_equal(sbx_environment_entry_add(&out, "K", value, &err), -E2BIG);
	assert_int_equal(out.length, 0);
	free(value);

	/* 65537 bytes, spelled by hand: 21845 groups of 3, and 2 more bytes. */
	sbx_str_add(&out, "[env]\n");
	for (int i = 0; i < 21845; i++)
		sbx_str_addf(&out, i % 500 == 0 ? "%sK.b64.%d = dnZ2" : "dnZ2", i == 0 ? "" : "\n",
			     i / 500);
	sbx_str_add(&out, "dnY\n");
	expect_refused(out.text, "e.ini:2: the value is longer than 64 KiB");
	sbx_str_done(&out);
}

static void test_many(void **state)
{
	struct sbx_environment *environment;
	struct sbx_str out = {0};

	(void)state;
	sbx_str_add(&out, "[env]\n");
	for (int i = 0; i < SBX_ENVIRONMENT_VARIABLES_MAX; i++)
		sbx_str_addf(&out, "V%d = %d\n", i, i);
	environment = parse(out.text);
	assert_int_equal(environment->n_variables, SBX_ENVIRONMENT_VARIABLES_MAX);
	assert_string_equal(environment->variables[999].value, "999");
	sbx_environment_free(environment);
	sbx_str_add(&out, "more = 1\n");
	expect_refused(out.text, "e.ini:1002: too many variables");
	sbx_str_done(&out);
}

static void test_absent(void **state)
{
	char name[] = "agent";
	const struct sbx_identity who = {.name = name, .uid = 1000, .gid = 1000};
	struct sbx_environment *environment = NULL;
	struct sbx_err err = {0};

	(void)state;
	assert_int_equal(sbx_environment_load("/nonexistent/env.d", &who, &environment, &err), 0);
	assert_int_equal(environment->n_variables, 0);
	sbx_environment_free(environment);
	assert_int_equal(sbx_environment_load("env.d", &who, &environment, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_read),
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_forms),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_round_trip_long),
	    cmocka_unit_test(test_too_long),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests_name("config_environment", tests, NULL, NULL);
}
