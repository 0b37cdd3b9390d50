/* SPDX-License-Identifier: MIT */
/* libFuzzer entry point: a policy file. Build with `make fuzz`. */
#include "config/policy_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the core takes for granted about a policy; abort() is how a fuzz target reports. */
static void check(const struct sbx_policy *policy)
{
	const char *const paths[] = {policy->workspace, policy->home, policy->root, policy->shell};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (paths[i][0] != '/' || strstr(paths[i], "/../") != NULL ||
		    strchr(paths[i], '\n') != NULL || strchr(paths[i], '%') != NULL)
			abort();
	}
	for (size_t i = 0; i < policy->n_folders; i++) {
		const char *target = policy->folders[i].target;

		if (policy->folders[i].source[0] != '/' || target[0] != '/' ||
		    strcmp(target, "/") == 0 || strcmp(target, "/proc") == 0 ||
		    strncmp(target, "/proc/", 6) == 0 || strcmp(target, policy->home) == 0)
			abort();
	}
	if (policy->memory_max_bytes < 16 << 20 || policy->tasks_max < 16 ||
	    policy->path[0] != '/' || strcmp(policy->home, "/") == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "agent";
	char home[] = "/home/agent";
	char group_name[] = "students";
	struct sbx_group groups[] = {{1001, group_name}};
	const struct sbx_identity who = {
	    .name = name, .uid = 1000, .gid = 1000, .home = home, .groups = groups, .n_groups = 1};
	struct sbx_policy_sections *sections = NULL;
	struct sbx_policy *policy = NULL;
	struct sbx_err err = {0};
	int rc = sbx_policy_parse("f", (const char *)data, size, &who, &policy, &err);

	if ((rc == 0) != (policy != NULL) || (rc < 0) != (err.code > 0 && err.msg[0] != '\0'))
		abort();
	if (policy != NULL)
		check(policy);
	/* The scan and libiniparser must agree on every input. */
	if (rc == -EBADMSG)
		abort();
	if (sbx_policy_sections_parse("f", (const char *)data, size, &sections, NULL) < 0 &&
	    rc == 0)
		abort();
	sbx_policy_sections_free(sections);
	sbx_policy_free(policy);
	return 0;
}
