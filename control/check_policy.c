/* SPDX-License-Identifier: MIT */
#include "config/policy_file.h"
#include "control/check.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>

/* A section for somebody who does not exist is most likely a typo, and then not in force. */
static void check_section(struct sbx_check *check, const struct sbx_policy_section *section)
{
	bool found = true;

	switch (section->scope) {
	case SBX_POLICY_DEFAULT:
		return;
	case SBX_POLICY_GROUP:
		found = getgrnam(section->name) != NULL;
		break;
	case SBX_POLICY_USER:
		found = getpwnam(section->name) != NULL;
		break;
	}
	if (found)
		return;
	sbx_findings_add(&check->findings, SBX_FINDING_WARNING, check->paths.policy_file,
			 "line %u: a section for %s '%s', which does not exist", section->line,
			 section->scope == SBX_POLICY_GROUP ? "group" : "user", section->name);
	sbx_findings_remedy(&check->findings, "correct the name, or remove the section");
}

int sbx_check_policy(struct sbx_check *check, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_policy_sections_freep))) struct sbx_policy_sections *list = NULL;
	struct sbx_err reason = {0};

	(void)err; /* a policy that cannot be read is a finding */
	if (sbx_policy_sections_list(check->paths.policy_file, &list, &reason) < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, check->paths.policy_file,
				 "no enrolled user can log in: %s", reason.msg);
		sbx_findings_remedy(&check->findings, "mend the file; a new login reads it again");
		check->policy_refused = true;
		return 0;
	}
	for (size_t i = 0; i < list->n_sections; i++)
		check_section(check, &list->sections[i]);
	return 0;
}
