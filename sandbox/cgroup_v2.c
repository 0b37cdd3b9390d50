/* SPDX-License-Identifier: MIT */
/* cgroup v2, written directly (Documentation/admin-guide/cgroup-v2.rst). */
#include "sandbox/cgroup.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
#define CPU_PERIOD_US 100000

static bool names_controller(const char *list, const char *controller)
{
	size_t length = strlen(controller);

	for (const char *p = list; (p = strstr(p, controller)) != NULL; p += length) {
		bool starts = p == list || p[-1] == ' ';
		bool ends = p[length] == ' ' || p[length] == '\n' || p[length] == '\0';

		if (starts && ends)
			return true;
	}
	return false;
}

static int v2_probe(struct sbx_err *err)
{
	sbx_autofree char *controllers = NULL;
	struct statfs fs;

	if (statfs(MOUNT, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return 0;
	if (sbx_file_read(AT_FDCWD, MOUNT "/cgroup.controllers", 0, 4096, &controllers, NULL, NULL,
			  err) < 0)
		return 0;
	return names_controller(controllers, "memory") && names_controller(controllers, "pids");
}

/*
 * Where a user may make cgroups: beside the one this process is in. Not below it, because
 * a cgroup with processes cannot hand out controllers.
 */
static int beside_own(char **ret_path, struct sbx_err *err)
{
	sbx_autofree char *own = NULL;
	sbx_autostr struct sbx_str path = {0};
	char *slash;
	int rc = sbx_cgroup_own_path("", &own, err);

	if (rc < 0)
		return rc;
	slash = strrchr(own, '/');
	if (slash == NULL)
		return sbx_fail(err, ENOENT, "this process is in no cgroup but the top one");
	*slash = '\0';
	sbx_str_addf(&path, MOUNT "%s", own);
	rc = sbx_str_take(&path, ret_path);
	return rc < 0 ? sbx_fail(err, -rc, "cgroup: %s", strerror(-rc)) : 0;
}

static bool may_write(const char *directory, const char *file)
{
	sbx_autostr struct sbx_str path = {0};

	sbx_str_addf(&path, "%s/%s", directory, file);
	return path.rc == 0 && access(path.text, W_OK) == 0;
}

/* Moving a process needs write access to cgroup.procs of what both places have in common. */
static bool v2_delegated(void)
{
	sbx_autofree char *directory = NULL;
	sbx_autofree char *controllers = NULL;
	sbx_autostr struct sbx_str path = {0};

	if (beside_own(&directory, NULL) < 0 || access(directory, W_OK) < 0 ||
	    !may_write(directory, "cgroup.procs") ||
	    !may_write(directory, "cgroup.subtree_control"))
		return false;
	sbx_str_addf(&path, "%s/cgroup.controllers", directory);
	return path.rc == 0 &&
	       sbx_file_read(AT_FDCWD, path.text, 0, 4096, &controllers, NULL, NULL, NULL) == 0 &&
	       names_controller(controllers, "memory") && names_controller(controllers, "pids");
}

static int enable_controllers(const char *directory, bool cpu, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	sbx_autostr struct sbx_str path = {0};
	const char *text = cpu ? "+memory +pids +cpu" : "+memory +pids";
	int rc;

	sbx_str_addf(&path, "%s/cgroup.subtree_control", directory);
	if (path.rc < 0)
		return sbx_fail(err, -path.rc, "cgroup: %s", strerror(-path.rc));
	fd = open(path.text, O_WRONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : sbx_write_all(fd, text, strlen(text));
	if (rc < 0)
		return sbx_fail(err, -rc, "write '%s' to '%s': %s", text, path.text, strerror(-rc));
	return 0;
}

static int set_or_max(const struct sbx_cgroup_part *part, const char *file, uint64_t value,
		      struct sbx_err *err)
{
	return value == SBX_UNLIMITED ? 0 : sbx_cgroup_set(part, file, NULL, value, err);
}

static int set_limits(const struct sbx_plan *plan, const struct sbx_cgroup_part *part,
		      struct sbx_err *err)
{
	char cpu[64];
	int rc = set_or_max(part, "memory.max", plan->memory_max_bytes, err);

	if (rc == 0)
		rc = set_or_max(part, "memory.high", plan->memory_high_bytes, err);
	/* Without swap support in the kernel there is no such file, and nothing to limit. */
	if (rc == 0 &&
	    (plan->swap_max_bytes != 0 || faccessat(part->dir_fd, "memory.swap.max", F_OK, 0) == 0))
		rc = set_or_max(part, "memory.swap.max", plan->swap_max_bytes, err);
	if (rc == 0)
		rc = set_or_max(part, "pids.max", plan->tasks_max, err);
	if (rc < 0 || plan->cpu_max_percent == SBX_UNLIMITED)
		return rc;
	(void)snprintf(cpu, sizeof(cpu), "%" PRIu64 " %d",
		       plan->cpu_max_percent * (CPU_PERIOD_US / 100), CPU_PERIOD_US); /* fits */
	return sbx_cgroup_set(part, "cpu.max", cpu, 0, err);
}

static int v2_create(const struct sbx_plan *plan, struct sbx_cgroup *cgroup, struct sbx_err *err)
{
	bool cpu = plan->cpu_max_percent != SBX_UNLIMITED;
	sbx_autofree char *own = NULL;
	sbx_autostr struct sbx_str parent = {0};
	const char *top = MOUNT;
	int rc = 0;

	if (cgroup->delegated) {
		rc = beside_own(&own, err);
		top = own;
	}
	if (rc < 0)
		return rc;
	/* Top down: a controller must be enabled in a parent before its child can hand it on. */
	rc = enable_controllers(top, cpu, err);
	if (rc < 0)
		return rc;
	sbx_str_addf(&parent, "%s/" SBX_CGROUP_PARENT, top);
	if (parent.rc < 0)
		return sbx_fail(err, ENOMEM, "cgroup: %s", strerror(ENOMEM));
	if (mkdir(parent.text, 0755) < 0 && errno != EEXIST)
		return sbx_fail(err, errno, "make cgroup '%s': %s", parent.text, strerror(errno));
	rc = enable_controllers(parent.text, cpu, err);
	if (rc < 0)
		return rc;
	rc = sbx_cgroup_part_open("unified", top, cgroup->name, "cgroup.procs", &cgroup->parts[0],
				  err);
	if (rc < 0)
		return rc;
	cgroup->n_parts = 1;
	return set_limits(plan, &cgroup->parts[0], err);
}

const struct sbx_cgroup_driver sbx_cgroup_v2 = {
    .name = "cgroup v2",
    .unified = true,
    .probe = v2_probe,
    .delegated = v2_delegated,
    .make_name = sbx_cgroup_plain_name,
    .create = v2_create,
    .enter = sbx_cgroup_plain_enter,
};
