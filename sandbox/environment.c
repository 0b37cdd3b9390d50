/* SPDX-License-Identifier: MIT */
#include "sandbox/environment.h"

#include "base/str.h"

#include <stdlib.h>

void sbx_environment_free(struct sbx_environment *environment)
{
	if (environment == NULL)
		return;
	for (size_t i = 0; i < environment->n_variables; i++) {
		free(environment->variables[i].name);
		sbx_secret_free(environment->variables[i].value);
	}
	free(environment->variables);
	free(environment);
}

void sbx_environment_freep(struct sbx_environment **environment)
{
	sbx_environment_free(*environment);
}
