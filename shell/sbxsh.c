/* SPDX-License-Identifier: MIT */
/*
 * sbxsh: a login shell that is never an open shell, and a command that runs another one in a
 * sandbox. Who calls decides what happens; see account.h, inside.h, request.h.
 *
 *   in a sandbox already    become the real shell
 *   root                    a real shell if this is root's login shell, else a refusal
 *   an enrolled user        the administrator's sandbox for that user, made without root
 *   anybody else            a sandbox around the current directory
 */
#include "base/paths.h"
#include "base/str.h"
#include "sandbox/view.h"
#include "shell/account.h"
#include "shell/exit_status.h"
#include "shell/inside.h"
#include "shell/options.h"
#include "shell/outside.h"
#include "shell/run.h"
#include "shell/startup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * With sbxsh as its login shell root has to get a real one, or nobody could mend that.
 * But if it typed "sbxsh -c ..." to have a sandbox it must not get none.
 */
static int run_as_root(const struct sbx_options *options)
{
	struct sbx_err err = {0};

	if (!options->own && !options->command && !options->dry_run &&
	    sbx_account_root_logs_in_with_us())
		return sbx_run_here(options, access(SBX_SHELL_DEFAULT, X_OK) == 0
						 ? SBX_SHELL_DEFAULT
						 : SBX_SHELL_FALLBACK);
	(void)sbx_fail(&err, EPERM,
		       "root is never sandboxed; run this as the user whose sandbox it shall be: "
		       "su - USER");
	return sbx_refuse(&err);
}

static int run_as_user(const struct sbx_options *options, const struct sbx_inherited *inherited)
{
	struct sbx_account account = {0};
	struct sbx_err err = {0};
	int status;

	if (sbx_account_find(getuid(), &account, &err) < 0)
		return sbx_refuse(&err);
	status = options->dry_run ? sbx_outside_explain(&account, options)
				  : sbx_outside_run(&account, options, inherited);
	sbx_account_done(&account);
	return status;
}

static int run(const struct sbx_options *options, const struct sbx_inherited *inherited)
{
	sbx_autofree char *shell = NULL;
	struct sbx_err err = {0};

	/* Set-id, it would do as somebody else what this caller says. */
	if (getuid() != geteuid() || getgid() != getegid()) {
		(void)sbx_fail(&err, EPERM, "must not be installed set-user-ID or set-group-ID");
		return sbx_refuse(&err);
	}
	if (sbx_inside_shell(&shell, &err) < 0)
		return sbx_refuse(&err);
	if (shell != NULL)
		return sbx_inside_exec(options, shell);
	if (getuid() == 0)
		return run_as_root(options);
	return run_as_user(options, inherited);
}

static int finish_output(void)
{
	struct sbx_err err = {0};

	if (fflush(stdout) == 0)
		return 0;
	(void)sbx_fail(&err, errno, "write to standard output: %s", strerror(errno));
	return sbx_refuse(&err);
}

int main(int argc, char **argv)
{
	struct sbx_inherited inherited;
	struct sbx_options options = {0};
	struct sbx_err err = {0};
	int status;

	if (sbx_startup(&inherited, &err) < 0 || sbx_options_parse(argc, argv, &options, &err) < 0)
		return sbx_refuse(&err);
	if (options.help) {
		sbx_options_help();
		status = finish_output();
	} else if (options.version) {
		(void)puts(SBX_SHELL_NAME " " SBX_VERSION); /* finish_output() looks at stdout */
		status = finish_output();
	} else {
		status = run(&options, &inherited);
	}
	sbx_options_done(&options);
	return status;
}
