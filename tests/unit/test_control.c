/* SPDX-License-Identifier: MIT */
/* The pure parts of sbxctl: paths, numbers, texts, lines of logs and of /proc. */
#include "base/fd.h"
#include "control/audit_line.h"
#include "control/command_line.h"
#include "control/json_text.h"
#include "control/processes.h"
#include "control/table.h"
#include "control/usage.h"
#include "control/workspace_file.h"
#include "sandbox/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------- workspace paths */

static char home[] = "/home/agent";
static char workspace[] = "/var/lib/sbx/agent";

static void assert_relative(const struct sbx_policy *policy, const char *path, const char *wanted)
{
	const char *relative = NULL;
	struct sbx_err err = {0};

	if (sbx_workspace_relative(policy, path, &relative, &err) < 0)
		fail_msg("'%s': %s", path, err.msg);
	assert_string_equal(relative, wanted);
}

static void assert_refused(const struct sbx_policy *policy, const char *path, int error)
{
	const char *relative = NULL;
	struct sbx_err err = {0};

	if (sbx_workspace_relative(policy, path, &relative, &err) != -error)
		fail_msg("'%s': %d %s", path, err.code, err.msg);
	assert_null(relative);
}

static void paths_are_taken_in_three_forms(void **state)
{
	static const char *const same[] = {"a",	 "a/b", ".",   "./a",	"a//b",
					   "a/", "...", "..a", "a/..b", "home/agent/x"};
	const struct sbx_policy policy = {.home = home, .workspace = workspace};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_relative(&policy, same[i], same[i]);
	assert_relative(&policy, "/home/agent", ".");
	assert_relative(&policy, "/home/agent/", ".");
	assert_relative(&policy, "/home/agent///a/b", "a/b");
	assert_relative(&policy, "/var/lib/sbx/agent/a", "a");
	assert_relative(&policy, "/var/lib/sbx/agent", ".");
}

static void paths_elsewhere_are_refused(void **state)
{
	static const char *const dots[] = {"..",
					   "../a",
					   "a/..",
					   "a/../b",
					   "/home/agent/../x",
					   "/..",
					   "a/b/..//c",
					   "/var/lib/sbx/agent/.."};
	static const char *const outside[] = {
	    "/",	   "/home",	     "/home/agent-evil/x",  "/home/agentx",
	    "/etc/passwd", "//home/agent/x", "/var/lib/sbx/agent2", "/home/./agent/x"};
	const struct sbx_policy policy = {.home = home, .workspace = workspace};

	(void)state;
	for (size_t i = 0; i < sizeof(dots) / sizeof(dots[0]); i++)
		assert_refused(&policy, dots[i], EINVAL);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_refused(&policy, outside[i], EXDEV);
	assert_refused(&policy, "", EINVAL);
}

static void folders_over_home_are_not_the_workspace(void **state)
{
	static char source[] = "/srv/project";
	static char target[] = "/home/agent/project";
	static char elsewhere[] = "/srv/other";
	struct sbx_folder folders[] = {
	    {.source = elsewhere, .target = elsewhere},
	    {.source = source, .target = target},
	};
	const struct sbx_policy policy = {
	    .home = home, .workspace = workspace, .folders = folders, .n_folders = 2};

	(void)state;
	assert_refused(&policy, "project", EXDEV);
	assert_refused(&policy, "project/a", EXDEV);
	assert_refused(&policy, "/home/agent/project/a", EXDEV);
	assert_refused(&policy, "/var/lib/sbx/agent/project", EXDEV);
	assert_relative(&policy, "project2", "project2");
	assert_relative(&policy, "a/project", "a/project");
}

/* ---------------------------------------------------------------------------- seconds */

static void seconds(void **state)
{
	static const struct {
		const char *text;
		unsigned long long ms;
	} good[] = {{"0", 0},	  {"1", 1000},	{"90", 90000},	 {"2.5", 2500},
		    {"0.5", 500}, {"0.001", 1}, {"1.050", 1050}, {"31622400", 31622400000ULL}};
	static const char *const bad[] = {"",	".",   "1.",  ".5",    "-1",	 "+1",	" 1",
					  "1s", "1e3", "1,5", "1.5.5", "0.0001", "0x1", "1.-5"};
	unsigned long long ms = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(sbx_parse_seconds(good[i].text, &ms), 0);
		assert_int_equal(ms, good[i].ms);
	}
	ms = 42;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sbx_parse_seconds(bad[i], &ms), -EINVAL);
	assert_int_equal(sbx_parse_seconds("31622401", &ms), -ERANGE);
	assert_int_equal(sbx_parse_seconds("99999999999999999999", &ms), -ERANGE);
	assert_int_equal(ms, 42);
}

/* ------------------------------------------------------------------------------- text */

static void assert_base64(const char *bytes, size_t n, const char *wanted)
{
	sbx_autostr struct sbx_str out = {0};

	sbx_base64_add(&out, bytes, n);
	assert_int_equal(out.rc, 0);
	assert_string_equal(out.text == NULL ? "" : out.text, wanted);
}

static void base64(void **state)
{
	(void)state; /* RFC 4648, section 10 */
	assert_base64("", 0, "");
	assert_base64("f", 1, "Zg==");
	assert_base64("fo", 2, "Zm8=");
	assert_base64("foo", 3, "Zm9v");
	assert_base64("foob", 4, "Zm9vYg==");
	assert_base64("fooba", 5, "Zm9vYmE=");
	assert_base64("foobar", 6, "Zm9vYmFy");
	assert_base64("\xff\xfe\0\x01", 4, "//4AAQ==");
}

static void utf8(void **state)
{
	static const struct {
		const char *in;
		const char *out;
		size_t replaced;
	} cases[] = {
	    {"plain", "plain", 0},
	    {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 0},
	    {"a\xFF"
	     "b",
	     "a\xEF\xBF\xBD"
	     "b",
	     1},
	    {"\xC3", "\xEF\xBF\xBD", 1},		 /* cut */
	    {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 2}, /* '/' in two bytes */
	    {"\xE0\x80\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3},
	    {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3}, /* a surrogate */
	    {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 4},
	    {"\xE2\x82"
	     "x",
	     "\xEF\xBF\xBD\xEF\xBF\xBD"
	     "x",
	     2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sbx_autostr struct sbx_str out = {0};

		assert_int_equal(sbx_utf8_add(&out, cases[i].in, strlen(cases[i].in)),
				 cases[i].replaced);
		assert_string_equal(out.text, cases[i].out);
	}
}

static void json_text(void **state)
{
	json_auto_t *object = json_object();

	(void)state;
	assert_int_equal(sbx_json_text_set(object, "good", "a\0b", 3), 0);
	assert_int_equal(sbx_json_text_set(object, "empty", "", 0), 0);
	assert_int_equal(sbx_json_text_set(object, "bad", "\xFF", 1), 0);
	assert_int_equal(json_string_length(json_object_get(object, "good")), 3);
	assert_null(json_object_get(object, "goodBase64"));
	assert_string_equal(json_string_value(json_object_get(object, "empty")), "");
	assert_string_equal(json_string_value(json_object_get(object, "bad")), "\xEF\xBF\xBD");
	assert_string_equal(json_string_value(json_object_get(object, "badBase64")), "/w==");
	assert_int_equal(sbx_json_text_set(NULL, "x", "x", 1), -ENOMEM);
}

/* ---------------------------------------------------------------------------- origins */

static void origins_are_harmless(void **state)
{
	struct sbx_origin origin = {0};
	sbx_autostr struct sbx_str line = {0};
	char longer[200];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	sbx_origin_set(origin.service, sizeof(origin.service), "sshd");
	sbx_origin_set(origin.by, sizeof(origin.by), "a b\n why=x\033[m");
	sbx_origin_set(origin.tty, sizeof(origin.tty), NULL);
	sbx_origin_set(origin.remote, sizeof(origin.remote), longer);
	assert_int_equal(strlen(origin.remote), sizeof(origin.remote) - 1);
	sbx_origin_set(origin.remote, sizeof(origin.remote), "fe80::1%eth0");
	sbx_origin_line(&line, "session opened", "agent", &origin);
	assert_string_equal(line.text, "session opened: user=agent service=sshd from=fe80::1%eth0 "
				       "by=a?b??why?x?[m");
	memset(&origin, 0xff, sizeof(origin));
	sbx_origin_clean(&origin);
	assert_int_equal(strspn(origin.service, "?"), sizeof(origin.service) - 1);
	assert_int_equal(strlen(origin.by), sizeof(origin.by) - 1);
}

/* -------------------------------------------------------------------------- log lines */

static void assert_line(const char *line, const char *user, const char *words)
{
	struct sbx_audit_line parsed;
	sbx_autostr struct sbx_str text = {0};

	if (!sbx_audit_line_parse(line, strlen(line), &parsed))
		fail_msg("not taken: %s", line);
	assert_string_equal(parsed.user, user);
	for (size_t i = 0; i < parsed.n_words; i++)
		sbx_str_addf(&text, "%s=%s|", parsed.words[i].name, parsed.words[i].value);
	assert_string_equal(text.text, words);
}

static void log_lines(void **state)
{
	static const char *const others[] = {
	    "",
	    "pam_sbx(",
	    "sbxctl[1]:",
	    "sshd[1]: session opened: user=agent",
	    "sshd[1]: pam_unix(sshd:session): session opened for user agent(uid=1)",
	    "sshd[1]: pam_sbx(sshd:session): joining the new sandbox of 'agent'",
	    "sshd[1]: pam_sbx(sshd:session): session opened: service=sshd",
	    "sbxctl[1]: session opened: user=agent more words",
	    "sbxctl[1]: something else: user=agent",
	    "sbxctl[1]: session opened",
	    "sbxctl[1]: session of 'agent",
	    "sbxctl[1]: session opened: user=a a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10 k=11 l=12",
	};
	char longer[2 * SBX_AUDIT_TEXT_MAX];
	struct sbx_audit_line parsed;

	(void)state;
	assert_line("Dec  1 05:14:31 h su[351]: pam_sbx(su:session): session opened: user=agent "
		    "service=su by=root sandbox=joined",
		    "agent", "event=session opened|user=agent|service=su|by=root|sandbox=joined|");
	assert_line("<86>Dec  1 05:14:30 sbxctl[259]: session closed: user=a-b service=exec "
		    "why=timeout status=124",
		    "a-b", "event=session closed|user=a-b|service=exec|why=timeout|status=124|");
	assert_line("2026-01-01T00:00:00 h sshd[1]: pam_sbx(sshd:session): session of 'agent' "
		    "refused: /etc/sbx/policy.ini:3: x = y: no",
		    "agent",
		    "event=session refused|user=agent|why=/etc/sbx/policy.ini:3: x = y: no|");
	assert_line("x sbxctl[1]: sandbox killed: user=agent", "agent",
		    "event=sandbox killed|user=agent|");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(sbx_audit_line_parse(others[i], strlen(others[i]), &parsed));
	memset(longer, 'x', sizeof(longer));
	assert_false(sbx_audit_line_parse(longer, sizeof(longer), &parsed));
	assert_false(sbx_audit_line_parse("sbxctl[1]: sandbox killed: user=a\0b", 35, &parsed));
}

/* ------------------------------------------------------------------------------ /proc */

static void proc_stat(void **state)
{
	static const char *const bad[] = {"",
					  "1 (a",
					  "1 (a)",
					  "1 (a) ",
					  "1 (a) S",
					  "1 (a)S 1",
					  "1 (a) S 1 2 3 4 5 6 7 8 9 10 x 1 1 1"};
	char process = '\0';
	uint64_t ticks = 0;
	uint64_t pages = 0;

	(void)state;
	assert_int_equal(sbx_process_stat_parse(
			     "12 (a) R 1 (b) S 1 12 12 0 -1 4194560 100 0 0 0 7 5 3 2 20 0 1 0 "
			     "4242 8192000 321 18446744073709551615 1 1 0\n",
			     &process, &ticks, &pages),
			 0);
	assert_int_equal(process, 'S');
	assert_int_equal(ticks, 17);
	assert_int_equal(pages, 321);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sbx_process_stat_parse(bad[i], &process, &ticks, &pages),
				 -EBADMSG);
}

static void inside_pid(void **state)
{
	(void)state;
	assert_int_equal(sbx_process_inside_pid("Name:\tx\nNSpid:\t1234\t7\nX:\t1\n"), 7);
	assert_int_equal(sbx_process_inside_pid("Name:\tx\nNSpid:\t1234\t7\t3"), 3);
	assert_int_equal(sbx_process_inside_pid("Name:\tx\nNSpid:\t1234\n"), 0);
	assert_int_equal(sbx_process_inside_pid("Name:\tx\n"), 0);
	assert_int_equal(sbx_process_inside_pid("Name:\tx\nNSpid:\t1\tx\n"), 0);
}

/* ------------------------------------------------------------------------------ usage */

static void put_file(int dir_fd, const char *name, const char *text)
{
	sbx_autoclose int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
}

static int make_dir(char *path)
{
	int fd;

	assert_non_null(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void remove_dir(const char *path, int fd, const char *const *names)
{
	for (; *names != NULL; names++)
		assert_int_equal(unlinkat(fd, *names, 0), 0);
	assert_int_equal(rmdir(path), 0);
}

static void usage_v2(void **state)
{
	static const char *const names[] = {
	    "memory.current", "memory.peak", "memory.max", "memory.events",
	    "pids.current",   "pids.max",    "cpu.stat",   NULL};
	char path[] = "/tmp/sbx-test-XXXXXX";
	sbx_autoclose int fd = make_dir(path);
	struct sbx_usage usage;

	(void)state;
	put_file(fd, names[0], "1000\n");
	put_file(fd, names[1], "2000\n");
	put_file(fd, names[2], "max\n");
	put_file(fd, names[3], "low 0\nhigh 3\nmax 4\noom 5\noom_kill 6\noom_group_kill 7\n");
	put_file(fd, names[4], "8\n");
	put_file(fd, names[5], "4096\n");
	put_file(fd, names[6], "usage_usec 123456\nuser_usec 1\n");
	sbx_usage_read((const int[]){-EBADF, fd}, 2, &usage);
	assert_true(usage.memory_bytes == 1000 && usage.memory_peak_bytes == 2000);
	assert_true(usage.memory_max_bytes == SBX_UNKNOWN && usage.oom_kills == 6);
	assert_true(usage.tasks == 8 && usage.tasks_max == 4096 && usage.cpu_us == 123456);
	remove_dir(path, fd, names);
}

static void usage_v1(void **state)
{
	static const char *const memory_names[] = {"memory.usage_in_bytes", "memory.limit_in_bytes",
						   "memory.oom_control", NULL};
	static const char *const pids_names[] = {"pids.current", "pids.max", NULL};
	char memory_path[] = "/tmp/sbx-test-XXXXXX";
	char pids_path[] = "/tmp/sbx-test-XXXXXX";
	sbx_autoclose int memory_fd = make_dir(memory_path);
	sbx_autoclose int pids_fd = make_dir(pids_path);
	struct sbx_usage usage;

	(void)state;
	put_file(memory_fd, memory_names[0], "4096\n");
	put_file(memory_fd, memory_names[1], "9223372036854771712\n");
	put_file(memory_fd, memory_names[2], "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	put_file(pids_fd, pids_names[0], "3\n");
	put_file(pids_fd, pids_names[1], "nonsense\n");
	sbx_usage_read((const int[]){memory_fd, pids_fd}, 2, &usage);
	assert_true(usage.memory_bytes == 4096 && usage.memory_peak_bytes == SBX_UNKNOWN);
	assert_true(usage.memory_max_bytes == SBX_UNKNOWN && usage.oom_kills == 2);
	assert_true(usage.tasks == 3 && usage.tasks_max == SBX_UNKNOWN);
	assert_true(usage.cpu_us == SBX_UNKNOWN);
	remove_dir(memory_path, memory_fd, memory_names);
	remove_dir(pids_path, pids_fd, pids_names);
}

/* ------------------------------------------------------------------------------ table */

static void table(void **state)
{
	static const char *const headings[] = {"NAME", ">N", "LAST"};
	sbx_autotable struct sbx_table table = {0};
	sbx_autostr struct sbx_str plain = {0};
	sbx_autostr struct sbx_str coloured = {0};

	(void)state;
	sbx_table_begin(&table, headings, 3);
	sbx_table_add(&table, SBX_GOOD, "\xC3\xA4\033[31m");
	sbx_table_add_bytes(&table, 1536);
	sbx_table_add_age(&table, 61000);
	sbx_table_add(&table, SBX_PLAIN, "longer name");
	sbx_table_add_number(&table, SBX_PLAIN, SBX_UNKNOWN);
	sbx_table_add(&table, SBX_PLAIN, "");
	sbx_table_format(&table, false, &plain);
	assert_int_equal(table.rc, 0);
	assert_string_equal(plain.text, "NAME            N  LAST\n"
					"\xC3\xA4?[31m       1.5K  1m01s\n"
					"longer name     -  -\n");
	sbx_table_format(&table, true, &coloured);
	assert_non_null(strstr(coloured.text, "\033[32m\xC3\xA4?[31m\033[0m       1.5K"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_are_taken_in_three_forms),
	    cmocka_unit_test(paths_elsewhere_are_refused),
	    cmocka_unit_test(folders_over_home_are_not_the_workspace),
	    cmocka_unit_test(seconds),
	    cmocka_unit_test(base64),
	    cmocka_unit_test(utf8),
	    cmocka_unit_test(json_text),
	    cmocka_unit_test(origins_are_harmless),
	    cmocka_unit_test(log_lines),
	    cmocka_unit_test(proc_stat),
	    cmocka_unit_test(inside_pid),
	    cmocka_unit_test(usage_v2),
	    cmocka_unit_test(usage_v1),
	    cmocka_unit_test(table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
