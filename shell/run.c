/* SPDX-License-Identifier: MIT */
#include "shell/run.h"

#include "base/paths.h"
#include "base/str.h"
#include "shell/exit_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int cannot_run(const char *name, int code)
{
	(void)fprintf(stderr, SBX_SHELL_NAME ": %s: %s\n", name,
		      code == ENOENT ? "not found" : strerror(code)); /* nobody else to tell */
	return code == ENOENT ? SBX_EXIT_NOT_FOUND : SBX_EXIT_CANNOT_RUN;
}

int sbx_run(const struct sbx_options *options, const char *shell, char **env)
{
	sbx_autofree char **argv = NULL;
	sbx_autofree char *name = NULL;
	struct sbx_err err = {0};

	/* execvp(3) looks at the PATH of 'environ'; a script without "#!" is run by sh, as ever. */
	environ = env;
	if (options->command) {
		(void)execvp(options->rest[0], options->rest);
		return cannot_run(options->rest[0], errno);
	}
	if (sbx_options_shell_argv(options, shell, &argv, &name, &err) < 0)
		return sbx_refuse(&err);
	(void)execve(shell, argv, env);
	return cannot_run(shell, errno);
}

static bool names_sbxsh(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash == NULL ? path : slash + 1, SBX_SHELL_NAME) == 0;
}

int sbx_run_here(const struct sbx_options *options, const char *shell)
{
	const char *now = getenv("SHELL");
	struct sbx_err err = {0};

	/* Whoever started us may have taken it from the host's passwd. */
	if ((now == NULL || names_sbxsh(now)) && setenv("SHELL", shell, 1) < 0) {
		(void)sbx_fail(&err, errno, "%s", strerror(errno));
		return sbx_refuse(&err);
	}
	return sbx_run(options, shell, environ);
}
