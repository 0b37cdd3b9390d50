/* SPDX-License-Identifier: MIT */
#ifndef SBX_PROCESSES_H
#define SBX_PROCESSES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sbx_process {
	pid_t pid;	  /* as this process's /proc numbers it */
	pid_t inside_pid; /* as the sandbox does; 0: it is not in its PID namespace */
	uid_t uid;
	char state; /* R, S, D, Z, T, ... */
	uint64_t rss_bytes;
	uint64_t cpu_ms; /* used by it, and by children it has waited for */
	char *command;	 /* arguments with blanks between; or "[name]"; may hold any bytes */
};

struct sbx_processes {
	struct sbx_process *entries; /* by pid */
	size_t n_entries;
};

/*
 * The processes of a cgroup.
 * dir_fd         borrowed; has a file cgroup.procs
 * ret_processes  filled, not added to; caller frees with sbx_processes_done()
 */
int sbx_processes_list(int dir_fd, struct sbx_processes *ret_processes, struct sbx_err *err);
void sbx_processes_done(struct sbx_processes *processes);

#define sbx_autoprocesses __attribute__((cleanup(sbx_processes_done)))

/*
 * The pure part: read state, CPU time and resident pages out of a line of /proc/PID/stat,
 * whose second field is chosen by the process and may hold blanks and parentheses.
 * Returns 0 or -EBADMSG.
 */
int sbx_process_stat_parse(const char *line, char *ret_state, uint64_t *ret_ticks,
			   uint64_t *ret_rss_pages);

/* The last number of the line "NSpid:" in /proc/PID/status, if there is more than one; else 0. */
pid_t sbx_process_inside_pid(const char *status);

#endif
