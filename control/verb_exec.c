/* SPDX-License-Identifier: MIT */
/* sbxctl exec USER: run a command in the sandbox, for people and for programs. */
#include "base/fd.h"
#include "base/paths.h"
#include "config/environment_file.h"
#include "config/session_environment.h"
#include "control/command_line.h"
#include "control/json_text.h"
#include "control/output.h"
#include "control/run.h"
#include "control/workspace_file.h"
#include "sandbox/path.h"
#include "sandbox/plan.h"
#include "sandbox/view.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#define VERB "exec"
#define CAPTURE_MAX ((size_t)64 << 20)

static const struct sbx_option own[] = {
    {"cwd", '\0', "DIR", "start there, inside; relative to home (default: home)"},
    {"env", 'e', "NAME=VALUE", "set a variable, for this command only; may be repeated"},
    {"timeout", '\0', "SECONDS", "end it, and all it started, after that time"},
    {"tty", 't', NULL, "give it a terminal of its own"},
    {"frames", '\0', NULL, "print a JSON object a line as output arrives"},
    {"command", 'c', "STRING", "run USER's shell with -c STRING"},
    {.name = NULL},
};

struct prepared {
	struct sbx_user user;
	char **env;
	char *shell;
	char *cwd;
};

static void prepared_done(struct prepared *prepared)
{
	sbx_user_done(&prepared->user);
	sbx_session_environment_free(prepared->env);
	free(prepared->shell);
	free(prepared->cwd);
}

/* ---------------------------------------------------------------------------- preparing */

/* The same shell that a login gets. */
static int find_shell(const struct sbx_policy *policy, char **ret_shell, struct sbx_err *err)
{
	sbx_autoclose int root_fd = open(policy->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sbx_autoclose int fd = -EBADF;
	const bool present =
	    root_fd >= 0 && sbx_path_open_in(root_fd, SBX_SHELL_DEFAULT, O_PATH, &fd, NULL) == 0;

	*ret_shell = strdup(sbx_plan_shell(policy, present));
	return *ret_shell == NULL ? sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM)) : 0;
}

static int add_given(char ***env, const struct sbx_command_line *line, struct sbx_err *err)
{
	for (int i = 0; i < line->n_given; i++) {
		const char *value = line->given[i].value;
		sbx_autofree char *name = NULL;
		size_t length;

		if (line->given[i].option != &own[1])
			continue;
		length = strcspn(value, "=");
		name = strndup(value, length);
		if (name == NULL)
			return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
		if (value[length] != '=' || !sbx_variable_name_valid(name))
			return sbx_fail(
			    err, EINVAL,
			    "--env wants NAME=VALUE, with a NAME of letters, digits and '_'");
		if (sbx_session_environment_set(env, name, value + length + 1) < 0)
			return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	}
	return 0;
}

/*
 * Of sbxctl's own variables only what describes the terminal goes along: what a program
 * starts shall not depend on who started the program.
 */
static int make_environment(struct prepared *prepared, const struct sbx_command_line *line,
			    bool terminal, struct sbx_err *err)
{
	static const char *const terminal_names[] = {"TERM", "COLORTERM", NULL};
	__attribute__((cleanup(sbx_environment_freep))) struct sbx_environment *store = NULL;
	sbx_autoenv char **brought = NULL;
	const struct sbx_user *user = &prepared->user;
	int rc = sbx_environment_load(SBX_ENV_DIR, user->identity, &store, err);

	if (rc < 0)
		return rc;
	rc = sbx_session_environment_set(&brought, "LANG", "C.UTF-8");
	for (size_t i = 0; rc == 0 && terminal && terminal_names[i] != NULL; i++) {
		const char *value = getenv(terminal_names[i]);

		if (value != NULL)
			rc = sbx_session_environment_set(&brought, terminal_names[i], value);
	}
	if (rc < 0)
		return sbx_fail(err, -rc, "%s", strerror(-rc));
	rc = sbx_session_environment_make(user->policy, user->identity, prepared->shell, store,
					  brought, &prepared->env, err);
	return rc < 0 ? rc : add_given(&prepared->env, line, err);
}

/* As it is inside. A directory of the workspace may be given by its place on the host, too. */
static int find_cwd(const struct sbx_policy *policy, const char *cwd, char **ret_cwd,
		    struct sbx_err *err)
{
	sbx_autostr struct sbx_str path = {0};
	const size_t length = strlen(policy->workspace);

	if (cwd == NULL || cwd[0] == '\0')
		sbx_str_add(&path, policy->home);
	else if (cwd[0] != '/')
		sbx_str_addf(&path, "%s/%s", policy->home, cwd);
	else if (strncmp(cwd, policy->workspace, length) == 0 &&
		 (cwd[length] == '/' || cwd[length] == '\0'))
		sbx_str_addf(&path, "%s%s", policy->home, cwd + length);
	else
		sbx_str_add(&path, cwd);
	return sbx_str_take(&path, ret_cwd) < 0 ? sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM)) : 0;
}

static int prepare(const struct sbx_command_line *line, bool terminal, struct prepared *prepared,
		   struct sbx_err *err)
{
	int rc = sbx_user_load(line->operands[0], &line->common, &prepared->user, err);

	if (rc == 0)
		rc = find_shell(prepared->user.policy, &prepared->shell, err);
	if (rc == 0)
		rc = make_environment(prepared, line, terminal, err);
	if (rc == 0)
		rc = find_cwd(prepared->user.policy, sbx_command_line_value(line, "cwd"),
			      &prepared->cwd, err);
	return rc;
}

/* ---------------------------------------------------------------------------- the result */

static json_t *result_json(const struct sbx_run_result *result, const char *kind)
{
	char name[16];
	const bool killed = result->failure == 0 && (result->signal != 0 || result->timed_out);
	json_t *root = json_object();
	int rc = 0;

	if (result->signal != 0)
		sbx_signal_name(result->signal, name, sizeof(name));
	if (kind != NULL)
		rc |= json_object_set_new(root, "kind", json_string(kind));
	rc |= json_object_set_new(root, "code",
				  killed ? json_null() : json_integer(sbx_run_exit_status(result)));
	rc |= json_object_set_new(root, "signal",
				  result->failure == 0 && result->signal != 0 ? json_string(name)
									      : json_null());
	rc |= json_object_set_new(root, "timedOut", json_boolean(result->timed_out));
	rc |= json_object_set_new(root, "outOfMemory", json_boolean(result->out_of_memory));
	rc |= json_object_set_new(root, "sandboxEnded", json_boolean(result->lost));
	if (result->failure != 0)
		rc |= sbx_json_text_set(root, "error", result->err.msg, strlen(result->err.msg));
	if (rc == 0)
		return root;
	json_decref(root);
	return NULL;
}

static int print_json(const struct sbx_run_result *result)
{
	json_auto_t *root = result_json(result, NULL);
	const struct sbx_str *out = &result->out;
	const struct sbx_str *err = &result->err_out;
	int rc = sbx_json_text_set(root, "stdout", out->text == NULL ? "" : out->text, out->length);

	if (rc == 0)
		rc = sbx_json_text_set(root, "stderr", err->text == NULL ? "" : err->text,
				       err->length);
	if (rc == 0 && result->out_truncated)
		rc = json_object_set_new(root, "stdoutTruncated", json_true());
	if (rc == 0 && result->err_truncated)
		rc = json_object_set_new(root, "stderrTruncated", json_true());
	return rc < 0 ? -ENOMEM : sbx_print_json(root);
}

static int print_last_frame(const struct sbx_run_result *result)
{
	json_auto_t *root = result_json(result, "result");

	if (root == NULL || json_dumpf(root, stdout, JSON_COMPACT) < 0)
		return -ENOMEM;
	sbx_print("\n");
	return 0;
}

static void explain(const struct sbx_run_result *result, const char *user)
{
	if (result->failure != 0)
		sbx_complain(VERB, "%s", result->err.msg);
	else if (result->lost)
		sbx_complain(VERB, "the sandbox ended under the command");
	else if (result->out_of_memory)
		sbx_complain(VERB, "killed because the memory limit of %s was reached", user);
}

static int print_result(const struct sbx_run *run, const struct sbx_run_result *result,
			const char *user)
{
	int rc = 0;

	switch (run->format) {
	case SBX_RUN_PLAIN:
		break;
	case SBX_RUN_FRAMES:
		rc = print_last_frame(result);
		break;
	case SBX_RUN_JSON:
		rc = print_json(result);
		break;
	}
	explain(result, user);
	if (rc == 0 && fflush(stdout) != 0)
		rc = -errno;
	if (rc < 0) {
		clearerr(stdout); /* main() shall not say it again, and end with another status */
		sbx_complain(VERB, "%s", strerror(-rc));
		return SBX_RUN_FAILED;
	}
	return sbx_run_exit_status(result);
}

/* --------------------------------------------------------------------------------------------- */

static int usage(const char *complaint)
{
	sbx_complain(VERB, "%s", complaint);
	(void)sbx_verb_usage_error(&sbx_verb_exec); /* 2 could be the command's */
	return SBX_RUN_FAILED;
}

/* The whole command line, but who it is for. -1 to go on, else the exit status. */
static int understand(const struct sbx_command_line *line, struct sbx_run *run)
{
	const char *timeout = sbx_command_line_value(line, "timeout");
	const bool frames = sbx_command_line_value(line, "frames") != NULL;
	unsigned long long timeout_ms = 0;

	run->string = sbx_command_line_value(line, "command");
	run->argv = line->command[0] == NULL ? NULL : line->command;
	run->terminal = sbx_command_line_value(line, "tty") != NULL;
	if (run->string != NULL && run->argv != NULL)
		return usage("-c STRING and a command exclude each other");
	if (run->argv != NULL && run->argv[0][0] == '\0')
		return usage("an empty command");
	if (frames && line->common.json)
		return usage("--json and --frames exclude each other");
	if (timeout != NULL && (sbx_parse_seconds(timeout, &timeout_ms) < 0 || timeout_ms == 0))
		return usage("--timeout wants a number of seconds above 0");
	run->timeout_ms = timeout_ms;
	run->format = frames ? SBX_RUN_FRAMES : line->common.json ? SBX_RUN_JSON : SBX_RUN_PLAIN;
	run->capture_max = CAPTURE_MAX;
	return -1;
}

static int exec(int argc, char **argv)
{
	__attribute__((cleanup(prepared_done))) struct prepared prepared = {0};
	__attribute__((cleanup(sbx_run_result_done))) struct sbx_run_result result = {0};
	sbx_autocommandline struct sbx_command_line line;
	struct sbx_run run = {.user = &prepared.user};
	int rc = sbx_command_line_read(&sbx_verb_exec, own, 1, 1, true, argc, argv, &line);

	if (rc >= 0)
		return rc == SBX_EXIT_OK ? rc : SBX_RUN_FAILED;
	rc = understand(&line, &run);
	if (rc >= 0)
		return rc;
	if (prepare(&line, run.terminal, &prepared, &result.err) < 0) {
		result.failure = SBX_RUN_FAILED;
	} else {
		run.env = prepared.env;
		run.shell = prepared.shell;
		run.cwd = prepared.cwd;
		sbx_run(&run, &result);
	}
	return print_result(&run, &result, line.operands[0]);
}

const struct sbx_verb sbx_verb_exec = {
    .name = VERB,
    .operands = "USER [[--] COMMAND...]",
    .summary = "run a command in USER's sandbox",
    .help =
	"Runs a command as USER in the sandbox, which is started if it does not run. USER needs "
	"no\n"
	"password and no shell. Without COMMAND and -c it is USER's login shell, which reads its\n"
	"commands from standard input. COMMAND is run as it stands, by no shell.\n"
	"\n"
	"The environment is that of a login, with the secrets; of the caller's nothing but, with\n"
	"--tty, TERM and COLORTERM. Standard input is passed on, output comes as it is written. "
	"The\n"
	"command gets pipes, and never a descriptor of the caller.\n"
	"\n"
	"When the time is over, or sbxctl gets INT, TERM, HUP or QUIT, or nobody reads its output "
	"any\n"
	"more, or it is killed, the command ends: first its process group gets that signal (TERM "
	"for\n"
	"the time), a moment later all that it started is killed, whatever it did to get away. "
	"After\n"
	"an end of its own what it left running goes on as long as the sandbox does: until the "
	"last\n"
	"session ends and 'linger' is over, or after 'sbxctl start' until 'sbxctl stop'.\n"
	"\n"
	"--json prints, at the end, one object with code (null if killed), signal (\"SIGKILL\", "
	"or\n"
	"null), stdout, stderr, timedOut, outOfMemory, sandboxEnded; error, if it could not be "
	"run. Text that is "
	"no\n"
	"UTF-8 has U+FFFD for what is wrong, and the exact bytes in stdoutBase64 or stderrBase64. "
	"Of\n"
	"each stream 64 MiB are kept; stdoutTruncated tells that there was more.\n"
	"--frames prints {\"kind\": \"stdout\" or \"stderr\", \"data\": base64} a line as it "
	"arrives, at\n"
	"last {\"kind\": \"result\"} with the members above but stdout and stderr.\n"
	"\n"
	"exit status: the command's; 128+n killed by signal n; 124 time over; 125 sbxctl failed, "
	"or\n"
	"was called wrongly; 126 COMMAND cannot be run; 127 it is not there.\n",
    .run_own = exec,
};
