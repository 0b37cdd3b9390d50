/* SPDX-License-Identifier: MIT */
/* sbxctl stop USER and kill USER: end a sandbox with all its sessions. */
#include "control/command_line.h"
#include "control/output.h"
#include "control/user.h"

#include <errno.h>
#include <string.h>

#define GRACE_DEFAULT_MS 10000

/* What both do when nothing runs: that is how it was to be. */
static int not_running(const char *verb, const char *user, const struct sbx_verb_options *options)
{
	json_auto_t *root = NULL;

	if (options->json) {
		root = json_pack("{s:s, s:b}", "user", user, "was_running", 0);
		if (sbx_print_json(root) < 0)
			return SBX_EXIT_FAILED;
		return SBX_EXIT_OK;
	}
	sbx_complain(verb, "no sandbox of '%s' runs", user);
	return SBX_EXIT_OK;
}

static int ended(const char *verb, const char *user, const struct sbx_status *status,
		 const struct sbx_verb_options *options)
{
	json_auto_t *root = NULL;

	if (!options->json) {
		sbx_print("%s: %zu session%s ended\n", user, status->n_sessions,
			  status->n_sessions == 1 ? "" : "s");
		return SBX_EXIT_OK;
	}
	root = json_pack("{s:s, s:b, s:I}", "user", user, "was_running", 1, "sessions",
			 (json_int_t)status->n_sessions);
	if (sbx_print_json(root) < 0) {
		sbx_complain(verb, "%s", strerror(ENOMEM));
		return SBX_EXIT_FAILED;
	}
	return SBX_EXIT_OK;
}

static int end(const char *verb, const char *user, bool at_once, uint64_t grace_ms,
	       const struct sbx_verb_options *options)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status = NULL;
	__attribute__((cleanup(sbx_state_freep))) struct sbx_state *state = NULL;
	struct sbx_err err = {0};
	int rc;

	if (sbx_user_need_root(verb) < 0)
		return SBX_EXIT_FAILED;
	rc = sbx_user_status(user, &state, &status, &err);
	if (sbx_status_none(rc))
		return not_running(verb, user, options);
	if (rc == 0) {
		/* Before it happens: the sessions' own lines, which say that it ended, come after.
		 */
		sbx_user_log(at_once ? "sandbox killed" : "sandbox stopped", user, "");
		rc = at_once ? sbx_status_kill(status, state, &err)
			     : sbx_status_stop(status, grace_ms, &err);
	}
	if (rc < 0) {
		sbx_complain(verb, "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	return ended(verb, user, status, options);
}

static int stop(int argc, char **argv)
{
	static const struct sbx_option own[] = {
	    {"grace", '\0', "SECONDS", "from TERM to KILL (default: 10)"},
	    {.name = NULL},
	};
	sbx_autocommandline struct sbx_command_line line;
	unsigned long long grace_ms = GRACE_DEFAULT_MS;
	const char *grace;
	int rc = sbx_command_line_read(&sbx_verb_stop, own, 1, 1, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	grace = sbx_command_line_value(&line, "grace");
	if (grace != NULL && sbx_parse_seconds(grace, &grace_ms) < 0) {
		sbx_complain("stop", "'%s' is no number of seconds", grace);
		return sbx_verb_usage_error(&sbx_verb_stop);
	}
	return end("stop", line.operands[0], false, grace_ms, &line.common);
}

static int kill_now(char **operands, const struct sbx_verb_options *options)
{
	return end("kill", operands[0], true, 0, options);
}

const struct sbx_verb sbx_verb_stop = {
    .name = "stop",
    .operands = "USER",
    .summary = "end USER's sandbox: TERM, then KILL",
    .help =
	"Sends TERM and HUP to every process in USER's sandbox, waits until they have ended, and\n"
	"after the grace kills those that have not. All sessions end; the workspace stays. Comes\n"
	"back when it is done. That no sandbox runs is said, and is no failure.\n"
	"\n"
	"exit status: 0 none runs any more; 3 could not be done.\n",
    .run_own = stop,
};

const struct sbx_verb sbx_verb_kill = {
    .name = "kill",
    .operands = "USER",
    .summary = "end USER's sandbox at once",
    .help = "Kills USER's sandbox with all its processes and sessions, without asking them. The\n"
	    "workspace stays. Comes back when it is done. That no sandbox runs is said, and is no\n"
	    "failure.\n"
	    "\n"
	    "exit status: 0 none runs any more; 3 could not be done.\n",
    .n_operands = 1,
    .run = kill_now,
};
