/* SPDX-License-Identifier: MIT */
#include "shell/limits.h"

#include "base/fd.h"
#include "sandbox/cgroup.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

int sbx_limits_enter_cgroup(struct sbx_session *session, bool *ret_inside, struct sbx_err *err)
{
	int rc = sbx_cgroup_join(session->join_fds, session->n_join_fds, err);

	*ret_inside = rc == 0 && session->n_join_fds > 0;
	/* Done, or not to be done: joining the sandbox shall not try again. */
	for (size_t i = 0; i < session->n_join_fds; i++)
		sbx_closep(&session->join_fds[i]);
	session->n_join_fds = 0;
	return rc == -EACCES || rc == -EPERM ? 0 : rc;
}

/* Never above what the caller has, so that it also works under a lower "ulimit". */
static int lower(int resource, const char *name, uint64_t value, struct sbx_err *err)
{
	struct rlimit limit;

	if (value == SBX_UNLIMITED)
		return 0;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return sbx_fail(err, errno, "read the limit '%s': %s", name, strerror(errno));
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	if (limit.rlim_cur > value)
		limit.rlim_cur = value;
	if (setrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return sbx_fail(err, errno, "set the limit '%s': %s", name, strerror(errno));
	return 0;
}

int sbx_limits_set(const struct sbx_policy *policy, struct sbx_err *err)
{
	int rc = lower(RLIMIT_DATA, "RLIMIT_DATA", policy->memory_max_bytes, err);

	return rc < 0 ? rc : lower(RLIMIT_NPROC, "RLIMIT_NPROC", policy->tasks_max, err);
}

const char *sbx_limits_mechanism(void)
{
	const struct sbx_cgroup_driver *driver = sbx_cgroup_delegated();

	if (driver != NULL && driver->unified)
		return "a cgroup v2 of your own, for all processes together";
	if (driver != NULL)
		return "a cgroup v1 of your own, for all processes together";
	return "RLIMIT_DATA, for each process (no cgroup is delegated to you)";
}
