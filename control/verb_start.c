/* SPDX-License-Identifier: MIT */
/* sbxctl start USER: have a sandbox that stays until it is stopped. */
#include "base/paths.h"
#include "control/output.h"
#include "control/user.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <string.h>

#define VERB "start"

static int print(const char *user, bool started, bool json)
{
	json_auto_t *root = NULL;

	if (!json) {
		sbx_print("%s: %s\n", user, started ? "started" : "runs already");
		return 0;
	}
	root = json_pack("{s:s, s:b}", "user", user, "started", (int)started);
	return sbx_print_json(root);
}

static int hold(const char *user, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status = NULL;
	int rc = sbx_user_status(user, NULL, &status, err);

	return rc < 0 ? rc : sbx_status_hold(status, err);
}

static int start(char **operands, const struct sbx_verb_options *options)
{
	__attribute__((cleanup(sbx_session_freep))) struct sbx_session *session = NULL;
	sbx_autouser struct sbx_user user = {0};
	struct sbx_err err = {0};
	bool started = false;
	int rc = sbx_user_load(operands[0], options, &user, &err);

	/* This process is a session of it until the keeper has been told to stay. */
	if (rc == 0)
		rc = sbx_sandbox_open(user.policy, user.identity, SBX_RUN_DIR, SBX_KEEPER, &session,
				      &started, &err);
	if (rc == 0)
		rc = hold(operands[0], &err);
	if (rc < 0) {
		sbx_complain(VERB, "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	if (started)
		sbx_user_log("sandbox started", operands[0], "");
	rc = print(operands[0], started, options->json);
	if (rc < 0) {
		sbx_complain(VERB, "%s", strerror(-rc));
		return SBX_EXIT_FAILED;
	}
	return SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_start = {
    .name = VERB,
    .operands = "USER",
    .summary = "start USER's sandbox and keep it until it is stopped",
    .help =
	"Starts USER's sandbox if it does not run, and has it stay until 'sbxctl stop' or 'kill',\n"
	"whatever 'linger' says: jobs that a command leaves behind live on, and the next 'sbxctl\n"
	"exec' or login need not wait for a start.\n"
	"\n"
	"exit status: 0 it runs; 3 could not be done.\n",
    .n_operands = 1,
    .run = start,
};
