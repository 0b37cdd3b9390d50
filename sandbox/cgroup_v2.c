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
	if (rc == 0 && (plan->swap_max_bytes != 0 ||
			faccessat(part->dir_fd, "memory.swap.max", F_OK, 0) == 0))
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
	int rc;

	/* Top down: a controller must be enabled in a parent before its child can hand it on. */
	rc = enable_controllers(MOUNT, cpu, err);
	if (rc < 0)
		return rc;
	if (mkdir(MOUNT "/" SBX_CGROUP_PARENT, 0755) < 0 && errno != EEXIST)
		return sbx_fail(err, errno, "make cgroup '" SBX_CGROUP_PARENT "': %s",
				strerror(errno));
	rc = enable_controllers(MOUNT "/" SBX_CGROUP_PARENT, cpu, err);
	if (rc < 0)
		return rc;
	rc = sbx_cgroup_part_open("unified", MOUNT, cgroup->name, "cgroup.procs",
				  &cgroup->parts[0], err);
	if (rc < 0)
		return rc;
	cgroup->n_parts = 1;
	return set_limits(plan, &cgroup->parts[0], err);
}

const struct sbx_cgroup_driver sbx_cgroup_v2 = {
	.name = "cgroup v2",
	.probe = v2_probe,
	.create = v2_create,
};
