/* SPDX-License-Identifier: MIT */
#include "control/processes.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX_BYTES ((size_t)4 << 20)
#define FILE_MAX_BYTES ((size_t)64 << 10)
#define COMMAND_MAX_BYTES                                                                          \
	((size_t)4 << 20) /* argv may be long; what is shown is the caller's choice */
#define MS_PER_S 1000

/* Fields of /proc/PID/stat, counted from the one behind the name (which is the third). */
enum { FIELD_STATE = 0, FIELD_UTIME = 11, FIELD_CSTIME = 14, FIELD_RSS = 21, N_FIELDS = 22 };

static const char *skip_field(const char *text)
{
	text += strcspn(text, " \n");
	return text + strspn(text, " ");
}

/* Digits up to a blank or the line's end. */
static int field_number(const char *text, uint64_t *ret)
{
	char digits[24];
	size_t length = strcspn(text, " \t\n");

	if (length >= sizeof(digits))
		return -EBADMSG;
	memcpy(digits, text, length);
	digits[length] = '\0';
	return sbx_parse_u64(digits, 0, UINT64_MAX, ret) < 0 ? -EBADMSG : 0;
}

int sbx_process_stat_parse(const char *line, char *ret_state, uint64_t *ret_ticks,
			   uint64_t *ret_rss_pages)
{
	const char *field = strrchr(line, ')');
	uint64_t ticks = 0;
	uint64_t rss = 0;
	char state = '\0';

	if (field == NULL || field[1] != ' ')
		return -EBADMSG;
	field += 2;
	for (int i = 0; i < N_FIELDS; i++, field = skip_field(field)) {
		uint64_t number;

		if (i == FIELD_STATE)
			state = *field;
		if (i < FIELD_UTIME || (i > FIELD_CSTIME && i != FIELD_RSS))
			continue;
		if (field_number(field, &number) < 0)
			return -EBADMSG;
		if (i == FIELD_RSS)
			rss = number;
		else
			ticks += number;
	}
	if (state < 'A' || state > 'z')
		return -EBADMSG;
	*ret_state = state;
	*ret_ticks = ticks;
	*ret_rss_pages = rss;
	return 0;
}

pid_t sbx_process_inside_pid(const char *status)
{
	const char *line = strstr(status, "\nNSpid:\t");
	const char *tab;
	const char *end;
	uint64_t pid;

	if (line == NULL)
		return 0;
	line += strlen("\nNSpid:\t");
	end = line + strcspn(line, "\n");
	tab = memrchr(line, '\t', (size_t)(end - line));
	if (tab == NULL || field_number(tab + 1, &pid) < 0 || pid > INT32_MAX)
		return 0;
	return (pid_t)pid;
}

/* "[name]", as ps has it, for what has no arguments: kernel threads and zombies. */
static int name_in_brackets(const char *stat, char **ret_command)
{
	sbx_autostr struct sbx_str text = {0};
	const char *open = strchr(stat, '(');
	const char *close = strrchr(stat, ')');

	sbx_str_add(&text, "[");
	if (open != NULL && close != NULL && open < close)
		sbx_str_addn(&text, open + 1, (size_t)(close - open - 1));
	sbx_str_add(&text, "]");
	return sbx_str_take(&text, ret_command);
}

static int read_command(int proc_fd, const char *stat, char **ret_command)
{
	sbx_autofree char *text = NULL;
	size_t length;

	if (sbx_file_read(proc_fd, "cmdline", 0, COMMAND_MAX_BYTES, &text, &length, NULL, NULL) < 0)
		length = 0;
	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length == 0)
		return name_in_brackets(stat, ret_command);
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\0')
			text[i] = ' ';
	}
	*ret_command = text;
	text = NULL;
	return 0;
}

/* Not the owner of /proc/PID: what is not dumpable is root's there. */
static uid_t real_uid(const char *status)
{
	const char *line = strstr(status, "\nUid:\t");
	uint64_t uid;

	if (line == NULL || field_number(line + strlen("\nUid:\t"), &uid) < 0)
		return 0;
	return (uid_t)uid;
}

/* Returns 0, 1 when the process has ended meanwhile, or -ENOMEM. */
static int read_process(pid_t pid, struct sbx_process *ret)
{
	sbx_autoclose int proc_fd = -EBADF;
	sbx_autofree char *stat = NULL;
	sbx_autofree char *status = NULL;
	struct sbx_process process = {.pid = pid};
	uint64_t ticks;
	uint64_t pages;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid); /* fits */
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 ||
	    sbx_file_read(proc_fd, "stat", 0, FILE_MAX_BYTES, &stat, NULL, NULL, NULL) < 0 ||
	    sbx_file_read(proc_fd, "status", 0, FILE_MAX_BYTES * 16, &status, NULL, NULL, NULL) < 0)
		return 1;
	if (sbx_process_stat_parse(stat, &process.state, &ticks, &pages) < 0)
		return 1;
	process.uid = real_uid(status);
	process.inside_pid = sbx_process_inside_pid(status);
	process.cpu_ms = ticks * MS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	process.rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (read_command(proc_fd, stat, &process.command) < 0)
		return -ENOMEM;
	*ret = process;
	return 0;
}

static int add_process(struct sbx_processes *processes, pid_t pid)
{
	struct sbx_process process;
	struct sbx_process *entries;
	int rc = read_process(pid, &process);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	entries = reallocarray(processes->entries, processes->n_entries + 1, sizeof(*entries));
	if (entries == NULL) {
		free(process.command);
		return -ENOMEM;
	}
	processes->entries = entries;
	entries[processes->n_entries++] = process;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sbx_process *left = a;
	const struct sbx_process *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

int sbx_processes_list(int dir_fd, struct sbx_processes *ret_processes, struct sbx_err *err)
{
	sbx_autoprocesses struct sbx_processes found = {0};
	sbx_autofree char *list = NULL;
	char *save = NULL;
	int rc = sbx_file_read(dir_fd, "cgroup.procs", 0, LIST_MAX_BYTES, &list, NULL, NULL, err);

	if (rc < 0)
		return rc;
	for (char *line = strtok_r(list, "\n", &save); rc == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		uint64_t pid;

		/* 0: not visible from here */
		if (sbx_parse_u64(line, 1, INT32_MAX, &pid) == 0)
			rc = add_process(&found, (pid_t)pid);
	}
	if (rc < 0)
		return sbx_fail(err, -rc, "list processes: %s", strerror(-rc));
	if (found.n_entries > 0)
		qsort(found.entries, found.n_entries, sizeof(*found.entries), compare);
	*ret_processes = found;
	found = (struct sbx_processes){0};
	return 0;
}

void sbx_processes_done(struct sbx_processes *processes)
{
	for (size_t i = 0; i < processes->n_entries; i++)
		free(processes->entries[i].command);
	free(processes->entries);
	*processes = (struct sbx_processes){0};
}
