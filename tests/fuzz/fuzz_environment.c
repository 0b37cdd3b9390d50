/* SPDX-License-Identifier: MIT */
/* libFuzzer entry point: an environment store, and a value to be stored. */
#include "config/environment_file.h"

#include "base/str.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Write all variables anew and read them back; abort() is how a fuzz target reports. */
static void check_round_trip(const struct sbx_variable *variables, size_t n)
{
	struct sbx_environment *again = NULL;
	struct sbx_str text = {0};

	sbx_str_add(&text, "[secret]\n");
	for (size_t i = 0; i < n; i++) {
		if (sbx_environment_entry_add(&text, variables[i].name, variables[i].value, NULL) <
		    0)
			abort();
	}
	if (text.rc < 0 || sbx_environment_parse("f", text.text, text.length, &again, NULL) < 0 ||
	    again->n_variables != n)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (strcmp(again->variables[i].name, variables[i].name) != 0 ||
		    strcmp(again->variables[i].value, variables[i].value) != 0)
			abort();
	}
	sbx_environment_free(again);
	sbx_str_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "Some_NAME";
	struct sbx_environment *environment = NULL;
	struct sbx_err err = {0};
	struct sbx_variable variable = {.name = name};
	int rc = sbx_environment_parse("f", (const char *)data, size, &environment, &err);

	if ((rc == 0) != (environment != NULL) || rc == -EBADMSG || (rc < 0 && err.code == 0))
		abort();
	if (environment != NULL)
		check_round_trip(environment->variables, environment->n_variables);
	sbx_environment_free(environment);

	/* The same bytes, up to a NUL, as a value. */
	variable.value = strndup((const char *)data, size);
	if (variable.value != NULL && strlen(variable.value) <= SBX_ENVIRONMENT_VALUE_MAX)
		check_round_trip(&variable, 1);
	free(variable.value);
	return 0;
}
