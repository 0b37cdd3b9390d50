/* SPDX-License-Identifier: MIT */
/* The policy file: every key, the order of sections, defaults, and what is refused. */
#include "config/policy_file.h"

#include "base/str.h"
#include "config/policy_keys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static char agent_name[] = "agent";
static char agent_home[] = "/home/agent";
static char group_one[] = "agent";
static char group_two[] = "students";
static char group_three[] = "night";
static struct sbx_group agent_groups[] = {
    {1000, group_one}, {2001, group_two}, {2002, group_three}};
static const struct sbx_identity agent = {
    .name = agent_name,
    .uid = 1000,
    .gid = 1000,
    .home = agent_home,
    .groups = agent_groups,
    .n_groups = 3,
};

static int try_parse(const char *text, const struct sbx_identity *who,
		     struct sbx_policy **ret_policy, struct sbx_err *err)
{
	return sbx_policy_parse("p.ini", text, strlen(text), who, ret_policy, err);
}

static struct sbx_policy *parse(const char *text)
{
	struct sbx_policy *policy = NULL;
	struct sbx_err err = {0};

	if (try_parse(text, &agent, &policy, &err) < 0)
		fail_msg("refused: %s\n%s", err.msg, text);
	return policy;
}

static void expect_refused(const char *text, const struct sbx_identity *who, const char *start,
			   const char *reason)
{
	struct sbx_policy *policy = NULL;
	struct sbx_err err = {0};
	int rc = try_parse(text, who, &policy, &err);

	if (rc >= 0 || policy != NULL || err.code != -rc ||
	    strncmp(err.msg, start, strlen(start)) != 0 || strstr(err.msg, reason) == NULL)
		fail_msg("%d, '%s' instead of '%s...%s' for\n%s", rc, err.msg, start, reason, text);
}

static void test_defaults(void **state)
{
	static const char *const env_pass[] = {"TERM", "COLORTERM", "LANG",  "LC_*",
					       "TZ",   "NO_COLOR",  "SSH_*", "DISPLAY"};
	struct sbx_policy *policy = parse("");

	(void)state;
	assert_string_equal(policy->workspace, "/var/lib/sbx/agent");
	assert_string_equal(policy->home, "/home/agent");
	assert_string_equal(policy->root, "/");
	assert_string_equal(policy->shell, "/bin/bash");
	assert_int_equal(policy->n_folders, 0);
	assert_int_equal(policy->memory_max_bytes, 4 * GIB);
	assert_int_equal(policy->memory_high_bytes, SBX_UNLIMITED);
	assert_int_equal(policy->swap_max_bytes, 0);
	assert_int_equal(policy->tasks_max, 4096);
	assert_int_equal(policy->cpu_max_percent, SBX_UNLIMITED);
	assert_int_equal(policy->tmp_size_bytes, GIB);
	assert_int_equal(policy->network, SBX_NETWORK_HOST);
	assert_false(policy->user_namespaces);
	assert_int_equal(policy->linger_s, 0);
	assert_int_equal(sbx_strv_length(policy->env_pass), 8);
	for (size_t i = 0; i < 8; i++)
		assert_string_equal(policy->env_pass[i], env_pass[i]);
	assert_string_equal(policy->path, "/home/agent/.local/bin:/home/agent/.cargo/bin:/home/"
					  "agent/go/bin:/usr/local/bin:/usr/bin:/bin");
	assert_int_equal(policy->landlock, SBX_LANDLOCK_PREFER);
	assert_true(policy->git_credentials);
	sbx_policy_free(policy);
	sbx_policy_free(NULL);
}

/* --- One key at a time --------------------------------------------------------------------- */

static const struct {
	const char *statement;
	size_t offset;
	uint64_t expected;
} good_numbers[] = {
    {"memory_max = 16M", offsetof(struct sbx_policy, memory_max_bytes), 16 * MIB},
    {"memory_max = 16777216", offsetof(struct sbx_policy, memory_max_bytes), 16 * MIB},
    {"memory_max = 16384K", offsetof(struct sbx_policy, memory_max_bytes), 16 * MIB},
    {"memory_max = 2T", offsetof(struct sbx_policy, memory_max_bytes), 2048 * GIB},
    {"memory_max = \"2G\"", offsetof(struct sbx_policy, memory_max_bytes), 2 * GIB},
    {"memory_max = none", offsetof(struct sbx_policy, memory_max_bytes), SBX_UNLIMITED},
    {"memory_max = 1048576T", offsetof(struct sbx_policy, memory_max_bytes), (uint64_t)1 << 60},
    {"memory_high = 16M", offsetof(struct sbx_policy, memory_high_bytes), 16 * MIB},
    {"memory_high = none", offsetof(struct sbx_policy, memory_high_bytes), SBX_UNLIMITED},
    {"swap_max = 0", offsetof(struct sbx_policy, swap_max_bytes), 0},
    {"swap_max = 1", offsetof(struct sbx_policy, swap_max_bytes), 1},
    {"swap_max = 1G", offsetof(struct sbx_policy, swap_max_bytes), GIB},
    {"swap_max = none", offsetof(struct sbx_policy, swap_max_bytes), SBX_UNLIMITED},
    {"tasks_max = 16", offsetof(struct sbx_policy, tasks_max), 16},
    {"tasks_max = 4194304", offsetof(struct sbx_policy, tasks_max), 4194304},
    {"tasks_max = none", offsetof(struct sbx_policy, tasks_max), SBX_UNLIMITED},
    {"cpu_max = 1%", offsetof(struct sbx_policy, cpu_max_percent), 1},
    {"cpu_max = 200%", offsetof(struct sbx_policy, cpu_max_percent), 200},
    {"cpu_max = 819200%", offsetof(struct sbx_policy, cpu_max_percent), 819200},
    {"cpu_max = none", offsetof(struct sbx_policy, cpu_max_percent), SBX_UNLIMITED},
    {"tmp_size = 1M", offsetof(struct sbx_policy, tmp_size_bytes), MIB},
    {"tmp_size = 64G", offsetof(struct sbx_policy, tmp_size_bytes), 64 * GIB},
    {"linger = 0", offsetof(struct sbx_policy, linger_s), 0},
    {"linger = 600", offsetof(struct sbx_policy, linger_s), 600},
    {"linger = 31622400", offsetof(struct sbx_policy, linger_s), 31622400},
    {"linger = forever", offsetof(struct sbx_policy, linger_s), SBX_LINGER_FOREVER},
};

static void test_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good_numbers) / sizeof(good_numbers[0]); i++) {
		struct sbx_policy *policy;
		uint64_t found;
		char text[128];

		(void)snprintf(text, sizeof(text), "[default]\n%s\n", good_numbers[i].statement);
		policy = parse(text);
		memcpy(&found, (const char *)policy + good_numbers[i].offset, sizeof(found));
		if (found != good_numbers[i].expected)
			fail_msg("%s gave %llu", good_numbers[i].statement,
				 (unsigned long long)found);
		sbx_policy_free(policy);
	}
}

static const struct {
	const char *statement;
	size_t offset;
	const char *expected;
} good_texts[] = {
    {"workspace = /srv/agents/%u", offsetof(struct sbx_policy, workspace), "/srv/agents/agent"},
    {"workspace = /srv/%u/%u.d", offsetof(struct sbx_policy, workspace), "/srv/agent/agent.d"},
    {"workspace = \"/srv/my work\"", offsetof(struct sbx_policy, workspace), "/srv/my work"},
    {"workspace = /srv/\xc3\xa9", offsetof(struct sbx_policy, workspace), "/srv/\xc3\xa9"},
    {"workspace = \"/srv/a;b#c'd\\\"e\\\\f\"", offsetof(struct sbx_policy, workspace),
     "/srv/a;b#c'd\"e\\f"},
    {"workspace = HOME", offsetof(struct sbx_policy, workspace), "/home/agent"},
    {"workspace = /home/agent", offsetof(struct sbx_policy, workspace), "/home/agent"},
    {"workspace = /var/lib/sbx/other", offsetof(struct sbx_policy, workspace),
     "/var/lib/sbx/other"},
    {"workspace = /usrlocal", offsetof(struct sbx_policy, workspace), "/usrlocal"},
    {"home = /work", offsetof(struct sbx_policy, home), "/work"},
    {"home = /home/u/agent", offsetof(struct sbx_policy, home), "/home/u/agent"},
    {"home = /srv/..agent/.x", offsetof(struct sbx_policy, home), "/srv/..agent/.x"},
    {"root = /", offsetof(struct sbx_policy, root), "/"},
    {"root = /var/lib/machines/debian", offsetof(struct sbx_policy, root),
     "/var/lib/machines/debian"},
    {"shell = /usr/bin/zsh", offsetof(struct sbx_policy, shell), "/usr/bin/zsh"},
    {"path = /bin", offsetof(struct sbx_policy, path), "/bin"},
    {"path = ~", offsetof(struct sbx_policy, path), "/home/agent"},
    {"path = ~/bin:/usr/bin:~/.x/~y", offsetof(struct sbx_policy, path),
     "/home/agent/bin:/usr/bin:/home/agent/.x/~y"},
    {"path = /opt/%u/bin:/usr/bin", offsetof(struct sbx_policy, path), "/opt/agent/bin:/usr/bin"},
    {"home = /work\npath = ~/bin", offsetof(struct sbx_policy, path), "/work/bin"},
    {"path = ~/bin\nhome = /work", offsetof(struct sbx_policy, path), "/work/bin"},
};

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good_texts) / sizeof(good_texts[0]); i++) {
		struct sbx_policy *policy;
		const char *found;
		char text[256];

		(void)snprintf(text, sizeof(text), "[agent]\n%s\n", good_texts[i].statement);
		policy = parse(text);
		memcpy(&found, (const char *)policy + good_texts[i].offset, sizeof(found));
		assert_string_equal(found, good_texts[i].expected);
		sbx_policy_free(policy);
	}
}

static void test_choices(void **state)
{
	struct sbx_policy *policy = parse("[default]\nnetwork = none\nuser_namespaces = allow\n"
					  "landlock = require\n");

	(void)state;
	assert_int_equal(policy->network, SBX_NETWORK_NONE);
	assert_true(policy->user_namespaces);
	assert_int_equal(policy->landlock, SBX_LANDLOCK_REQUIRE);
	sbx_policy_free(policy);
	policy = parse("[default]\nnetwork = host\nuser_namespaces = deny\nlandlock = "
		       "off\ngit_credentials = off\n");
	assert_false(policy->git_credentials);
	assert_int_equal(policy->network, SBX_NETWORK_HOST);
	assert_false(policy->user_namespaces);
	assert_int_equal(policy->landlock, SBX_LANDLOCK_OFF);
	sbx_policy_free(policy);
	policy = parse("[default]\nlandlock = prefer\n");
	assert_int_equal(policy->landlock, SBX_LANDLOCK_PREFER);
	sbx_policy_free(policy);
}

static void expect_folder(const struct sbx_folder *folder, const char *source, const char *target,
			  bool read_only, bool optional)
{
	assert_string_equal(folder->source, source);
	assert_string_equal(folder->target, target);
	assert_int_equal(folder->read_only, read_only);
	assert_int_equal(folder->optional, optional);
}

static void test_folders(void **state)
{
	struct sbx_policy *policy =
	    parse("[default]\n"
		  "read_write = /srv/build ?/srv/x:/data/x\n"
		  "read_only = \"?/srv/my data:/data/my data\" /srv/%u /etc/krb5.conf "
		  "/srv/a:/home/agent/a\n");

	(void)state;
	assert_int_equal(policy->n_folders, 6);
	expect_folder(&policy->folders[0], "/srv/build", "/srv/build", false, false);
	expect_folder(&policy->folders[1], "/srv/x", "/data/x", false, true);
	expect_folder(&policy->folders[2], "/srv/my data", "/data/my data", true, true);
	expect_folder(&policy->folders[3], "/srv/agent", "/srv/agent", true, false);
	expect_folder(&policy->folders[4], "/etc/krb5.conf", "/etc/krb5.conf", true, false);
	expect_folder(&policy->folders[5], "/srv/a", "/home/agent/a", true, false);
	sbx_policy_free(policy);

	/* The source may be anything of the host's; where it appears is what matters. */
	policy = parse("[default]\nread_only = /:/host /proc:/host-proc\n");
	assert_int_equal(policy->n_folders, 2);
	expect_folder(&policy->folders[0], "/", "/host", true, false);
	sbx_policy_free(policy);
}

static void test_lists(void **state)
{
	struct sbx_policy *policy = parse("[default]\nenv_pass = FOO B?R_* _x1\n");

	(void)state;
	assert_int_equal(sbx_strv_length(policy->env_pass), 3);
	assert_string_equal(policy->env_pass[0], "FOO");
	assert_string_equal(policy->env_pass[1], "B?R_*");
	assert_string_equal(policy->env_pass[2], "_x1");
	sbx_policy_free(policy);
	policy = parse("[default]\nenv_pass = none\nread_only = none\nread_write = none\n");
	assert_int_equal(sbx_strv_length(policy->env_pass), 0);
	assert_int_equal(policy->n_folders, 0);
	sbx_policy_free(policy);
}

/* Statements that are refused in line 2, after [default]. */
static const struct {
	const char *statement;
	const char *reason;
} bad_statements[] = {
    {"colour = red", "unknown key; known are: workspace home root shell read_only"},
    {"Memory_max = 1G", "unknown key"},
    {"memory-max = 1G", "unknown key"},
    {"memory_max = 1G 2G", "memory_max: takes one word"},
    {"memory_max = 16777215", "memory_max: not between 16777216 and"},
    {"memory_max = 16383K", "memory_max: not between"},
    {"memory_max = 0", "memory_max: not between"},
    {"memory_max = 1048577T", "memory_max: not between"},
    {"memory_max = 99999999999999999999", "memory_max: not between"},
    {"memory_max = 18446744073709551615", "memory_max: not between"},
    {"memory_max = 4 G", "memory_max: takes one word"},
    {"memory_max = 4g", "memory_max: not a size"},
    {"memory_max = 4GB", "memory_max: not a size"},
    {"memory_max = 4P", "memory_max: not a size"},
    {"memory_max = 1.5G", "memory_max: not a size"},
    {"memory_max = -1", "memory_max: not a size"},
    {"memory_max = +1G", "memory_max: not a size"},
    {"memory_max = 0x10000000", "memory_max: not a size"},
    {"memory_max = unlimited", "memory_max: not a size"},
    {"memory_max = None", "memory_max: not a size"},
    {"memory_max = \"\"", "memory_max: not a size"},
    {"memory_max = 50%", "memory_max: not a size"},
    {"memory_high = 15M", "memory_high: not between"},
    {"memory_high = max", "memory_high: not a size"},
    {"swap_max = forever", "swap_max: not a size"},
    {"swap_max = 1048577T", "swap_max: not between"},
    {"tasks_max = 15", "tasks_max: not between 16 and 4194304"},
    {"tasks_max = 4194305", "tasks_max: not between"},
    {"tasks_max = 4K", "tasks_max: not a number"},
    {"tasks_max = many", "tasks_max: not a number, or none"},
    {"cpu_max = 200", "cpu_max: not a percentage"},
    {"cpu_max = %", "cpu_max: not a percentage"},
    {"cpu_max = 0%", "cpu_max: not between 1 and"},
    {"cpu_max = 819201%", "cpu_max: not between"},
    {"cpu_max = 50%%", "cpu_max: not a percentage"},
    {"cpu_max = 1.5%", "cpu_max: not a percentage"},
    {"tmp_size = 1023K", "tmp_size: not between"},
    {"tmp_size = none", "tmp_size: not a size"},
    {"linger = -1", "linger: not a number"},
    {"linger = 31622401", "linger: not between"},
    {"linger = none", "linger: not a number, or forever"},
    {"linger = 10s", "linger: not a number"},
    {"network = private", "network: not one of: host, none"},
    {"network = Host", "network: not one of"},
    {"network = \"\"", "network: not one of"},
    {"user_namespaces = yes", "user_namespaces: not one of: deny, allow"},
    {"git_credentials = on", "git_credentials: not one of: off, auto"},
    {"landlock = on", "landlock: not one of: off, prefer, require"},
    {"workspace = work", "workspace: not an absolute path"},
    {"workspace = ~/work", "workspace: not an absolute path"},
    {"workspace = home", "workspace: not an absolute path"},
    {"workspace = \"\"", "workspace: there is no path"},
    {"workspace = /", "workspace: this is a directory of the system"},
    {"workspace = /etc", "a directory of the system"},
    {"workspace = /etc/sbx/work", "a directory of the system"},
    {"workspace = /usr", "a directory of the system"},
    {"workspace = /usr/local/work", "a directory of the system"},
    {"workspace = /bin", "a directory of the system"},
    {"workspace = /home", "a directory of the system"},
    {"workspace = /root", "a directory of the system"},
    {"workspace = /var", "a directory of the system"},
    {"workspace = /var/lib", "a directory of the system"},
    {"workspace = /var/lib/sbx", "a directory of the system"},
    {"workspace = /proc/self/cwd", "a directory of the system"},
    {"workspace = /sys/fs/cgroup", "a directory of the system"},
    {"workspace = /dev/shm", "a directory of the system"},
    {"workspace = /run/user/1000", "a directory of the system"},
    {"workspace = /tmp", "a directory of the system"},
    {"workspace = /boot/x", "a directory of the system"},
    {"workspace = /srv/../etc", "'.' and '..'"},
    {"workspace = /srv/..", "'.' and '..'"},
    {"workspace = /srv/./x", "'.' and '..'"},
    {"workspace = /.", "'.' and '..'"},
    {"workspace = //srv", "'//'"},
    {"workspace = /srv//x", "'//'"},
    {"workspace = /srv/x/", "'/' at the end"},
    {"workspace = //", "'//'"},
    {"workspace = /srv/a:b", "a ':' in it"},
    {"workspace = /srv/%h", "'%' may only be used as %u"},
    {"workspace = /srv/%%", "'%' may only be used as %u"},
    {"workspace = /srv/%", "'%' may only be used as %u"},
    {"workspace = /srv/%U", "'%' may only be used as %u"},
    {"workspace = /srv/my work", "workspace: takes one word"},
    {"workspace = /srv/\"my work\"", "workspace: double quotes may only enclose a whole word"},
    {"home = /", "a directory of the system"},
    {"home = /etc/x", "a directory of the system"},
    {"home = /run/x", "a directory of the system"},
    {"home = /srv/a:b", "a ':' in it"},
    {"home = relative", "not an absolute path"},
    {"home = HOME", "not an absolute path"},
    {"root = /etc", "a directory of the system"},
    {"root = image", "not an absolute path"},
    {"root = /srv/image/", "'/' at the end"},
    {"shell = bash", "shell: not an absolute path"},
    {"shell = /", "shell: not the path of a program"},
    {"shell = /bin/", "'/' at the end"},
    {"shell = /usr/local/bin/sbxsh", "would start itself"},
    {"shell = /bin/bash -l", "shell: takes one word"},
    {"read_only = srv", "read_only: not an absolute path"},
    {"read_only = /srv/*", "read_only: wildcards are not expanded"},
    {"read_write = /srv/[a-z]:/x", "read_write: wildcards are not expanded"},
    {"read_only = \"\"", "read_only: there is no path"},
    {"read_only = ?", "read_only: there is no path"},
    {"read_only = ?"
     "?/srv" /* not a trigraph */,
     "read_only: not an absolute path"},
    {"read_only = :/x", "there is no path"},
    {"read_only = /srv:", "there is no path"},
    {"read_only = /srv:x", "not an absolute path"},
    {"read_only = /srv:/x:/y", "a ':' in it"},
    {"read_only = /srv none", "not an absolute path"},
    {"read_only = /srv:/", "hide a system directory"},
    {"read_only = /", "hide a system directory"},
    {"read_only = /etc", "hide a system directory"},
    {"read_only = /srv:/usr", "hide a system directory"},
    {"read_only = /srv:/run", "hide a system directory"},
    {"read_only = /srv:/etc/passwd", "hide a part of the sandbox"},
    {"read_only = /srv:/proc", "hide a part of the sandbox"},
    {"read_only = /proc/1", "hide a part of the sandbox"},
    {"read_only = /dev/kvm", "hide a part of the sandbox"},
    {"read_only = /sys", "hide a part of the sandbox"},
    {"read_write = /srv:/run/host/x", "read_write: the target would hide a part of the sandbox"},
    {"read_write = /srv:/run/sbx/inside", "hide a part of the sandbox"},
    {"read_write = /srv /srv/..", "'.' and '..'"},
    {"read_only = /srv:/home/agent", "read_only: a target would hide the home"},
    {"read_write = /srv/x:/home/agent", "read_write: a target would hide the home"},
    {"read_write = /srv/a /srv/b:/srv/a", "read_write: two folders have the same target"},
    {"env_pass = *", "env_pass: would let in"},
    {"env_pass = TERM L*", "would let in"},
    {"env_pass = LD_*", "would let in"},
    {"env_pass = LD_X", "would let in"},
    {"env_pass = ?D_PRELOAD", "would let in"},
    {"env_pass = PATH", "would let in"},
    {"env_pass = P?TH", "would let in"},
    {"env_pass = H*", "would let in"},
    {"env_pass = BASH_ENV", "would let in"},
    {"env_pass = A,B", "a variable's name is made of"},
    {"env_pass = [A-Z]", "a variable's name is made of"},
    {"env_pass = A=1", "a variable's name is made of"},
    {"env_pass = \"\"", "a variable's name is made of"},
    {"path = bin:/usr/bin", "path: not an absolute path"},
    {"path = /usr/bin:", "path: an empty element"},
    {"path = :/usr/bin", "an empty element"},
    {"path = /usr/bin::/bin", "an empty element"},
    {"path = \"\"", "an empty element"},
    {"path = /usr/bin:.", "not an absolute path"},
    {"path = ~root/bin", "not an absolute path"},
    {"path = ~/../x", "'.' and '..'"},
    {"path = ~/", "'/' at the end"},
    {"path = /usr/bin:/bin/", "'/' at the end"},
    {"path = /usr/bin /bin", "path: takes one word"},
};

static void test_refused_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_statements) / sizeof(bad_statements[0]); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "[default]\n%s\n", bad_statements[i].statement);
		expect_refused(text, &agent, "p.ini:2: ", bad_statements[i].reason);
	}
}

/* A key that no row above tries would have no test at all. */
static void test_every_key_is_tested(void **state)
{
	(void)state;
	for (size_t k = 0; k < sbx_policy_n_keys; k++) {
		const char *name = sbx_policy_keys[k].name;
		size_t n = 0;

		for (size_t i = 0; i < sizeof(bad_statements) / sizeof(bad_statements[0]); i++) {
			if (strncmp(bad_statements[i].statement, name, strlen(name)) == 0 &&
			    bad_statements[i].statement[strlen(name)] == ' ')
				n++;
		}
		if (n == 0)
			fail_msg("no bad value for %s", name);
		assert_true(sbx_policy_key_find(name) == &sbx_policy_keys[k]);
		assert_true(strlen(sbx_policy_keys[k].doc) > 10);
	}
	assert_int_equal(sbx_policy_n_keys, 19);
	assert_null(sbx_policy_key_find("colour"));
}

/* A parser replaces what its own key has set, and nothing else. */
static void test_replaces(void **state)
{
	struct sbx_policy *policy = calloc(1, sizeof(*policy));
	static const struct {
		const char *key;
		const char *value;
		size_t n_folders;
	} rows[] = {
	    {"read_only", "/srv/a /srv/b", 2},
	    {"read_write", "/srv/c", 3},
	    {"read_only", "/srv/d", 2},
	    {"read_write", "none", 1},
	    {"read_only", "none", 0},
	    {"workspace", "/srv/x", 0},
	    {"workspace", "/srv/y", 0},
	    {"env_pass", "A B", 0},
	    {"env_pass", "C", 0},
	};

	(void)state;
	assert_non_null(policy);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sbx_policy_key *key = sbx_policy_key_find(rows[i].key);

		assert_non_null(key);
		assert_int_equal(sbx_policy_key_parse(key, rows[i].value, &agent, policy, NULL), 0);
		assert_int_equal(policy->n_folders, rows[i].n_folders);
	}
	assert_string_equal(policy->workspace, "/srv/y");
	assert_int_equal(sbx_strv_length(policy->env_pass), 1);
	sbx_policy_free(policy);
}

static void test_never_quotes(void **state)
{
	(void)state;
	for (size_t k = 0; k < sbx_policy_n_keys; k++) {
		struct sbx_policy *policy = NULL;
		struct sbx_err err = {0};
		char text[128];

		(void)snprintf(text, sizeof(text), "[default]\n%s = s3cr3t!\n",
			       sbx_policy_keys[k].name);
		assert_true(try_parse(text, &agent, &policy, &err) < 0);
		assert_null(strstr(err.msg, "s3cr3t"));
		assert_non_null(strstr(err.msg, sbx_policy_keys[k].name));
	}
	expect_refused("[default]\ns3cr3t = x\n", &agent, "p.ini:2: unknown key; known", "");
}

/* --- Sections ------------------------------------------------------------------------------ */

static void test_sections(void **state)
{
	static const struct {
		const char *text;
		const char *start;
	} rows[] = {
	    {"[@]\n", "p.ini:1: a section is"},
	    {"[@@a]\n", "p.ini:1: a section is"},
	    {"[-a]\n", "p.ini:1: a section is"},
	    {"[.a]\n", "p.ini:1: a section is"},
	    {"[@a]\n[a@b]\n", "p.ini:2: a section is"},
	    {"[$]\n", "p.ini:1: a section is"},
	    {"[a$b]\n", "p.ini:1: a section is"},
	    /* 65 bytes */
	    {"[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n",
	     "p.ini:1: a section is"},
	    {"[other]\nnonsense = 1\n", "p.ini:2: unknown key"},
	    {"[other]\nmemory_max = x\n", "p.ini:2: memory_max: not a size"},
	    {"[@nobody]\n\nhome = x\n", "p.ini:3: home: not an absolute"},
	    {"[other]\nread_only = /srv:/proc\n", "p.ini:2: read_only: the target"},
	    {"[agent]\n[other]\n[agent]\n", "p.ini:3: the section was begun"},
	    {"[default]\nlinger = 1\nlinger = 1\n", "p.ini:3: the key was given"},
	    {"linger = 1\n", "p.ini:1: stands before"},
	    {"[default]\nlinger =\n", "p.ini:2: there is no value"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refused(rows[i].text, &agent, rows[i].start, "");
	sbx_policy_free(parse("[default]\n[@students]\n[other$]\n[Agent]\n[1000]\n[a.b-c_d]\n"));
}

static void test_sections_list(void **state)
{
	static const char text[] = "[@students]\nlinger = 1\n\n[default]\n[agent]\n[Other$]\n";
	static const struct {
		const char *name;
		enum sbx_policy_scope scope;
		unsigned int line;
	} rows[] = {
	    {"students", SBX_POLICY_GROUP, 1},
	    {"default", SBX_POLICY_DEFAULT, 4},
	    {"agent", SBX_POLICY_USER, 5},
	    {"Other$", SBX_POLICY_USER, 6},
	};
	struct sbx_policy_sections *list = NULL;
	struct sbx_err err = {0};

	(void)state;
	assert_int_equal(sbx_policy_sections_parse("p.ini", text, strlen(text), &list, &err), 0);
	assert_int_equal(list->n_sections, 4);
	for (size_t i = 0; i < list->n_sections; i++) {
		assert_int_equal(list->sections[i].scope, rows[i].scope);
		assert_string_equal(list->sections[i].name, rows[i].name);
		assert_int_equal(list->sections[i].line, rows[i].line);
	}
	sbx_policy_sections_free(list);
	list = NULL;
	assert_int_equal(sbx_policy_sections_parse("p.ini", "[a]\nx = 1\n", 10, &list, &err),
			 -EINVAL);
	assert_null(list);
}

static void test_merge(void **state)
{
	static const char text[] = "[agent]\n"
				   "tasks_max = 100\n"
				   "[@night]\n"
				   "memory_max = 2G\n"
				   "tasks_max = 200\n"
				   "linger = 20\n"
				   "[@students]\n"
				   "memory_max = 3G\n"
				   "linger = 30\n"
				   "swap_max = 3M\n"
				   "[default]\n"
				   "memory_max = 5G\n"
				   "tasks_max = 500\n"
				   "linger = 50\n"
				   "swap_max = 5M\n"
				   "cpu_max = 50%\n"
				   "[@others]\n"
				   "cpu_max = 1%\n"
				   "[other]\n"
				   "cpu_max = 2%\n"
				   "[Agent]\n"
				   "cpu_max = 3%\n";
	struct sbx_policy *policy = parse(text);

	(void)state;
	assert_int_equal(policy->tasks_max, 100); /* the user's own section, first or not */
	assert_int_equal(policy->memory_max_bytes, 3 * GIB); /* the later one of two groups */
	assert_int_equal(policy->linger_s, 30);
	assert_int_equal(policy->swap_max_bytes, 3 * MIB); /* a group before [default] */
	assert_int_equal(policy->cpu_max_percent, 50);	   /* nobody else's section, case counts */
	sbx_policy_free(policy);
}

static void test_merge_lists(void **state)
{
	struct sbx_policy *policy = parse("[default]\n"
					  "read_only = /srv/a /srv/b\n"
					  "read_write = /srv/w\n"
					  "env_pass = A B\n"
					  "[@students]\n"
					  "env_pass = C\n"
					  "[agent]\n"
					  "read_only = /srv/c\n");

	(void)state;
	assert_int_equal(policy->n_folders, 2);
	expect_folder(&policy->folders[0], "/srv/w", "/srv/w", false, false);
	expect_folder(&policy->folders[1], "/srv/c", "/srv/c", true, false);
	assert_int_equal(sbx_strv_length(policy->env_pass), 1);
	assert_string_equal(policy->env_pass[0], "C");
	sbx_policy_free(policy);
	policy = parse("[default]\nread_only = /srv/a\n[agent]\nread_only = none\n");
	assert_int_equal(policy->n_folders, 0);
	sbx_policy_free(policy);
}

/* What two sections say together. */
static void test_together(void **state)
{
	(void)state;
	expect_refused("[default]\nread_only = /srv/a:/work\n[agent]\nhome = /work\n", &agent,
		       "p.ini:2: read_only: a target would hide the home", "");
	expect_refused("[default]\nread_only = /srv/a:/w\n[agent]\nhome = /w/x/y\n", &agent,
		       "p.ini:2: read_only: a target would hide the home", "");
	sbx_policy_free(parse("[default]\nread_only = /srv/a:/wo\n[agent]\nhome = /work\n"));
	sbx_policy_free(parse("[other]\nread_only = /srv/a:/home/agent\n"));
	expect_refused("[default]\nread_only = /srv/a:/d\n[agent]\nread_write = /srv/b:/d\n",
		       &agent, "p.ini:4: read_write: two folders have the same target", "");
	expect_refused("[default]\nroot = /var/lib/sbx/agent/image\n", &agent, "p.ini: 'root'",
		       "in the workspace");
	expect_refused("[default]\nroot = /srv/image\nread_write = /srv\n", &agent,
		       "p.ini:3: read_write: would let the user write to the image", "");
	sbx_policy_free(parse("[default]\nroot = /srv/image\nread_only = /srv\n"));
}

static void test_passwd_home(void **state)
{
	char root_home[] = "/";
	struct sbx_identity odd = agent;
	struct sbx_policy *policy = NULL;

	(void)state;
	odd.home = root_home;
	expect_refused("", &odd, "the home of user 'agent' in passwd is a directory of the system",
		       "home = /home/agent");
	expect_refused("[agent]\nworkspace = HOME\nhome = /work\n", &odd,
		       "p.ini:2: workspace: this is a directory of the system", "");
	/* ... which says nothing against somebody else's section. */
	assert_int_equal(
	    try_parse("[other]\nworkspace = HOME\n[agent]\nhome = /work\n", &odd, &policy, NULL),
	    0);
	assert_string_equal(policy->home, "/work");
	assert_string_equal(policy->workspace, "/var/lib/sbx/agent");
	sbx_policy_free(policy);
}

static void test_user_called_default(void **state)
{
	char name[] = "default";
	struct sbx_identity who = agent;
	struct sbx_policy *policy = NULL;

	(void)state;
	who.name = name;
	assert_int_equal(try_parse("[default]\nlinger = 5\n", &who, &policy, NULL), 0);
	assert_int_equal(policy->linger_s, 5);
	sbx_policy_free(policy);
}

static void test_long_path(void **state)
{
	char text[4096];
	char path[4001];

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "[default]\nworkspace = %s\n", path);
	sbx_policy_free(parse(text));
	/* 26 times "%u" are 52 bytes that become 130. */
	for (size_t i = 1; i < 53; i += 2)
		memcpy(path + i, "%u", 2);
	(void)snprintf(text, sizeof(text), "[agent]\nworkspace = %s%s\n", path,
		       "/1234567890123456789012345");
	expect_refused(text, &agent, "p.ini:2: workspace: the path is too long", "");
}

/* --- The shipped file ---------------------------------------------------------------------- */

static char *read_source(const char *path)
{
	FILE *stream = fopen(path, "re");
	char *text = calloc(1, 65536);

	if (stream == NULL)
		fail_msg("%s: run from the top of the source tree", path);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, stream) > 0);
	(void)fclose(stream);
	return text;
}

/* Each key stands there as "#key = default" and would be read as exactly that. */
static void test_shipped(void **state)
{
	sbx_autofree char *text = read_source("config/policy.ini");
	struct sbx_policy *policy = parse(text);

	(void)state;
	assert_int_equal(policy->memory_max_bytes, 4 * GIB);
	sbx_policy_free(policy);
	for (size_t i = 0; i < sbx_policy_n_keys; i++) {
		const struct sbx_policy_key *key = &sbx_policy_keys[i];
		char line[256];

		(void)snprintf(line, sizeof(line), "\n#%s = %s\n", key->name,
			       key->default_text == NULL ? "/home/%u" : key->default_text);
		if (strstr(text, line) == NULL)
			fail_msg("config/policy.ini lacks:%s", line);
	}
	/* The examples at its end, with the marks taken away, are right too. */
	for (char *p = strstr(text, "# Examples:"); p != NULL && *p != '\0'; p++) {
		if (p[0] == '\n' && p[1] == '#' && p[2] != ' ')
			p[1] = ' ';
	}
	policy = parse(text);
	sbx_policy_free(policy);
	assert_non_null(strstr(text, "\n [@students]\n"));
}

/* --- The manual page ----------------------------------------------------------------------- */

/* A whole line of a key's entry is ".Sy text", perhaps with a comma behind it. */
static bool says(const char *entry, const char *text)
{
	char line[256];
	const char *found;

	(void)snprintf(line, sizeof(line), "\n.Sy %s", text);
	for (found = strstr(entry, line); found != NULL; found = strstr(found + 1, line)) {
		const char *behind = found + strlen(line);

		if (*behind == '\n' || strncmp(behind, " ,\n", 3) == 0 ||
		    strncmp(behind, " :\n", 3) == 0)
			return true;
	}
	return false;
}

/* A limit as it is written there, in the largest unit that has it exactly. */
static void write_limit(const struct sbx_policy_key *key, uint64_t value, char *text, size_t size)
{
	static const char units[] = "KMGT";
	const bool is_size = key->parse == sbx_policy_key_find("memory_max")->parse;
	const char *unit = "";
	char letter[2] = "";

	if (key->parse == sbx_policy_key_find("cpu_max")->parse)
		unit = "%";
	for (size_t i = 0; is_size && value > 0 && value % 1024 == 0 && units[i] != '\0'; i++) {
		value /= 1024;
		letter[0] = units[i];
		unit = letter;
	}
	(void)snprintf(text, size, "%llu%s", (unsigned long long)value, unit);
}

static void check_entry(const struct sbx_policy_key *key, const char *entry)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "\nDefault:\n.Sy %s\n", key->default_text);
	if (key->default_text != NULL && strstr(entry, text) == NULL)
		fail_msg("policy.ini(5): %s: the default is %s", key->name, key->default_text);
	if (strstr(entry, "\nDefault:") == NULL)
		fail_msg("policy.ini(5): %s: no default", key->name);
	for (size_t i = 0; key->choices != NULL && key->choices[i] != NULL; i++) {
		if (!says(entry, key->choices[i]))
			fail_msg("policy.ini(5): %s: no word of '%s'", key->name, key->choices[i]);
	}
	if (key->unlimited != NULL && !says(entry, key->unlimited))
		fail_msg("policy.ini(5): %s: no word of '%s'", key->name, key->unlimited);
	if (key->max != 0) {
		char min[32];
		char max[32];

		write_limit(key, key->min, min, sizeof(min));
		write_limit(key, key->max, max, sizeof(max));
		(void)snprintf(text, sizeof(text), "\nRange:\n.Sy %s\nto\n.Sy %s", min, max);
		if (strstr(entry, text) == NULL)
			fail_msg("policy.ini(5): %s: the range is %s to %s", key->name, min, max);
	}
}

/* A copy of the entry of that name, or NULL; the caller frees. */
static char *find_entry(const char *keys, const char *name)
{
	char head[64];
	const char *start;
	const char *next;

	(void)snprintf(head, sizeof(head), "\n.It Ic %s\n", name);
	start = strstr(keys, head);
	next = start == NULL ? NULL : strstr(start + 1, "\n.It ");
	if (next != NULL)
		return strndup(start, (size_t)(next - start) + 1);
	return start == NULL ? NULL : strdup(start);
}

/* Each key has one entry in policy.ini(5), with its default, range and words; no other has. */
static void test_manual(void **state)
{
	sbx_autofree char *page = read_source("docs/man/policy.ini.5");
	char *keys = strstr(page, "\n.Sh KEYS\n");
	char *end = keys == NULL ? NULL : strstr(keys + 1, "\n.Sh ");
	size_t n_entries = 0;

	(void)state;
	if (end != NULL)
		*end = '\0';
	while (keys != NULL && end != NULL && (keys = strstr(keys, "\n.It Ic ")) != NULL) {
		keys++;
		n_entries++;
	}
	assert_int_equal(n_entries, sbx_policy_n_keys);
	for (size_t i = 0; i < sbx_policy_n_keys; i++) {
		sbx_autofree char *entry = find_entry(page, sbx_policy_keys[i].name);

		if (entry != NULL)
			check_entry(&sbx_policy_keys[i], entry);
		else
			fail_msg("policy.ini(5) lacks %s", sbx_policy_keys[i].name);
	}
}

/* --- Files --------------------------------------------------------------------------------- */

/* A file that is there and right is tested with real logins, since it has to be root's. */
static void test_absent(void **state)
{
	struct sbx_policy_sections *sections = NULL;
	struct sbx_policy *policy = NULL;
	struct sbx_err err = {0};

	(void)state;
	assert_int_equal(sbx_policy_load("/nonexistent/sbx/policy.ini", &agent, &policy, &err), 0);
	assert_int_equal(policy->memory_max_bytes, 4 * GIB);
	sbx_policy_free(policy);
	assert_int_equal(sbx_policy_check("/nonexistent/sbx/policy.ini", &err), 0);
	assert_int_equal(sbx_policy_sections_list("/nonexistent", &sections, &err), 0);
	assert_int_equal(sections->n_sections, 0);
	sbx_policy_sections_free(sections);
	sbx_policy_sections_free(NULL);
	assert_int_equal(sbx_policy_check("relative.ini", &err), -EINVAL);
	assert_string_equal(err.msg, "'relative.ini' is not the absolute path of a file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_choices),
	    cmocka_unit_test(test_folders),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_refused_values),
	    cmocka_unit_test(test_every_key_is_tested),
	    cmocka_unit_test(test_replaces),
	    cmocka_unit_test(test_never_quotes),
	    cmocka_unit_test(test_sections),
	    cmocka_unit_test(test_sections_list),
	    cmocka_unit_test(test_merge),
	    cmocka_unit_test(test_merge_lists),
	    cmocka_unit_test(test_together),
	    cmocka_unit_test(test_passwd_home),
	    cmocka_unit_test(test_user_called_default),
	    cmocka_unit_test(test_long_path),
	    cmocka_unit_test(test_shipped),
	    cmocka_unit_test(test_manual),
	    cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests_name("config_policy", tests, NULL, NULL);
}
