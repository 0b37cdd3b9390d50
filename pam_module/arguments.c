/* SPDX-License-Identifier: MIT */
#include "pam_module/arguments.h"

#include "base/paths.h"

#include <errno.h>
#include <string.h>

static const char *value_of(const char *argument, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(argument, name, length) != 0 || argument[length] != '=' ||
	    argument[length + 1] == '\0')
		return NULL;
	return argument + length + 1;
}

int sbx_arguments_parse(int argc, const char **argv, struct sbx_arguments *ret, struct sbx_err *err)
{
	int rc = 0;

	*ret = (struct sbx_arguments){.group = SBX_GROUP, .policy_file = SBX_POLICY_FILE};
	for (int i = 0; i < argc; i++) {
		const char *group = value_of(argv[i], "group");
		const char *policy = value_of(argv[i], "policy");

		if (group != NULL)
			ret->group = group;
		else if (policy != NULL && policy[0] == '/')
			ret->policy_file = policy;
		else if (strcmp(argv[i], "debug") == 0)
			ret->debug = true;
		else
			rc = sbx_fail(err, EINVAL,
				      "unknown module argument '%s' (known: group=NAME, "
				      "policy=/FILE, debug)",
				      argv[i]);
	}
	return rc;
}
