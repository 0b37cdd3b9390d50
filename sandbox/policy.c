/* SPDX-License-Identifier: MIT */
#include "sandbox/policy.h"

#include "base/str.h"

#include <stdlib.h>

void sbx_policy_free(struct sbx_policy *policy)
{
	if (policy == NULL)
		return;
	for (size_t i = 0; i < policy->n_folders; i++) {
		free(policy->folders[i].source);
		free(policy->folders[i].target);
	}
	free(policy->folders);
	free(policy->workspace);
	free(policy->home);
	free(policy->root);
	free(policy->shell);
	sbx_strv_free(policy->env_pass);
	free(policy->path);
	free(policy);
}

void sbx_policy_freep(struct sbx_policy **policy) { sbx_policy_free(*policy); }
