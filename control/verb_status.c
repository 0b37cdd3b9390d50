/* SPDX-License-Identifier: MIT */
/* sbxctl status [USER]: what runs, who is in it, what it uses. */
#include "base/paths.h"
#include "base/str.h"
#include "control/command_line.h"
#include "control/output.h"
#include "control/processes.h"
#include "control/table.h"
#include "control/usage.h"
#include "control/user.h"
#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <string.h>
#include <time.h>

#define VERB "status"
#define MS_PER_S 1000
#define US_PER_MS 1000

struct report {
	const char *user;
	const struct sbx_status *status; /* NULL: nothing runs */
	struct sbx_usage usage;
	size_t n_processes;
};

/* The first directory that can be listed: the processes are the same in each. */
static int list_processes(const struct sbx_status *status, struct sbx_processes *ret)
{
	for (size_t i = 0; i < status->n_cgroups; i++) {
		if (status->cgroup_fds[i] >= 0)
			return sbx_processes_list(status->cgroup_fds[i], ret, NULL);
	}
	return -ENOENT;
}

static void fill(struct report *report)
{
	sbx_autoprocesses struct sbx_processes processes = {0};
	uint64_t cpu_ms = 0;

	sbx_usage_read(report->status->cgroup_fds, report->status->n_cgroups, &report->usage);
	if (list_processes(report->status, &processes) < 0)
		return; /* it is just ending */
	report->n_processes = processes.n_entries;
	for (size_t i = 0; i < processes.n_entries; i++)
		cpu_ms += processes.entries[i].cpu_ms;
	/* Without CPU accounting: what those that still run, and those they waited for, have used.
	 */
	if (report->usage.cpu_us == SBX_UNKNOWN)
		report->usage.cpu_us = cpu_ms * US_PER_MS;
}

/* --------------------------------------------------------------------------------- JSON */

static json_t *number_or_null(uint64_t value)
{
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text[0] == '\0' ? json_null() : json_string(text);
}

static json_t *session_json(const struct sbx_status_session *session)
{
	const struct sbx_origin *origin = &session->origin;
	const time_t since = time(NULL) - (time_t)(session->age_ms / MS_PER_S);

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "service",
			 text_or_null(origin->service), "tty", text_or_null(origin->tty), "from",
			 text_or_null(origin->remote), "by", text_or_null(origin->by), "pid",
			 session->pid == 0 ? json_null() : json_integer(session->pid), "since",
			 (json_int_t)since, "age_s", (json_int_t)(session->age_ms / MS_PER_S));
}

static json_t *report_json(const struct report *report)
{
	const struct sbx_status *status = report->status;
	const struct sbx_usage *usage = &report->usage;
	json_t *sessions;

	if (status == NULL)
		return json_pack("{s:s, s:s}", "user", report->user, "state", "stopped");
	sessions = json_array();
	for (size_t i = 0; i < status->n_sessions; i++)
		(void)json_array_append_new(sessions, /* a NULL list fails in the final check */
					    session_json(&status->sessions[i]));
	return json_pack(
	    "{s:s, s:s, s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "user",
	    report->user, "state", "running", "keeper_pid", (json_int_t)status->keeper_pid,
	    "uptime_s", (json_int_t)(status->age_ms / MS_PER_S), "linger_s",
	    number_or_null(status->linger_s), "sessions", sessions, "processes",
	    (json_int_t)report->n_processes, "tasks", number_or_null(usage->tasks), "tasks_max",
	    number_or_null(usage->tasks_max), "memory_bytes", number_or_null(usage->memory_bytes),
	    "memory_peak_bytes", number_or_null(usage->memory_peak_bytes), "memory_max_bytes",
	    number_or_null(usage->memory_max_bytes), "oom_kills", number_or_null(usage->oom_kills),
	    "cpu_ms", (json_int_t)(usage->cpu_us / US_PER_MS));
}

/* --------------------------------------------------------------------------------- text */

static void add_row(struct sbx_table *table, const struct report *report)
{
	const struct sbx_usage *usage = &report->usage;

	sbx_table_add(table, SBX_PLAIN, report->user);
	if (report->status == NULL) {
		sbx_table_add(table, SBX_FAINT, "stopped");
		for (size_t i = 2; i < table->n_columns; i++)
			sbx_table_add(table, SBX_FAINT, NULL);
		return;
	}
	sbx_table_add(table, SBX_GOOD, "running");
	sbx_table_add_number(table, SBX_PLAIN, report->status->n_sessions);
	sbx_table_add_number(table, SBX_PLAIN, report->n_processes);
	sbx_table_add_bytes(table, usage->memory_bytes);
	sbx_table_add_bytes(table, usage->memory_peak_bytes);
	sbx_table_add_bytes(table, usage->memory_max_bytes);
	sbx_table_addf(table, SBX_PLAIN, "%.1fs", (double)usage->cpu_us / 1e6);
	sbx_table_add_number(
	    table, usage->oom_kills > 0 && usage->oom_kills != SBX_UNKNOWN ? SBX_BAD : SBX_PLAIN,
	    usage->oom_kills);
	sbx_table_add_age(table, report->status->age_ms);
}

static void begin_table(struct sbx_table *table)
{
	static const char *const headings[] = {"USER",	  ">",	    ">SESSIONS", ">PROCESSES",
					       ">MEMORY", ">PEAK",  ">LIMIT",	 ">CPU",
					       ">OOM",	  ">UPTIME"};

	sbx_table_begin(table, headings, sizeof(headings) / sizeof(headings[0]));
	table->right &= ~2U; /* the state */
}

static int print_sessions(const struct sbx_status *status)
{
	static const char *const headings[] = {"SESSION", "TTY", "FROM", "BY", ">PID", ">SINCE"};
	sbx_autotable struct sbx_table table = {0};

	if (status->n_sessions == 0)
		return 0;
	sbx_table_begin(&table, headings, sizeof(headings) / sizeof(headings[0]));
	for (size_t i = 0; i < status->n_sessions; i++) {
		const struct sbx_status_session *session = &status->sessions[i];

		sbx_table_add(&table, SBX_PLAIN, session->origin.service);
		sbx_table_add(&table, SBX_PLAIN, session->origin.tty);
		sbx_table_add(&table, SBX_PLAIN, session->origin.remote);
		sbx_table_add(&table, SBX_PLAIN, session->origin.by);
		sbx_table_add_number(&table, SBX_PLAIN,
				     session->pid == 0 ? SBX_UNKNOWN : (uint64_t)session->pid);
		sbx_table_add_age(&table, session->age_ms);
	}
	sbx_print("\n");
	return sbx_table_print(&table);
}

/* --------------------------------------------------------------------------------------------- */

static int fail(const char *user, const struct sbx_err *err)
{
	sbx_complain(VERB, "%s: %s", user, err->msg);
	return SBX_EXIT_FAILED;
}

static int failed(int rc)
{
	sbx_complain(VERB, "%s", strerror(-rc));
	return SBX_EXIT_FAILED;
}

static int status_of(const char *user, bool json)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status = NULL;
	sbx_autotable struct sbx_table table = {0};
	struct report report = {.user = user};
	struct sbx_err err = {0};
	int rc = sbx_user_status(user, NULL, &status, &err);

	if (rc < 0 && !sbx_status_none(rc))
		return fail(user, &err);
	if (rc < 0 && getpwnam(user) == NULL) {
		sbx_complain(VERB, "there is no user '%s'", user);
		return SBX_EXIT_FAILED;
	}
	report.status = status;
	if (status != NULL)
		fill(&report);
	if (json) {
		json_auto_t *root = report_json(&report);

		rc = sbx_print_json(root);
	} else {
		begin_table(&table);
		add_row(&table, &report);
		rc = sbx_table_print(&table);
		if (rc == 0 && status != NULL)
			rc = print_sessions(status);
	}
	if (rc < 0)
		return failed(rc);
	return status == NULL ? SBX_EXIT_NO : SBX_EXIT_OK;
}

/* Every user that has had a sandbox since the machine started. */
static int list_users(char ***ret_users)
{
	struct dirent **entries = NULL;
	int n = scandir(SBX_RUN_DIR, &entries, NULL, alphasort);
	int rc = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		if (rc == 0 && sbx_username_valid(entries[i]->d_name))
			rc = sbx_strv_append(ret_users, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/* One line or object of the list. A sandbox that cannot be asked is told of, the others go on. */
static int add_to_list(const char *user, struct sbx_table *table, json_t *list)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status = NULL;
	struct report report = {.user = user};
	struct sbx_err err = {0};
	int rc = sbx_user_status(user, NULL, &status, &err);

	if (rc < 0 && !sbx_status_none(rc))
		return fail(user, &err);
	report.status = status;
	if (status != NULL)
		fill(&report);
	if (list != NULL && json_array_append_new(list, report_json(&report)) < 0)
		return failed(-ENOMEM);
	if (list == NULL)
		add_row(table, &report);
	return SBX_EXIT_OK;
}

static int status_of_all(bool json)
{
	sbx_autotable struct sbx_table table = {0};
	sbx_autostrv char **users = NULL;
	json_auto_t *list = json ? json_array() : NULL;
	int status = SBX_EXIT_OK;
	int rc = list_users(&users);

	if (rc < 0)
		return failed(rc);
	begin_table(&table);
	for (size_t i = 0; users != NULL && users[i] != NULL; i++) {
		if (add_to_list(users[i], &table, list) != SBX_EXIT_OK)
			status = SBX_EXIT_FAILED;
	}
	rc = json ? sbx_print_json(list) : sbx_table_print(&table);
	return rc < 0 ? failed(rc) : status;
}

static int status(int argc, char **argv)
{
	static const struct sbx_option none[] = {{.name = NULL}};
	sbx_autocommandline struct sbx_command_line line;
	int rc = sbx_command_line_read(&sbx_verb_status, none, 0, 1, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	if (sbx_user_need_root(VERB) < 0)
		return SBX_EXIT_FAILED;
	if (line.n_operands == 0)
		return status_of_all(line.common.json);
	return status_of(line.operands[0], line.common.json);
}

const struct sbx_verb sbx_verb_status = {
    .name = VERB,
    .operands = "[USER]",
    .summary = "what runs, who is in it, what it uses",
    .help =
	"Without USER: a line for each user who has had a sandbox since the machine started.\n"
	"With USER: that line, and the sessions: through which service, on which terminal, from\n"
	"where, by whom, the process id of the login program, for how long.\n"
	"\n"
	"CPU is what the cgroup says or, where the kernel does not account it by cgroup, what the\n"
	"processes that run, and those they waited for, have used. OOM counts processes that were\n"
	"killed because the memory limit was reached.\n"
	"\n"
	"exit status: 0 it runs (without USER: always); 1 it does not; 3 could not be found out.\n",
    .run_own = status,
};
