/* SPDX-License-Identifier: MIT */
#ifndef SBX_USAGE_H
#define SBX_USAGE_H

#include <stddef.h>
#include <stdint.h>

#define SBX_UNKNOWN UINT64_MAX /* the kernel does not say, or there is no limit */

/* What a sandbox uses and may use, as its cgroup says. */
struct sbx_usage {
	uint64_t memory_bytes;
	uint64_t memory_peak_bytes;
	uint64_t memory_max_bytes;
	uint64_t oom_kills;
	uint64_t tasks;
	uint64_t tasks_max;
	uint64_t cpu_us;
};

/*
 * Read it. Every file is looked for in each directory, so that it does not matter which
 * hierarchy is which; what is not found is SBX_UNKNOWN.
 * dir_fds  borrowed; the sandbox's cgroup, on v1 one directory for each hierarchy. Those
 *          that are no descriptor are passed over.
 */
void sbx_usage_read(const int *dir_fds, size_t n_fds, struct sbx_usage *ret_usage);

#endif
