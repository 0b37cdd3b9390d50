/* SPDX-License-Identifier: MIT */
/* sbxctl check: will enrolled users get into their sandbox, and only there? */
#include "base/paths.h"
#include "base/str.h"
#include "control/check.h"
#include "control/output.h"
#include "control/verb.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static void check_done(struct sbx_check *check)
{
	sbx_findings_done(&check->findings);
	sbx_strv_free(check->enrolled);
}

static int run_all(struct sbx_check *check, struct sbx_err *err)
{
	static int (*const checks[])(struct sbx_check *, struct sbx_err *) = {
	    sbx_check_host,   sbx_check_policy,	  sbx_check_accounts,
	    sbx_check_stores, sbx_check_services,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int rc = checks[i](check, err);

		if (rc < 0)
			return rc;
	}
	if (check->findings.rc < 0)
		return sbx_fail(err, -check->findings.rc, "%s", strerror(-check->findings.rc));
	return 0;
}

static int print(const struct sbx_findings *findings, bool json)
{
	sbx_autostr struct sbx_str text = {0};

	if (json) {
		json_auto_t *root = sbx_findings_json(findings);

		return sbx_print_json(root);
	}
	sbx_findings_print(findings, &text);
	if (text.rc < 0)
		return text.rc;
	sbx_print("%s", text.text);
	return 0;
}

static int check(char **operands, const struct sbx_verb_options *options)
{
	static const char *const pam_dirs[] = {"/etc/pam.d", "/usr/lib/pam.d", NULL};
	__attribute__((cleanup(check_done))) struct sbx_check check = {
	    .paths =
		{
		    .policy_file = options->policy_file,
		    .env_dir = SBX_ENV_DIR,
		    .keeper = SBX_KEEPER,
		    .shell = SBX_BINDIR "/" SBX_SHELL_NAME,
		    .shells_file = "/etc/shells",
		    .pam_dirs = pam_dirs,
		    .sshd_config = "/etc/ssh/sshd_config",
		    .group = options->group,
		},
	};
	struct sbx_err err = {0};
	int rc;

	(void)operands; /* takes none */
	if (geteuid() != 0) {
		sbx_complain("check",
			     "only root can look into the environment stores and workspaces");
		return SBX_EXIT_FAILED;
	}
	rc = run_all(&check, &err);
	if (rc < 0) {
		sbx_complain("check", "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	rc = print(&check.findings, options->json);
	if (rc < 0) {
		sbx_complain("check", "%s", strerror(-rc));
		return SBX_EXIT_FAILED;
	}
	return sbx_findings_count(&check.findings, SBX_FINDING_ERROR) > 0 ? SBX_EXIT_NO
									  : SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_check = {
    .name = "check",
    .operands = "",
    .summary = "look for mistakes in the installation, the policy and the stores",
    .help = "Looks whether every enrolled user can log in and ends up in the sandbox: the policy\n"
	    "file, the environment stores (owner, mode, syntax), the group and its members, the\n"
	    "workspaces, the PAM services that open sessions, sshd's UsePAM, the keeper, the\n"
	    "kernel and cgroups. Each finding comes with what mends it. Changes nothing.\n"
	    "\n"
	    "exit status: 0 no errors (warnings at most); 1 errors found; 3 could not look.\n",
    .n_operands = 0,
    .run = check,
};
