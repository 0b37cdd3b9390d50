/* SPDX-License-Identifier: MIT */
#include "control/usage.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"

#include <stdbool.h>
#include <string.h>

#define FILE_MAX_BYTES 65536
#define NS_PER_US 1000
/* cgroup v1 writes "no limit" as the largest multiple of a page: whatever comes near is none. */
#define V1_UNLIMITED (UINT64_C(1) << 62)

/* The number at 'text', up to a blank, a line's end or the text's; "max" is SBX_UNKNOWN. */
static uint64_t number_at(const char *text)
{
	char digits[24];
	size_t length = strspn(text, "0123456789");
	uint64_t number;

	if (length == 0 || length >= sizeof(digits))
		return SBX_UNKNOWN;
	memcpy(digits, text, length);
	digits[length] = '\0';
	return sbx_parse_u64(digits, 0, UINT64_MAX, &number) < 0 ? SBX_UNKNOWN : number;
}

/* In a text of lines "KEY NUMBER". */
static uint64_t number_of_key(const char *text, const char *key)
{
	const size_t length = strlen(key);

	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');

		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			return number_at(line + length + 1);
		line = end == NULL ? NULL : end + 1;
	}
	return SBX_UNKNOWN;
}

struct source {
	const int *dir_fds;
	size_t n_fds;
};

/* From the first directory that has the file. key: NULL = it holds just the number. */
static bool look(const struct source *source, const char *file, const char *key, uint64_t *ret)
{
	for (size_t i = 0; i < source->n_fds; i++) {
		sbx_autofree char *text = NULL;

		if (source->dir_fds[i] < 0 ||
		    sbx_file_read(source->dir_fds[i], file, 0, FILE_MAX_BYTES, &text, NULL, NULL,
				  NULL) < 0)
			continue;
		*ret = key == NULL ? number_at(text) : number_of_key(text, key);
		return true;
	}
	return false;
}

/* v2's name first, then v1's. */
static uint64_t either(const struct source *source, const char *v2_file, const char *v2_key,
		       const char *v1_file, const char *v1_key)
{
	uint64_t value;

	if (look(source, v2_file, v2_key, &value) || look(source, v1_file, v1_key, &value))
		return value;
	return SBX_UNKNOWN;
}

void sbx_usage_read(const int *dir_fds, size_t n_fds, struct sbx_usage *ret_usage)
{
	const struct source source = {.dir_fds = dir_fds, .n_fds = n_fds};
	struct sbx_usage usage;
	uint64_t ns;

	usage.memory_bytes = either(&source, "memory.current", NULL, "memory.usage_in_bytes", NULL);
	usage.memory_peak_bytes =
	    either(&source, "memory.peak", NULL, "memory.max_usage_in_bytes", NULL);
	usage.memory_max_bytes = either(&source, "memory.max", NULL, "memory.limit_in_bytes", NULL);
	if (usage.memory_max_bytes >= V1_UNLIMITED)
		usage.memory_max_bytes = SBX_UNKNOWN;
	usage.oom_kills =
	    either(&source, "memory.events", "oom_kill", "memory.oom_control", "oom_kill");
	usage.tasks = either(&source, "pids.current", NULL, "pids.current", NULL);
	usage.tasks_max = either(&source, "pids.max", NULL, "pids.max", NULL);
	usage.cpu_us = SBX_UNKNOWN;
	if (look(&source, "cpuacct.usage", NULL, &ns) && ns != SBX_UNKNOWN)
		usage.cpu_us = ns / NS_PER_US;
	else
		(void)look(&source, "cpu.stat", "usage_usec", &usage.cpu_us); /* else unknown */
	*ret_usage = usage;
}
