/* SPDX-License-Identifier: MIT */
/* The strict scan, and that libiniparser gives back exactly what it accepted. */
#include "config/ini_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Stands where a value would be; must never appear in a message or on stderr. */
#define MARK "s3cr3t"

struct bad {
	const char *what;
	const char *text;
	size_t length; /* 0: up to the NUL */
	unsigned int line;
	const char *reason; /* a part of it */
};

static const struct bad bad_files[] = {
    {"NUL in a value", "[a]\nk = " MARK "\0x\n", 17, 2, "control character"},
    {"NUL in a comment", "# x\0y\n", 6, 1, "control character"},
    {"NUL after the last line", "[a]\nk = v\n\0", 11, 3, "no newline"},
    {"CRLF", "[a]\r\nk = " MARK "\r\n", 0, 1, "carriage return"},
    {"CR alone", "[a]\nk = " MARK "\rb = c\n", 0, 2, "carriage return"},
    {"byte order mark", "\xef\xbb\xbf[a]\n", 0, 1, "byte order mark"},
    {"Latin-1", "[a]\nk = " MARK "\xe9\n", 0, 2, "UTF-8"},
    {"Latin-1 in a comment", "# caf\xe9\n", 0, 1, "UTF-8"},
    {"overlong slash", "[a]\nk = " MARK "\xc0\xaf\n", 0, 2, "UTF-8"},
    {"overlong in three bytes", "[a]\nk = \xe0\x80\xaf\n", 0, 2, "UTF-8"},
    {"surrogate", "[a]\nk = \xed\xa0\x80\n", 0, 2, "UTF-8"},
    {"beyond Unicode", "[a]\nk = \xf4\x90\x80\x80\n", 0, 2, "UTF-8"},
    {"cut character", "[a]\nk = \xe2\x82\n", 0, 2, "UTF-8"},
    {"C1 control", "[a]\nk = \xc2\x85\n", 0, 2, "UTF-8"},
    {"escape", "[a]\nk = \x1b[31m" MARK "\n", 0, 2, "control character"},
    {"delete", "[a]\nk = " MARK "\x7f\n", 0, 2, "control character"},
    {"vertical tab", "[a]\n\vk = " MARK "\n", 0, 2, "control character"},
    {"no newline at the end", "[a]\nk = " MARK, 0, 2, "cut off"},
    {"no newline after a section", "[a]", 0, 1, "cut off"},
    {"no newline after a comment", "# " MARK, 0, 1, "cut off"},
    {"backslash at the end", "[a]\nk = " MARK "\\\nb = c\n", 0, 2, "backslash"},
    {"backslash at the end of a comment", "[a]\n# " MARK " \\\nk = v\n", 0, 2, "backslash"},
    {"backslash at the end of a section", "[a]\\\n", 0, 1, "backslash"},
    {"backslash outside of quotes", "[a]\nk = " MARK "\\n\n", 0, 2, "backslash"},
    {"missing ]", "[a\nk = " MARK "\n", 0, 1, "[name]"},
    {"missing [", "a]\nk = " MARK "\n", 0, 1, "neither"},
    {"comment after a section", "[a] # " MARK "\n", 0, 1, "[name]"},
    {"text after a section", "[a] k = v ]\n", 0, 1, "name is made of"},
    {"two sections in a line", "[a][b]\n", 0, 1, "name is made of"},
    {"blank in a section", "[a b]\n", 0, 1, "name is made of"},
    {"blanks at the ends of a section", "[ a ]\n", 0, 1, "name is made of"},
    {"empty section", "[]\n", 0, 1, "name is made of"},
    {"lone bracket", "[\n", 0, 1, "[name]"},
    {"colon in a section", "[a:b]\n", 0, 1, "name is made of"},
    {"UTF-8 in a section", "[\xc3\xa9]\n", 0, 1, "name is made of"},
    {"section twice", "[a]\nk = v\n[b]\n[a]\n", 0, 4, "begun in line 1"},
    {"key twice", "[a]\nk = v\nl = w\nk = " MARK "\n", 0, 4, "given in line 2"},
    {"before the first section", "# x\nk = " MARK "\n[a]\n", 0, 2, "before the first section"},
    {"no equals sign", "[a]\n" MARK "\n", 0, 2, "neither"},
    {"no key", "[a]\n = " MARK "\n", 0, 2, "a key is made of"},
    {"blank in a key", "[a]\n" MARK " b = c\n", 0, 2, "a key is made of"},
    {"tab in a key", "[a]\n" MARK "\tb = c\n", 0, 2, "a key is made of"},
    {"quoted key", "[a]\n\"" MARK "\" = c\n", 0, 2, "a key is made of"},
    {"colon in a key", "[a]\nk:" MARK " = c\n", 0, 2, "a key is made of"},
    {"percent in a key", "[a]\n%61 = " MARK "\n", 0, 2, "a key is made of"},
    {"plus in a key", "[a]\n+k = " MARK "\n", 0, 2, "a key is made of"},
    {"tilde in a key", "[a]\nk~1 = " MARK "\n", 0, 2, "a key is made of"},
    {"UTF-8 in a key", "[a]\n\xc3\xa9 = " MARK "\n", 0, 2, "a key is made of"},
    {"export", "[a]\nexport K=" MARK "\n", 0, 2, "a key is made of"},
    {"no value", "[a]\nk =\n", 0, 2, "no value"},
    {"blanks for a value", "[a]\nk = \t \n", 0, 2, "no value"},
    {"comment after a value", "[a]\nk = " MARK " # c\n", 0, 2, "'#'"},
    {"; after a value", "[a]\nk = " MARK ";c\n", 0, 2, "';'"},
    {"comment after quotes", "[a]\nk = \"" MARK "\" # c\n", 0, 2, "'#'"},
    {"comment for a value", "[a]\nk = # " MARK "\n", 0, 2, "'#'"},
    {"single quotes", "[a]\nk = '" MARK "'\n", 0, 2, "single quote"},
    {"apostrophe", "[a]\nk = it's " MARK "\n", 0, 2, "single quote"},
    {"quote not closed", "[a]\nk = \"" MARK "\n", 0, 2, "closing double quote"},
    {"quote not opened", "[a]\nk = " MARK "\"\n", 0, 2, "closing double quote"},
    {"quote over two lines", "[a]\nk = \"" MARK "\nx\"\n", 0, 2, "closing double quote"},
    {"three quotes", "[a]\nk = \"" MARK "\"\"\n", 0, 2, "closing double quote"},
    {"unknown escape", "[a]\nk = \"" MARK "\\n\"\n", 0, 2, "a backslash is written"},
    {"closing quote escaped", "[a]\nk = \"" MARK "\\\"\n", 0, 2, "closing double quote"},
};

static char *long_file(size_t value_length, size_t *ret_length)
{
	static const char head[] = "[a]\nk=";
	size_t length = strlen(head) + value_length + 1;
	char *text = malloc(length + 1);

	assert_non_null(text);
	memcpy(text, head, strlen(head));
	memset(text + strlen(head), 'x', value_length);
	text[length - 1] = '\n';
	text[length] = '\0';
	*ret_length = length;
	return text;
}

static void expect_refused(const struct bad *bad)
{
	struct sbx_ini *ini = NULL;
	struct sbx_err err = {0};
	size_t length = bad->length == 0 ? strlen(bad->text) : bad->length;
	char place[32];
	int rc;

	(void)snprintf(place, sizeof(place), "file.ini:%u: ", bad->line);
	rc = sbx_ini_parse("file.ini", bad->text, length, &ini, &err);
	if (rc != -EINVAL || ini != NULL || strncmp(err.msg, place, strlen(place)) != 0 ||
	    strstr(err.msg, bad->reason) == NULL || strstr(err.msg, MARK) != NULL)
		fail_msg("%s: %d, '%s'", bad->what, rc, err.msg);
}

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++)
		expect_refused(&bad_files[i]);
}

/* libiniparser prints lines that it does not understand: it must never see one. */
static void test_silent(void **state)
{
	int memory = memfd_create("stderr", MFD_CLOEXEC);
	int saved = dup(STDERR_FILENO);
	struct sbx_ini *ini = NULL;
	off_t printed;

	(void)state;
	assert_true(memory >= 0 && saved >= 0);
	(void)fflush(stderr);
	assert_true(dup2(memory, STDERR_FILENO) >= 0);
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
		const struct bad *bad = &bad_files[i];
		size_t length = bad->length == 0 ? strlen(bad->text) : bad->length;

		(void)sbx_ini_parse("f", bad->text, length, &ini, NULL); /* see test_refused() */
	}
	(void)fflush(stderr);
	printed = lseek(memory, 0, SEEK_END);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
	(void)close(memory);
	assert_int_equal(printed, 0);
	assert_null(ini);
}

static void test_line_length(void **state)
{
	static const struct {
		size_t value_length; /* the line has two bytes more */
		bool accepted;
	} rows[] = {{1020, true}, {1021, true},	 {1022, true},	  {1023, true},
		    {4093, true}, {4094, false}, {1048576, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_ini *ini = NULL;
		struct sbx_err err = {0};
		size_t length;
		char *text = long_file(rows[i].value_length, &length);
		int rc = sbx_ini_parse("file.ini", text, length, &ini, &err);

		if (rows[i].accepted) {
			assert_int_equal(rc, 0);
			assert_int_equal(strlen(ini->entries[0].value), rows[i].value_length);
			assert_memory_equal(ini->entries[0].value, text + 6, rows[i].value_length);
		} else {
			assert_int_equal(rc, -EINVAL);
			assert_string_equal(err.msg,
					    "file.ini:2: the line is longer than 4095 bytes");
		}
		sbx_ini_free(ini);
		free(text);
	}
}

static struct sbx_ini *parse(const char *text)
{
	struct sbx_ini *ini = NULL;
	struct sbx_err err = {0};

	if (sbx_ini_parse("file.ini", text, strlen(text), &ini, &err) < 0)
		fail_msg("refused: '%s'", err.msg);
	return ini;
}

static void test_nothing(void **state)
{
	static const char *const rows[] = {"", "\n", "\n\n \t\n", "# x\n", "  ; x\n\t# \xc3\xa9\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_ini *ini = parse(rows[i]);

		assert_int_equal(ini->n_sections, 0);
		assert_int_equal(ini->n_entries, 0);
		sbx_ini_free(ini);
	}
	sbx_ini_free(NULL);
}

static void test_accepted(void **state)
{
	static const char text[] = "# comment ; with ' \" [ = marks\n"
				   "[default]\n"
				   "\tkey\t=\tvalue \n"
				   "Key=a=b\n"
				   "KEY = \xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80\n"
				   "K.0 = \"a;b#c'd\"\n"
				   "K-1 = \"\\\"\\\\\"\n"
				   "k_2 = a\tb  c\n"
				   "q = \"\"\n"
				   "p = 100% %41 %%\n"
				   "\n"
				   "[@Group.Name-1$]\n"
				   "key = [x]\n"
				   "[Default]\n"
				   "[_]\n"
				   "key = \"]\"";
	static const struct {
		const char *section;
		unsigned int line;
		const char *key;
		const char *value;
	} rows[] = {
	    {"default", 3, "key", "value"},
	    {"default", 4, "Key", "a=b"},
	    {"default", 5, "KEY", "\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80"},
	    {"default", 6, "K.0", "\"a;b#c'd\""},
	    {"default", 7, "K-1", "\"\\\"\\\\\""},
	    {"default", 8, "k_2", "a\tb  c"},
	    {"default", 9, "q", "\"\""},
	    {"default", 10, "p", "100% %41 %%"},
	    {"@Group.Name-1$", 13, "key", "[x]"},
	    {"_", 16, "key", "\"]\""},
	};
	char with_newline[sizeof(text) + 1];
	struct sbx_ini *ini;

	(void)state;
	(void)snprintf(with_newline, sizeof(with_newline), "%s\n", text);
	ini = parse(with_newline);
	assert_int_equal(ini->n_sections, 4);
	assert_string_equal(ini->sections[2].name, "Default");
	assert_int_equal(ini->sections[2].line, 14);
	assert_int_equal(ini->n_entries, sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < ini->n_entries; i++) {
		const struct sbx_ini_entry *entry = &ini->entries[i];

		assert_string_equal(ini->sections[entry->section].name, rows[i].section);
		assert_int_equal(entry->line, rows[i].line);
		assert_string_equal(entry->key, rows[i].key);
		assert_string_equal(entry->value, rows[i].value);
	}
	sbx_ini_free(ini);
}

/* Every byte that may stand in a value comes through libiniparser unharmed, whatever is beside it.
 */
static void test_bytes(void **state)
{
	(void)state;
	for (int c = 0x20; c < 0x7f; c++) {
		char text[64];
		char value[16];
		struct sbx_ini *ini;

		if (c == '"' || c == '\\')
			(void)snprintf(value, sizeof(value), "\"\\%c%%\\%c\"", c, c);
		else
			(void)snprintf(value, sizeof(value), "\"%c%%%c\"", c, c);
		(void)snprintf(text, sizeof(text), "[s]\nk = %s\n", value);
		ini = parse(text);
		assert_string_equal(ini->entries[0].value, value);
		sbx_ini_free(ini);
	}
}

static void test_long_names(void **state)
{
	struct sbx_ini *ini;
	char name[202];
	char text[640];

	(void)state;
	memset(name, 'A', sizeof(name) - 1);
	name[200] = '\0';
	(void)snprintf(text, sizeof(text), "[%s]\n%s = v\n", name, name);
	ini = parse(text);
	assert_string_equal(ini->entries[0].key, name);
	assert_string_equal(ini->entries[0].value, "v");
	sbx_ini_free(ini);

	name[200] = 'A';
	name[201] = '\0';
	(void)snprintf(text, sizeof(text), "[%s]\n", name);
	expect_refused(&(struct bad){"section", text, 0, 1, "name is made of"});
	(void)snprintf(text, sizeof(text), "[a]\n%s = v\n", name);
	expect_refused(&(struct bad){"key", text, 0, 2, "a key is made of"});
}

/* As many as are allowed, and one more. */
static void test_counts(void **state)
{
	struct sbx_str text = {0};
	struct sbx_ini *ini;

	(void)state;
	sbx_str_add(&text, "[s]\n");
	for (int i = 0; i < SBX_INI_ENTRIES_MAX; i++)
		sbx_str_addf(&text, "k%d = %d\n", i, i);
	ini = parse(text.text);
	assert_int_equal(ini->n_entries, SBX_INI_ENTRIES_MAX);
	assert_string_equal(ini->entries[4095].value, "4095");
	sbx_ini_free(ini);
	sbx_str_add(&text, "more = v\n");
	expect_refused(&(struct bad){"entries", text.text, 0, 4098, "too many"});
	sbx_str_done(&text);

	for (int i = 0; i < SBX_INI_SECTIONS_MAX; i++)
		sbx_str_addf(&text, "[s%d]\n", i);
	ini = parse(text.text);
	assert_int_equal(ini->n_sections, SBX_INI_SECTIONS_MAX);
	sbx_ini_free(ini);
	sbx_str_add(&text, "[more]\n");
	expect_refused(&(struct bad){"sections", text.text, 0, 1025, "too many"});
	sbx_str_done(&text);
}

static void test_words(void **state)
{
	static const struct {
		const char *value;
		int rc;
		const char *words[4];
	} rows[] = {
	    {"one", 0, {"one"}},
	    {"a\t b   c", 0, {"a", "b", "c"}},
	    {"\"a b\" c", 0, {"a b", "c"}},
	    {"\"\"", 0, {""}},
	    {"\"a \\\"b\\\" \\\\\" c", 0, {"a \"b\" \\", "c"}},
	    {"a\"b\"", -EINVAL, {NULL}},
	    {"\"a\"b", -EINVAL, {NULL}},
	    {"\"a\"\"b\"", -EINVAL, {NULL}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char **words = NULL;

		assert_int_equal(sbx_ini_words(rows[i].value, &words), rows[i].rc);
		for (size_t k = 0; k < 4 && rows[i].words[k] != NULL; k++) {
			assert_true(k < sbx_strv_length(words));
			assert_string_equal(words[k], rows[i].words[k]);
			assert_true(rows[i].words[k + 1] != NULL || words[k + 1] == NULL);
		}
		sbx_strv_free(words);
	}
}

static void test_unquote(void **state)
{
	static const struct {
		const char *value;
		const char *text; /* NULL: refused */
	} rows[] = {
	    {"plain text", "plain text"},
	    {"\" a \"", " a "},
	    {"\"\"", ""},
	    {"\"a#b;c=\\\"d'\"", "a#b;c=\"d'"},
	    {"\"\\\\n\"", "\\n"},
	    {"say \"x\"", NULL},
	    {"\"x\" y", NULL},
	    {"\"x\"\"y\"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;
		int rc = sbx_ini_unquote(rows[i].value, &text);

		assert_int_equal(rc, rows[i].text == NULL ? -EINVAL : 0);
		if (rows[i].text != NULL)
			assert_string_equal(text, rows[i].text);
		free(text);
	}
}

static void test_decoded(void **state)
{
	static const char *const bad[] = {"%",	"%4", "%4g", "%a0",	" ",
					  "\"", "\\", ";",   "\xc3\xa9"};
	struct sbx_str text = {0};

	(void)state;
	assert_int_equal(sbx_ini_add_decoded(&text, "a%20b%FF%25"), 0);
	assert_string_equal(text.text, "a b\xff%");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sbx_ini_add_decoded(&text, bad[i]), -EINVAL);
	sbx_str_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refused),	cmocka_unit_test(test_silent),
	    cmocka_unit_test(test_line_length), cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_accepted),	cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_long_names),	cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_words),	cmocka_unit_test(test_unquote),
	    cmocka_unit_test(test_decoded),
	};

	return cmocka_run_group_tests_name("config_ini", tests, NULL, NULL);
}
