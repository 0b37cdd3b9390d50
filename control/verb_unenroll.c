/* SPDX-License-Identifier: MIT */
/* sbxctl unenroll USER: from the next login on, USER is an ordinary user. */
#include "base/paths.h"
#include "base/str.h"
#include "config/enrolment.h"
#include "config/policy_file.h"
#include "control/account.h"
#include "control/command_line.h"
#include "control/output.h"
#include "control/program.h"
#include "control/steps.h"
#include "control/verb.h"
#include "sandbox/identity.h"
#include "sandbox/plan.h"
#include "sandbox/view.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define USERMOD "/usr/sbin/usermod"
#define GPASSWD "/usr/bin/gpasswd"

struct request {
	const char *user;
	const char *group;
	const char *policy_file;
	const char *shell; /* what becomes the login shell; NULL: the policy's */
	bool dry_run;
	bool json;
};

/* Words of a command line. execve(2) does not change them, whatever its prototype says. */
static char *word(const char *text) { return (char *)(uintptr_t)text; }

/* The shell that sbxsh stood in front of, if this host has it, too: it may be an image's. */
static int real_shell(const struct request *request, char **ret_shell, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_identity_freep))) struct sbx_identity *who = NULL;
	__attribute__((cleanup(sbx_policy_freep))) struct sbx_policy *policy = NULL;
	const char *shell = request->shell;
	int rc = 0;

	if (shell == NULL) {
		rc = sbx_identity_lookup(request->user, &who, err);
		if (rc == 0)
			rc = sbx_policy_load(request->policy_file, who, &policy, err);
		if (rc < 0)
			return sbx_wrap(err, rc, "which shell instead of sbxsh? --shell says it");
		shell = sbx_plan_shell(policy, access(SBX_SHELL_DEFAULT, X_OK) == 0);
		if (access(shell, X_OK) < 0)
			shell = SBX_SHELL_FALLBACK;
	}
	if (shell[0] != '/' || access(shell, X_OK) < 0)
		return sbx_fail(err, EINVAL, "'%s' is not the path of a shell here", shell);
	*ret_shell = strdup(shell);
	return *ret_shell == NULL ? sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM)) : 0;
}

static int reset_shell(const struct request *request, const struct sbx_account *account,
		       struct sbx_steps *steps, struct sbx_err *err)
{
	const char *slash = strrchr(account->shell, '/');
	sbx_autofree char *shell = NULL;
	int rc;

	if (strcmp(slash == NULL ? account->shell : slash + 1, SBX_SHELL_NAME) != 0)
		return 0;
	rc = real_shell(request, &shell, err);
	if (rc == 0 && !request->dry_run) {
		char *const argv[] = {word(USERMOD), word("--shell"),	  shell,
				      word("--"),    word(request->user), NULL};

		rc = sbx_program_run(USERMOD, argv, err);
	}
	if (rc == 0)
		sbx_steps_add(steps, "shell", true, "login shell %s (was %s)", shell,
			      account->shell);
	return rc;
}

static int leave_group(const struct request *request, const struct sbx_account *account,
		       struct sbx_steps *steps, struct sbx_err *err)
{
	struct sbx_group_facts facts;
	int rc = sbx_group_lookup(request->group, request->user, &facts, err);

	if (rc == 0 && facts.exists && facts.gid == account->gid)
		return sbx_fail(err, EPERM,
				"'%s' is the primary group of '%s'; give the user another one by "
				"usermod --gid",
				request->group, request->user);
	if (rc < 0 || !facts.listed)
		return rc;
	if (!request->dry_run) {
		char *const argv[] = {word(GPASSWD), word("--delete"), word(request->user),
				      word(request->group), NULL};

		rc = sbx_program_run(GPASSWD, argv, err);
	}
	if (rc == 0)
		sbx_steps_add(steps, "member", true, "not in group '%s' any more", request->group);
	return rc;
}

/* It is whether logins are still sandboxed that counts, not whether programs ended with 0. */
static int verify(const struct request *request, struct sbx_err *err)
{
	enum sbx_enrolment enrolment = SBX_NOT_ENROLLED;
	int rc;

	if (request->dry_run)
		return 0;
	rc = sbx_enrolment_lookup(request->user, request->group, &enrolment, err);
	if (rc == 0 && (enrolment == SBX_ENROLLED_BY_GROUP || enrolment == SBX_ENROLLED_BY_SHELL))
		return sbx_fail(err, EEXIST, "'%s' is still enrolled, by %s", request->user,
				enrolment == SBX_ENROLLED_BY_SHELL ? "the login shell"
								   : "the group");
	return rc;
}

static int act(const struct request *request, struct sbx_steps *steps, struct sbx_err *err)
{
	struct sbx_account account = {0};
	int rc = sbx_account_lookup(request->user, &account, err);

	if (rc < 0)
		return rc;
	/* The shell first: if that fails the user is still in the sandbox, and not half out. */
	rc = reset_shell(request, &account, steps, err);
	if (rc == 0)
		rc = leave_group(request, &account, steps, err);
	sbx_account_done(&account);
	if (rc == 0)
		rc = verify(request, err);
	if (rc < 0)
		return rc;
	if (steps->n_entries == 0)
		sbx_steps_add(steps, "user", false, "'%s' is not enrolled", request->user);
	else
		sbx_steps_add_next(steps, "sessions that run stay in the sandbox until they end");
	sbx_steps_add_next(steps, "the workspace, keys and secrets of %s are kept", request->user);
	return 0;
}

static const struct sbx_option own_options[] = {
    {"shell", 0, "SHELL", "the login shell instead of sbxsh (default: 'shell' of the policy)"},
    {"dry-run", 'n', NULL, "only say what would be done"},
    {0},
};

static int unenroll(int argc, char **argv)
{
	sbx_autocommandline struct sbx_command_line line = {0};
	sbx_autosteps struct sbx_steps steps = {0};
	struct request request;
	struct sbx_err err = {0};
	int rc =
	    sbx_command_line_read(&sbx_verb_unenroll, own_options, 1, 1, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	request = (struct request){
	    .user = line.operands[0],
	    .group = line.common.group,
	    .policy_file = line.common.policy_file,
	    .shell = sbx_command_line_value(&line, "shell"),
	    .dry_run = sbx_command_line_value(&line, "dry-run") != NULL,
	    .json = line.common.json,
	};
	if (geteuid() != 0) {
		sbx_complain("unenroll", "only root can do that");
		return SBX_EXIT_FAILED;
	}
	if (!sbx_username_valid(request.user)) {
		sbx_complain("unenroll", "not a usable user name");
		return SBX_EXIT_FAILED;
	}
	rc = act(&request, &steps, &err);
	if (sbx_steps_print(&steps, request.user, request.dry_run, request.json) < 0 && rc == 0)
		rc = sbx_fail(&err, ENOMEM, "%s", strerror(ENOMEM));
	if (rc < 0)
		sbx_complain("unenroll", "%s", err.msg);
	return rc < 0 ? SBX_EXIT_FAILED : SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_unenroll = {
    .name = "unenroll",
    .operands = "USER",
    .summary = "USER's logins are on the host again; the workspace is kept",
    .help =
	"Takes USER out of the group and, if the login shell is sbxsh, puts back a real one. The\n"
	"workspace, the keys and the secrets are kept. Sessions that run stay in the sandbox.\n",
    .run_own = unenroll,
};
