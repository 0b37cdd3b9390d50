/* SPDX-License-Identifier: MIT */
/* cgroup v1, written directly: one hierarchy per controller (Documentation/admin-guide/cgroup-v1).
 */
#include "sandbox/cgroup.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define CPU_PERIOD_US 100000

/* Where a controller is mounted: by convention its own directory, or one shared by cpu,cpuacct. */
static const char *find_mount(const char *const *candidates)
{
	for (size_t i = 0; candidates[i] != NULL; i++) {
		struct statfs fs;

		/* A link to a directory (cpu -> cpu,cpuacct) is followed: it is root's. */
		if (statfs(candidates[i], &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC)
			return candidates[i];
	}
	return NULL;
}

static const char *const memory_mounts[] = {"/sys/fs/cgroup/memory", NULL};
static const char *const pids_mounts[] = {"/sys/fs/cgroup/pids", NULL};
static const char *const cpu_mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", NULL};

static int v1_probe(struct sbx_err *err)
{
	(void)err; /* absence is an answer, not an error */
	return find_mount(memory_mounts) != NULL && find_mount(pids_mounts) != NULL;
}

static bool has_file(const struct sbx_cgroup_part *part, const char *file)
{
	return faccessat(part->dir_fd, file, F_OK, 0) == 0;
}

static int limit_swap(const struct sbx_plan *plan, const struct sbx_cgroup_part *part,
		      struct sbx_err *err)
{
	uint64_t total;

	if (plan->swap_max_bytes == SBX_UNLIMITED)
		return 0;
	if (has_file(part, "memory.memsw.limit_in_bytes") &&
	    plan->memory_max_bytes != SBX_UNLIMITED) {
		/* v1 counts memory and swap together. */
		if (__builtin_add_overflow(plan->memory_max_bytes, plan->swap_max_bytes, &total))
			return sbx_fail(err, ERANGE, "memory_max plus swap_max is too large");
		return sbx_cgroup_set(part, "memory.memsw.limit_in_bytes", NULL, total, err);
	}
	if (plan->swap_max_bytes == 0)
		return sbx_cgroup_set(part, "memory.swappiness", NULL, 0, err);
	return sbx_fail(err, ENOTSUP,
			"swap_max needs memory_max and a kernel that accounts swap "
			"(boot parameter swapaccount=1)");
}

/*
 * v1 counts what lies in the buffers of TCP and UDP sockets only once it has a limit of
 * its own; before, unread datagrams are memory of nobody's.
 */
static int limit_sockets(const struct sbx_plan *plan, const struct sbx_cgroup_part *part,
			 struct sbx_err *err)
{
	static const char file[] = "memory.kmem.tcp.limit_in_bytes";

	if (plan->memory_max_bytes == SBX_UNLIMITED || !has_file(part, file))
		return 0;
	return sbx_cgroup_set(part, file, NULL, plan->memory_max_bytes / 4, err);
}

static int limit_memory(const struct sbx_plan *plan, const struct sbx_cgroup_part *part,
			struct sbx_err *err)
{
	int rc;

	if (plan->memory_high_bytes != SBX_UNLIMITED)
		return sbx_fail(err, ENOTSUP, "memory_high needs cgroup v2");
	if (plan->memory_max_bytes != SBX_UNLIMITED) {
		rc = sbx_cgroup_set(part, "memory.limit_in_bytes", NULL, plan->memory_max_bytes,
				    err);
		if (rc < 0)
			return rc;
	}
	rc = limit_sockets(plan, part, err);
	return rc < 0 ? rc : limit_swap(plan, part, err);
}

static int limit_cpu(const struct sbx_plan *plan, const struct sbx_cgroup_part *part,
		     struct sbx_err *err)
{
	int rc = sbx_cgroup_set(part, "cpu.cfs_period_us", NULL, CPU_PERIOD_US, err);

	if (rc < 0)
		return rc;
	return sbx_cgroup_set(part, "cpu.cfs_quota_us", NULL,
			      plan->cpu_max_percent * (CPU_PERIOD_US / 100), err);
}

/* The directory of the user's own to make more in: where this process is, if he owns that. */
static int own_directory(const char *label, const char *mount_path, char **ret_path,
			 struct sbx_err *err)
{
	sbx_autofree char *own = NULL;
	sbx_autostr struct sbx_str path = {0};
	int rc = sbx_cgroup_own_path(label, &own, err);

	if (rc < 0)
		return rc;
	sbx_str_addf(&path, "%s%s", mount_path, own);
	rc = sbx_str_take(&path, ret_path);
	return rc < 0 ? sbx_fail(err, -rc, "cgroup: %s", strerror(-rc)) : 0;
}

static bool is_delegated(const char *label, const char *mount_path)
{
	sbx_autofree char *path = NULL;

	return mount_path != NULL && own_directory(label, mount_path, &path, NULL) == 0 &&
	       access(path, W_OK) == 0;
}

static bool v1_delegated(void)
{
	return is_delegated("memory", find_mount(memory_mounts)) &&
	       is_delegated("pids", find_mount(pids_mounts));
}

static int add_part(struct sbx_cgroup *cgroup, const char *label, const char *mount_path,
		    struct sbx_err *err)
{
	sbx_autofree char *own = NULL;
	int rc = cgroup->delegated ? own_directory(label, mount_path, &own, err) : 0;

	if (rc < 0)
		return rc;
	rc = sbx_cgroup_part_open(label, own != NULL ? own : mount_path, cgroup->name, "tasks",
				  &cgroup->parts[cgroup->n_parts], err);

	if (rc == 0)
		cgroup->n_parts++;
	return rc;
}

static int v1_create(const struct sbx_plan *plan, struct sbx_cgroup *cgroup, struct sbx_err *err)
{
	const char *cpu_mount;
	int rc;

	rc = add_part(cgroup, "memory", find_mount(memory_mounts), err);
	if (rc < 0)
		return rc;
	rc = limit_memory(plan, &cgroup->parts[0], err);
	if (rc < 0)
		return rc;
	rc = add_part(cgroup, "pids", find_mount(pids_mounts), err);
	if (rc < 0)
		return rc;
	if (plan->tasks_max != SBX_UNLIMITED) {
		rc = sbx_cgroup_set(&cgroup->parts[1], "pids.max", NULL, plan->tasks_max, err);
		if (rc < 0)
			return rc;
	}
	if (plan->cpu_max_percent == SBX_UNLIMITED)
		return 0;
	cpu_mount = find_mount(cpu_mounts);
	if (cpu_mount == NULL)
		return sbx_fail(err, ENOTSUP, "cpu_max: no cpu controller is mounted");
	rc = add_part(cgroup, "cpu", cpu_mount, err);
	if (rc < 0)
		return rc;
	return limit_cpu(plan, &cgroup->parts[2], err);
}

const struct sbx_cgroup_driver sbx_cgroup_v1 = {
    .name = "cgroup v1",
    .probe = v1_probe,
    .delegated = v1_delegated,
    .make_name = sbx_cgroup_plain_name,
    .create = v1_create,
    .enter = sbx_cgroup_plain_enter,
};
