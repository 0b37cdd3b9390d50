/* SPDX-License-Identifier: MIT */
#ifndef SBX_STATUS_H
#define SBX_STATUS_H

#include "base/err.h"
#include "sandbox/protocol.h"
#include "sandbox/state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a running sandbox's keeper says about it, and the ways to end it. */

struct sbx_status_session {
	uint64_t number;
	uint64_t age_ms;
	pid_t pid; /* of the login program, as the caller's /proc numbers it; 0 = gone or unknown */
	struct sbx_origin origin;
};

struct sbx_status {
	int control_fd;
	int keeper_pidfd;
	pid_t keeper_pid;		   /* as the caller's /proc numbers it; 0 = unknown */
	int cgroup_fds[SBX_REPLY_FDS_MAX]; /* the sandbox's own directories, one a hierarchy */
	int parent_fds[SBX_REPLY_FDS_MAX]; /* those that hold them */
	size_t n_cgroups;
	char cgroup_name[SBX_CGROUP_NAME_MAX];
	uint64_t age_ms;
	uint64_t linger_s;
	struct sbx_status_session *sessions;
	size_t n_sessions;
};

/*
 * Ask. Whoever asks is not counted as a session.
 * ret_status  caller frees with sbx_status_free()
 * Returns 0 or -errno: -ENOENT, -ECONNREFUSED or -ECONNRESET mean that nothing runs.
 */
int sbx_status_ask(const struct sbx_state *state, struct sbx_status **ret_status,
		   struct sbx_err *err);
void sbx_status_free(struct sbx_status *status);
void sbx_status_freep(struct sbx_status **status);

/* True for a return value that means: nothing runs. */
bool sbx_status_none(int rc);

/* Have the sandbox stay without sessions, until it is stopped. */
int sbx_status_hold(const struct sbx_status *status, struct sbx_err *err);

/*
 * TERM and HUP to all its processes, after the grace KILL; then wait for the end.
 * Returns 0 or -errno: -ETIMEDOUT still there ten seconds after the grace.
 */
int sbx_status_stop(const struct sbx_status *status, uint64_t grace_ms, struct sbx_err *err);

/*
 * KILL to the keeper, with which the kernel ends all in its PID namespace; wait, then
 * clear away what the keeper would have: its cgroup and its socket.
 */
int sbx_status_kill(const struct sbx_status *status, struct sbx_state *state, struct sbx_err *err);

/* The process behind a pidfd, as the caller's /proc numbers it; 0 if it is gone. */
pid_t sbx_pidfd_pid(int pidfd);

#endif
