/* SPDX-License-Identifier: MIT */
/* sbxctl logs [USER]: what the system log says about sandboxes. */
#include "base/fd.h"
#include "base/str.h"
#include "control/audit_line.h"
#include "control/command_line.h"
#include "control/json_text.h"
#include "control/output.h"
#include "control/user.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERB "logs"
#define JOURNALCTL "/usr/bin/journalctl"
#define JOURNAL_DIR "/run/systemd/journal"

/*
 * Where syslog daemons put authentication messages: Debian, Red Hat, others. Rotated ones
 * first, so that lines come in order of time. A line that two files have is shown twice.
 */
static const char *const files[] = {
    "/var/log/auth.log.1", "/var/log/auth.log", "/var/log/secure",
    "/var/log/messages",   "/var/log/syslog",
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

struct reader {
	const char *user; /* NULL: everybody */
	json_t *list;	  /* NULL: print lines */
	int rc;
};

static void take_line(struct reader *reader, const char *line, size_t length)
{
	struct sbx_audit_line found;
	json_t *entry;

	if (!sbx_audit_line_parse(line, length, &found) ||
	    (reader->user != NULL && strcmp(found.user, reader->user) != 0))
		return;
	if (reader->list == NULL) {
		/* Others may write to the log, too. */
		for (size_t i = 0; i < length; i++)
			sbx_print("%c",
				  (unsigned char)line[i] < ' ' || line[i] == 0x7f ? '?' : line[i]);
		sbx_print("\n");
		return;
	}
	entry = json_object();
	if (sbx_json_text_set(entry, "line", line, length) < 0)
		reader->rc = -ENOMEM;
	for (size_t i = 0; i < found.n_words; i++) {
		if (sbx_json_text_set(entry, found.words[i].name, found.words[i].value,
				      strlen(found.words[i].value)) < 0)
			reader->rc = -ENOMEM;
	}
	if (json_array_append_new(reader->list, entry) < 0)
		reader->rc = -ENOMEM;
}

static void read_stream(struct reader *reader, FILE *stream)
{
	sbx_autofree char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while ((length = getline(&line, &room, stream)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			length--;
		take_line(reader, line, (size_t)length);
	}
}

/* Returns whether there was such a file. */
static bool read_file(struct reader *reader, const char *path)
{
	sbx_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	sbx_autofclose FILE *stream = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	stream = fdopen(fd, "re");
	if (stream == NULL) {
		reader->rc = -errno;
		return false;
	}
	(void)sbx_take_fd(&fd); /* the stream's */
	read_stream(reader, stream);
	return true;
}

/* -------------------------------------------------------------------------- the journal */

static void run_journalctl(int out_fd) __attribute__((noreturn));
static void run_journalctl(int out_fd)
{
	static const char *const words[] = {
	    JOURNALCTL, "--quiet", "--no-pager", "--output=short-iso", "SYSLOG_FACILITY=10", NULL};
	char *argv[sizeof(words) / sizeof(words[0])] = {NULL};
	char *const envp[] = {NULL};

	for (size_t i = 0; words[i] != NULL; i++)
		argv[i] = strdup(words[i]);
	if (dup2(out_fd, STDOUT_FILENO) >= 0)
		(void)execve(JOURNALCTL, argv, envp);
	_exit(127);
}

static int read_journal(struct reader *reader, struct sbx_err *err)
{
	sbx_autofclose FILE *stream = NULL;
	int ends[2];
	int status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return sbx_fail(err, errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		run_journalctl(ends[1]);
	(void)close(ends[1]); /* the child's */
	stream = fdopen(ends[0], "re");
	if (pid < 0 || stream == NULL) {
		(void)close(ends[0]);
		return sbx_fail(err, errno, "run " JOURNALCTL ": %s", strerror(errno));
	}
	read_stream(reader, stream);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return sbx_fail(err, errno, "wait: %s", strerror(errno));
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return sbx_fail(err, EIO, JOURNALCTL " failed");
	return 0;
}

/* Where journald runs, syslog's files may be there too, but are the copy. */
static int read_logs(struct reader *reader, struct sbx_err *err)
{
	bool found = false;

	if (access(JOURNAL_DIR, F_OK) == 0 && access(JOURNALCTL, X_OK) == 0)
		return read_journal(reader, err);
	for (size_t i = 0; i < N_FILES; i++)
		found = read_file(reader, files[i]) || found;
	if (!found)
		return sbx_fail(err, ENOENT,
				"no system log found: neither a running journald nor one of "
				"/var/log/{auth.log,secure,messages,syslog}");
	return 0;
}

static int logs(int argc, char **argv)
{
	static const struct sbx_option none[] = {{.name = NULL}};
	sbx_autocommandline struct sbx_command_line line;
	json_auto_t *list = NULL;
	struct reader reader = {0};
	struct sbx_err err = {0};
	int rc = sbx_command_line_read(&sbx_verb_logs, none, 0, 1, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	if (sbx_user_need_root(VERB) < 0)
		return SBX_EXIT_FAILED;
	reader.user = line.n_operands > 0 ? line.operands[0] : NULL;
	if (line.common.json)
		reader.list = list = json_array();
	rc = read_logs(&reader, &err);
	if (rc == 0 && line.common.json)
		rc = sbx_print_json(list);
	if (rc == 0)
		rc = reader.rc;
	if (rc < 0) {
		sbx_complain(VERB, "%s", err.msg[0] != '\0' ? err.msg : strerror(-rc));
		return SBX_EXIT_FAILED;
	}
	return SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_logs = {
    .name = VERB,
    .operands = "[USER]",
    .summary = "who was in a sandbox, when, from where, and why it ended",
    .help =
	"Shows the lines about sandboxes in the system log, oldest first: the journal, where "
	"journald\n"
	"runs, else /var/log/auth.log (and auth.log.1), secure, messages and syslog. They are\n"
	"  session opened: user= service= tty= from= by= sandbox=started|joined\n"
	"  session closed: user= service= ... why=logout|sandbox-ended|exit|timeout|SIGNAL\n"
	"  session of 'USER' refused: why\n"
	"  sandbox started|stopped|killed: user= by=\n"
	"with the words that are known. A login program that is killed writes no line at its end.\n"
	"--json prints objects with event, line, and each word as a member.\n"
	"\n"
	"exit status: 0 shown, if only nothing; 3 there is no log, or it cannot be read.\n",
    .run_own = logs,
};
