/* SPDX-License-Identifier: MIT */
/* The parts of sbxsh that need no machine: its command line, its keys, its refusals. */
#include "base/str.h"
#include "sandbox/plan.h"
#include "shell/options.h"
#include "shell/request.h"
#include "shell/sha256.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 12

/* argv from literals, which main() may write to and literals may not be. */
struct words {
	char *argv[WORDS_MAX + 1];
	int argc;
};

static void make_words(struct words *words, const char *const *texts)
{
	*words = (struct words){0};
	for (size_t i = 0; i < WORDS_MAX && texts[i] != NULL; i++) {
		words->argv[i] = strdup(texts[i]);
		assert_non_null(words->argv[i]);
		words->argc++;
	}
}

static void words_done(struct words *words)
{
	for (int i = 0; i < words->argc; i++)
		free(words->argv[i]);
}

static void test_options(void **state)
{
	static const struct {
		const char *argv[WORDS_MAX];
		const char *first; /* of the rest; NULL: nothing is left */
		size_t n_rest;
		bool command;
		bool login;
		bool interactive;
		bool own;
	} rows[] = {
	    {{NULL}, NULL, 0, false, false, true, false},
	    {{"sbxsh"}, NULL, 0, false, false, true, false},
	    {{""}, NULL, 0, false, false, true, false},
	    {{"-sbxsh"}, NULL, 0, false, true, true, false},
	    {{"-"}, NULL, 0, false, true, true, false},
	    {{"sbxsh", "-c", "x"}, "-c", 2, false, false, false, false},
	    {{"sbxsh", "-lc", "x"}, "-lc", 2, false, false, false, false},
	    {{"sbxsh", "-ic", "x"}, "-ic", 2, false, false, true, false},
	    {{"sbxsh", "-c", "-i"}, "-c", 2, false, false, true, false}, /* options may follow */
	    {{"sbxsh", "-l"}, "-l", 1, false, false, true, false},
	    {{"sbxsh", "-s", "x"}, "-s", 2, false, false, true, false},
	    {{"sbxsh", "-"}, "-", 1, false, false, true, false},
	    {{"sbxsh", "script", "-i"}, "script", 2, false, false, false, false},
	    {{"sbxsh", "-o", "vi"}, "-o", 2, false, false, true, false},
	    {{"sbxsh", "-o", "vi", "script"}, "-o", 3, false, false, false, false},
	    {{"sbxsh", "--rcfile", "f"}, "--rcfile", 2, false, false, true, false},
	    {{"sbxsh", "--login"}, "--login", 1, false, false, true, false},
	    {{"sbxsh", "+x", "script"}, "+x", 2, false, false, false, false},
	    {{"sbxsh", "--", "ls", "--help"}, "ls", 2, true, false, false, false},
	    {{"sbxsh", "--no-network", "--", "--"}, "--", 1, true, false, false, true},
	    {{"sbxsh", "--no-network", "-c", "--bind"}, "-c", 2, false, false, false, true},
	    {{"sbxsh", "-c", "x", "--no-network"}, "-c", 3, false, false, false, false},
	    {{"sbxsh", "--bind", "--", "x"}, "x", 1, false, false, false, true},
	    {{"sbxsh", "--dry-run"}, NULL, 0, false, false, true, false},
	    /* not abbreviated, not joined to others, not in another case */
	    {{"sbxsh", "--dry"}, "--dry", 1, false, false, true, false},
	    {{"sbxsh", "--helpx"}, "--helpx", 1, false, false, true, false},
	    {{"sbxsh", "--BIND", "x"}, "--BIND", 2, false, false, false, false},
	    {{"sbxsh", "-help"}, "-help", 1, false, false, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_options options;
		struct words words;
		size_t n_rest = 0;

		make_words(&words, rows[i].argv);
		assert_int_equal(sbx_options_parse(words.argc, words.argv, &options, NULL), 0);
		while (options.rest[n_rest] != NULL)
			n_rest++;
		if (n_rest != rows[i].n_rest || options.command != rows[i].command ||
		    options.login != rows[i].login || options.interactive != rows[i].interactive ||
		    options.own != rows[i].own ||
		    (n_rest > 0 && strcmp(options.rest[0], rows[i].first) != 0))
			fail_msg("row %zu", i);
		sbx_options_done(&options);
		words_done(&words);
	}
}

static void test_option_values(void **state)
{
	static const char *const argv[] = {"sbxsh",	     "--bind",	    "/a:/b",
					   "--ro-bind=/c=d", "--memory=2G", "--bind=",
					   "--help",	     "--version",   NULL};
	struct sbx_options options;
	struct words words;

	(void)state;
	make_words(&words, argv);
	assert_int_equal(sbx_options_parse(words.argc, words.argv, &options, NULL), 0);
	assert_int_equal(options.n_folders, 3);
	assert_string_equal(options.folders[0].text, "/a:/b");
	assert_false(options.folders[0].read_only);
	assert_string_equal(options.folders[1].text, "/c=d");
	assert_true(options.folders[1].read_only);
	assert_string_equal(options.folders[2].text, "");
	assert_true(options.memory_max_bytes == (uint64_t)2 << 30);
	assert_true(options.help && options.version && options.own && !options.command);
	sbx_options_done(&options);
	words_done(&words);
}

static void test_options_refused(void **state)
{
	static const char *const rows[][5] = {
	    {"sbxsh", "--bind", NULL},
	    {"sbxsh", "--memory", NULL},
	    {"sbxsh", "--memory", "", NULL},
	    {"sbxsh", "--memory", "0", NULL},
	    {"sbxsh", "--memory", "1023K", NULL},
	    {"sbxsh", "--memory", "-1", NULL},
	    {"sbxsh", "--memory", "99999999999999999999", NULL},
	    {"sbxsh", "--memory=1 G", NULL},
	    {"sbxsh", "--no-network=yes", NULL},
	    {"sbxsh", "--help=", NULL},
	    {"sbxsh", "--", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_options options = {0};
		struct sbx_err err = {0};
		struct words words;

		make_words(&words, rows[i]);
		if (sbx_options_parse(words.argc, words.argv, &options, &err) != -EINVAL ||
		    err.msg[0] == '\0' || options.folders != NULL)
			fail_msg("row %zu: %s", i, err.msg);
		words_done(&words);
	}
}

static void test_shell_argv(void **state)
{
	static const struct {
		const char *argv0;
		const char *wanted;
	} rows[] = {
	    {"-sbxsh", "-bash"},
	    {"-x\ny/z", "-bash"},
	    {"sbxsh", "bash"},
	    {"", "bash"},
	    {"/usr/local/bin/sbxsh", "/bin/bash"},
	    {"./sbxsh", "/bin/bash"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const argv[] = {rows[i].argv0, "-c", "a b", "", NULL};
		sbx_autofree char **made = NULL;
		sbx_autofree char *name = NULL;
		struct sbx_options options;
		struct words words;

		make_words(&words, argv);
		assert_int_equal(sbx_options_parse(words.argc, words.argv, &options, NULL), 0);
		assert_int_equal(sbx_options_shell_argv(&options, "/bin/bash", &made, &name, NULL),
				 0);
		assert_string_equal(made[0], rows[i].wanted);
		assert_string_equal(made[1], "-c");
		assert_string_equal(made[2], "a b");
		assert_string_equal(made[3], "");
		assert_null(made[4]);
		sbx_options_done(&options);
		words_done(&words);
	}
}

static void test_directory_refused(void **state)
{
	static const struct {
		const char *directory;
		const char *home;
		bool refused;
	} rows[] = {
	    {"/home/u/project", "/home/u", false},
	    {"/home/u/.ssh-stuff", "/home/u", false},
	    {"/home/u/a/.ssh", "/home/u", false},
	    {"/home/user2", "/home/u", false},
	    {"/srv/x", "/home/u", false},
	    {"/tmp/x", "/home/u", false},
	    {"/", "/home/u", true},
	    {"/home", "/home/u", true},
	    {"/home/u", "/home/u", true},
	    {"/home/u/.ssh", "/home/u", true},
	    {"/home/u/.ssh/x", "/home/u", true},
	    {"/home/u/.config/systemd/user", "/home/u", true},
	    {"/home/u/.local/share/sbx/run", "/home/u", true},
	    {"/home/u/.gnupg", "/home/u", true},
	    {"/data", "/data/home/u", true},
	    {"/etc", "/home/u", true},
	    {"/etc/x", "/home/u", true},
	    {"/usr/src/linux", "/home/u", true},
	    {"/tmp", "/home/u", true},
	    {"/var", "/home/u", true},
	    {"/run/user/1000", "/home/u", true},
	    {"/proc/1/root", "/home/u", true},
	    {"/dev/shm/x", "/home/u", true},
	    {"/root", "/home/u", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((sbx_request_directory_refused(rows[i].directory, rows[i].home) != NULL) !=
		    rows[i].refused)
			fail_msg("'%s'", rows[i].directory);
	}
}

/* Vectors of FIPS 180-4 and lengths around the padding's edges (as sha256sum prints them). */
static void test_sha256(void **state)
{
	static const struct {
		size_t n; /* of 'a', unless text is given */
		const char *text;
		const char *hex;
	} rows[] = {
	    {0, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	    {3, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	    {56, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	    {55, NULL, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
	    {63, NULL, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
	    {64, NULL, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
	    {119, NULL, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
	    {128, NULL, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char bytes[128];
		char hex[SBX_SHA256_HEX_SIZE];

		memset(bytes, 'a', sizeof(bytes));
		if (rows[i].text != NULL)
			memcpy(bytes, rows[i].text, rows[i].n);
		sbx_sha256_hex(bytes, rows[i].n, hex);
		assert_string_equal(hex, rows[i].hex);
	}
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		n++;
	return n;
}

/* What a plan without root has, and above all has not. */
static void test_plan_without_root(void **state)
{
	char root[] = "/";
	char home[] = "/home/u";
	char shell[] = "/bin/sh";
	char name[] = "u";
	const struct sbx_identity identity = {
	    .name = name, .uid = 1000, .gid = 1001, .gecos = name, .home = home};
	const struct sbx_policy policy = {
	    .workspace = home, .home = home, .root = root, .shell = shell, .tmp_size_bytes = 4096};
	struct sbx_facts facts = {.unprivileged = true};
	sbx_autostr struct sbx_str text = {0};
	struct sbx_plan *plan = NULL;

	(void)state;
	assert_int_equal(sbx_fact_add(&facts.host, "/var/log", SBX_FACT_DIRECTORY, NULL), 0);
	assert_int_equal(sbx_fact_add(&facts.host, "/run/dbus", SBX_FACT_DIRECTORY, NULL), 0);
	assert_int_equal(sbx_plan_make(&policy, &identity, &facts, &plan, NULL), 0);
	assert_true(sbx_plan_unprivileged(plan));
	assert_true((plan->namespaces & CLONE_NEWUSER) != 0);
	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct sbx_op *op = &plan->ops[i];
		bool made = op->kind == SBX_OP_TMPFS || op->kind == SBX_OP_WORKSPACE;

		if (made && (op->uid != 1000 || op->gid != 1001))
			fail_msg("'%s' is owned by an id that does not exist there", op->target);
		if (op->kind == SBX_OP_DEVPTS && op->gid != 1001)
			fail_msg("the group of terminals does not exist there");
		if (strncmp(op->target, "/run/host", 9) == 0)
			fail_msg("there is a pocket");
	}
	sbx_plan_print(plan, &text);
	assert_int_equal(text.rc, 0);
	assert_int_equal(count(text.text, "namespaces: user mnt pid ipc uts cgroup\n"), 1);
	assert_int_equal(count(text.text, "/run/dbus"), 0);
	sbx_plan_free(plan);
	facts.unprivileged = false;
	assert_int_equal(sbx_plan_make(&policy, &identity, &facts, &plan, NULL), 0);
	assert_false(sbx_plan_unprivileged(plan));
	sbx_plan_free(plan);
	for (size_t i = 0; i < facts.host.n_entries; i++)
		free(facts.host.entries[i].path);
	free(facts.host.entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_options),	      cmocka_unit_test(test_option_values),
	    cmocka_unit_test(test_options_refused),   cmocka_unit_test(test_shell_argv),
	    cmocka_unit_test(test_directory_refused), cmocka_unit_test(test_sha256),
	    cmocka_unit_test(test_plan_without_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
