/* SPDX-License-Identifier: MIT */
#ifndef SBX_WORKSPACE_FILE_H
#define SBX_WORKSPACE_FILE_H

#include "base/err.h"
#include "control/user.h"
#include "sandbox/policy.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Files of a workspace, handled from the host without going into the sandbox.
 *
 * What is below a workspace is the agent's: it may put a link, a fifo or another
 * directory anywhere, at any moment. So a path is never looked at and then used: it is
 * opened by openat2(RESOLVE_BENEATH), which ends with an error wherever a step would
 * leave the workspace, and what was opened is looked at. And all of it is done by a
 * child process that is the user, without any capability: whatever might go wrong, it
 * can do no more than the user could.
 */

/*
 * What part of 'path' lies below the workspace. Accepted are a path relative to it, as
 * it is seen inside (below home), and as it is on the host. Pure.
 * ret_relative  points into path; "." for the workspace itself
 * Returns 0 or -errno: -EINVAL empty or with a component "..", -EXDEV not below the
 * workspace, or below a folder of the policy that is mounted over a part of it.
 */
int sbx_workspace_relative(const struct sbx_policy *policy, const char *path,
			   const char **ret_relative, struct sbx_err *err);

/* A job for the child process. */
struct sbx_workspace_job {
	const char *verb; /* for messages */
	const struct sbx_user *user;
	const char *path; /* as given */
	bool make;	  /* make the workspace if there is none yet */
	/* Runs as the user. Prints its own errors; returns one of SBX_EXIT_*. */
	int (*work)(const struct sbx_workspace_job *job, int workspace_fd, const char *relative);
	const void *data;
};

/* Open the workspace, become the user in a child, do the job. Returns one of SBX_EXIT_*. */
int sbx_workspace_run(const struct sbx_workspace_job *job);

/*
 * For jobs: open 'relative' as openat2(2) does, never leaving the workspace. Links are
 * followed as long as they stay inside and are relative.
 * Returns a descriptor or -errno.
 */
int sbx_workspace_openat(int workspace_fd, const char *relative, int flags);

/*
 * For jobs: replace the file with all that standard input holds. Missing directories are
 * made. Until all is written and on the disk the old file stays; a link is not replaced
 * but what it leads to is.
 * Returns 0 or -errno with *err filled.
 */
int sbx_workspace_write(int workspace_fd, const char *relative, int from_fd, struct sbx_err *err);

/* For jobs: say what went wrong with the path, and return the exit status for it. */
int sbx_workspace_fail(const struct sbx_workspace_job *job, int rc);

/* What an errno value means for a path in a workspace. */
const char *sbx_workspace_reason(int rc);

#endif
