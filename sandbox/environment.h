/* SPDX-License-Identifier: MIT */
#ifndef SBX_ENVIRONMENT_H
#define SBX_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* One variable of the user's environment store. */
struct sbx_variable {
	char *name;
	char *value; /* any bytes but NUL */
	bool secret; /* from [secret]: its value is never shown */
};

/* All of them, in the order of the file. */
struct sbx_environment {
	struct sbx_variable *variables;
	size_t n_variables;
};

void sbx_environment_free(struct sbx_environment *environment); /* overwrites the values first */
void sbx_environment_freep(struct sbx_environment **environment);

#endif
