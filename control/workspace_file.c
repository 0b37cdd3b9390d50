/* SPDX-License-Identifier: MIT */
#include "control/workspace_file.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"
#include "control/output.h"
#include "sandbox/path.h"
#include "sandbox/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPEN_TRIES 100

/* -------------------------------------------------------------------------- paths, pure */

static bool has_dot_dot(const char *path)
{
	for (const char *p = path; *p != '\0';) {
		size_t length = strcspn(p, "/");

		if (length == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += length;
		p += strspn(p, "/");
	}
	return false;
}

/* The rest of 'path' behind 'prefix', or NULL. "/ws-evil" is not below "/ws". */
static const char *below(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	while (length > 1 && prefix[length - 1] == '/')
		length--;
	if (strncmp(path, prefix, length) != 0)
		return NULL;
	if (length == 1) /* "/": everything is */
		return path + 1;
	return path[length] == '/' || path[length] == '\0' ? path + length : NULL;
}

/* Is the same file inside the sandbox another one, because a folder is mounted there? */
static const struct sbx_folder *covered(const struct sbx_policy *policy, const char *relative)
{
	for (size_t i = 0; i < policy->n_folders; i++) {
		const char *rest = below(policy->folders[i].target, policy->home);

		if (rest == NULL)
			continue;
		rest += strspn(rest, "/");
		if (*rest != '\0' && below(relative, rest) != NULL)
			return &policy->folders[i];
	}
	return NULL;
}

int sbx_workspace_relative(const struct sbx_policy *policy, const char *path,
			   const char **ret_relative, struct sbx_err *err)
{
	const char *relative = path;
	const struct sbx_folder *folder;

	if (path[0] == '\0')
		return sbx_fail(err, EINVAL, "an empty path");
	/* Before anything else: what "a/../b" is depends on what "a" is. */
	if (has_dot_dot(path))
		return sbx_fail(err, EINVAL, "'%s': a path with '..' is refused", path);
	if (path[0] == '/') {
		relative = below(path, policy->home);
		if (relative == NULL)
			relative = below(path, policy->workspace);
		if (relative == NULL)
			return sbx_fail(err, EXDEV,
					"'%s' is neither below %s (inside) nor below %s (host)",
					path, policy->home, policy->workspace);
		relative += strspn(relative, "/");
	}
	folder = covered(policy, relative);
	if (folder != NULL)
		return sbx_fail(
		    err, EXDEV,
		    "'%s' is not in the workspace: inside, %s of the host is mounted at %s", path,
		    folder->source, folder->target);
	*ret_relative = *relative == '\0' ? "." : relative;
	return 0;
}

const char *sbx_workspace_reason(int rc)
{
	switch (-rc) {
	case EXDEV:
		return "a link on the way leads out of the workspace (an absolute one counts as "
		       "that)";
	case ELOOP:
		return "a link on the way leads nowhere, or to itself";
	case ENXIO:
		return "not a regular file";
	default:
		return strerror(-rc);
	}
}

int sbx_workspace_fail(const struct sbx_workspace_job *job, int rc)
{
	sbx_complain(job->verb, "'%s': %s", job->path, sbx_workspace_reason(rc));
	return rc == -ENOENT || rc == -ENOTDIR ? SBX_EXIT_NO : SBX_EXIT_FAILED;
}

/* ------------------------------------------------------------------------------ opening */

int sbx_workspace_openat(int workspace_fd, const char *relative, int flags)
{
	/* O_NOCTTY goes with all but O_PATH, which opens nothing that could be a terminal. */
	const int more = (flags & O_PATH) != 0 ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY;
	struct open_how how = {
	    .flags = (uint64_t)(unsigned int)(flags | more),
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	/* EAGAIN: a rename somewhere raced with the look-up, openat2(2). The agent may provoke it.
	 */
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		long fd = syscall(SYS_openat2, workspace_fd, relative, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

/* ------------------------------------------------------------------------ being the user */

static int become(const struct sbx_identity *who, pid_t parent, struct sbx_err *err)
{
	sbx_autofree gid_t *gids = calloc(who->n_groups + 1, sizeof(*gids));

	if (gids == NULL)
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	for (size_t i = 0; i < who->n_groups; i++)
		gids[i] = who->groups[i].gid;
	/* Leaving uid 0 clears every capability. */
	if (setgroups(who->n_groups, gids) < 0 || setresgid(who->gid, who->gid, who->gid) < 0 ||
	    setresuid(who->uid, who->uid, who->uid) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "become %s: %s", who->name, strerror(errno));
	if (geteuid() != who->uid || getegid() != who->gid)
		return sbx_fail(err, EPERM, "become %s: not done", who->name);
	/*
	 * If sbxctl is killed, its caller most likely is, too, and the end of standard input is
	 * not the end of the file. Only now: the change of the uid would clear it.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
		return sbx_fail(err, ECANCELED, "sbxctl has been killed");
	return 0;
}

static int work_as_user(const struct sbx_workspace_job *job, pid_t parent, int workspace_fd,
			const char *relative)
{
	struct sbx_err err = {0};
	int status;

	(void)umask(022); /* the caller's may be anything */
	if (become(job->user->identity, parent, &err) < 0) {
		sbx_complain(job->verb, "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	status = job->work(job, workspace_fd, relative);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		sbx_complain(job->verb, "standard output: %s", strerror(errno));
		return SBX_EXIT_FAILED;
	}
	return status;
}

static int wait_for(const char *verb, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			sbx_complain(verb, "wait: %s", strerror(errno));
			return SBX_EXIT_FAILED;
		}
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGPIPE) /* whoever read has had enough, and knows */
		sbx_complain(verb, "killed by signal %d", WTERMSIG(status));
	return SBX_EXIT_FAILED;
}

static int open_workspace(const struct sbx_workspace_job *job, int *ret_fd, struct sbx_err *err)
{
	const struct sbx_policy *policy = job->user->policy;
	const struct sbx_identity *who = job->user->identity;
	sbx_autoclose int fd = -EBADF;
	int rc;

	if (!job->make) {
		rc = sbx_path_open(policy->workspace, 0, &fd, err);
		if (rc < 0)
			return rc;
	}
	/* Also looks whether it is a directory, and whose. */
	return sbx_workspace_open(policy->workspace, SBX_SKEL_DIR, who->uid, who->gid, ret_fd, err);
}

int sbx_workspace_run(const struct sbx_workspace_job *job)
{
	sbx_autoclose int workspace_fd = -EBADF;
	const char *relative;
	struct sbx_err err = {0};
	const pid_t parent = getpid();
	pid_t pid;
	int rc = sbx_workspace_relative(job->user->policy, job->path, &relative, &err);

	if (rc == 0)
		rc = open_workspace(job, &workspace_fd, &err);
	if (rc < 0) {
		sbx_complain(job->verb, "%s", err.msg);
		return rc == -ENOENT ? SBX_EXIT_NO : SBX_EXIT_FAILED;
	}
	pid = fork();
	if (pid == 0)
		_exit(work_as_user(job, parent, workspace_fd, relative));
	if (pid < 0) {
		sbx_complain(job->verb, "fork: %s", strerror(errno));
		return SBX_EXIT_FAILED;
	}
	return wait_for(job->verb, pid);
}
