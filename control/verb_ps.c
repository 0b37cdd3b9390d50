/* SPDX-License-Identifier: MIT */
/* sbxctl ps USER: the processes of a sandbox. */
#include "control/json_text.h"
#include "control/output.h"
#include "control/processes.h"
#include "control/table.h"
#include "control/user.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define VERB "ps"
#define COMMAND_SHOWN 120
#define MS_PER_S 1000

static int print_json(const struct sbx_processes *processes)
{
	json_auto_t *list = json_array();

	for (size_t i = 0; i < processes->n_entries; i++) {
		const struct sbx_process *process = &processes->entries[i];
		json_t *entry = json_pack(
		    "{s:i, s:o, s:I, s:s%, s:I, s:I}", "pid", (int)process->pid, "inside_pid",
		    process->inside_pid == 0 ? json_null() : json_integer(process->inside_pid),
		    "uid", (json_int_t)process->uid, "state", &process->state, (size_t)1,
		    "rss_bytes", (json_int_t)process->rss_bytes, "cpu_ms",
		    (json_int_t)process->cpu_ms);

		if (sbx_json_text_set(entry, "command", process->command,
				      strlen(process->command)) < 0 ||
		    json_array_append_new(list, entry) < 0)
			return -ENOMEM;
	}
	return sbx_print_json(list);
}

static int print_table(const struct sbx_processes *processes)
{
	static const char *const headings[] = {">PID", ">INSIDE", ">UID",   "S",
					       ">RSS", ">CPU",	  "COMMAND"};
	sbx_autotable struct sbx_table table = {0};

	sbx_table_begin(&table, headings, sizeof(headings) / sizeof(headings[0]));
	for (size_t i = 0; i < processes->n_entries; i++) {
		const struct sbx_process *process = &processes->entries[i];

		sbx_table_addf(&table, SBX_PLAIN, "%d", (int)process->pid);
		if (process->inside_pid == 0)
			sbx_table_add(&table, SBX_FAINT, NULL);
		else
			sbx_table_addf(&table, SBX_PLAIN, "%d", (int)process->inside_pid);
		sbx_table_addf(&table, SBX_PLAIN, "%u", process->uid);
		sbx_table_addf(&table, process->state == 'Z' ? SBX_BAD : SBX_PLAIN, "%c",
			       process->state);
		sbx_table_add_bytes(&table, process->rss_bytes);
		sbx_table_addf(&table, SBX_PLAIN, "%.1fs", (double)process->cpu_ms / MS_PER_S);
		sbx_table_addf(&table, SBX_PLAIN, "%.*s", COMMAND_SHOWN, process->command);
	}
	return sbx_table_print(&table);
}

static int list(const struct sbx_status *status, struct sbx_processes *ret, struct sbx_err *err)
{
	for (size_t i = 0; i < status->n_cgroups; i++) {
		if (status->cgroup_fds[i] >= 0)
			return sbx_processes_list(status->cgroup_fds[i], ret, err);
	}
	return sbx_fail(err, ENOENT, "the sandbox has just ended");
}

static int ps(char **operands, const struct sbx_verb_options *options)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status = NULL;
	sbx_autoprocesses struct sbx_processes processes = {0};
	struct sbx_err err = {0};
	int rc;

	if (sbx_user_need_root(VERB) < 0)
		return SBX_EXIT_FAILED;
	rc = sbx_user_status(operands[0], NULL, &status, &err);
	if (sbx_status_none(rc)) {
		sbx_complain(VERB, "no sandbox of '%s' runs", operands[0]);
		return SBX_EXIT_NO;
	}
	if (rc == 0)
		rc = list(status, &processes, &err);
	if (rc == 0) {
		rc = options->json ? print_json(&processes) : print_table(&processes);
		if (rc < 0)
			(void)sbx_fail(&err, -rc, "%s", strerror(-rc));
	}
	if (rc < 0) {
		sbx_complain(VERB, "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	return SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_ps = {
    .name = VERB,
    .operands = "USER",
    .summary = "the processes in USER's sandbox",
    .help =
	"Lists the processes that count for USER's limits: those in the sandbox and, with '-' as\n"
	"their number INSIDE, the login programs' own root processes, which no session can see.\n"
	"\n"
	"exit status: 0 listed; 1 no sandbox runs; 3 could not be found out.\n",
    .n_operands = 1,
    .run = ps,
};
