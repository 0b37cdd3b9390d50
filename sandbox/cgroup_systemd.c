/* SPDX-License-Identifier: MIT */
/*
 * cgroup v2 where systemd runs. It owns the whole tree and hands out parts of it as units
 * (systemd.io/CGROUP_DELEGATION): a cgroup made behind its back may lose its controllers or
 * its processes at the next daemon-reload. So each sandbox is a transient scope, which
 * systemd also removes when its last process has gone.
 */
#include "sandbox/cgroup.h"

#include "base/fd.h"
#include "base/number.h"
#include "sandbox/scope.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
#define BOOTED "/run/systemd/system" /* sd_booted(3) */
#define CPU_PERIOD_US 100000
#define NAME_PREFIX "sbx-"
/* Of the user's name, as escaped; the random number tells scopes apart. */
#define USER_MAX 64

static int systemd_probe(struct sbx_err *err)
{
	if (access(BOOTED, F_OK) < 0)
		return 0;
	return sbx_cgroup_v2.probe(err);
}

/* A user who has root in nothing uses what was given to him, directly. */
static bool systemd_delegated(void) { return false; }

/* Unit names have few characters; any other is written as systemd-escape(1) does. */
static int systemd_make_name(const char *user, uint64_t random, char **ret_name)
{
	sbx_autostr struct sbx_str name = {0};

	sbx_str_add(&name, NAME_PREFIX);
	for (const char *p = user; *p != '\0' && name.length < USER_MAX; p++) {
		if (isalnum((unsigned char)*p) || strchr("_.-", *p) != NULL)
			sbx_str_addn(&name, p, 1);
		else
			sbx_str_addf(&name, "\\x%02x", (unsigned char)*p);
	}
	sbx_str_addf(&name, "-%016" PRIx64 SBX_CGROUP_MANAGED_SUFFIX, random);
	return sbx_str_take(&name, ret_name);
}

/* A scope is never empty: it is made around the launcher. */
static int systemd_create(const struct sbx_plan *plan, struct sbx_cgroup *cgroup,
			  struct sbx_err *err)
{
	(void)plan;
	(void)cgroup;
	(void)err;
	return 0;
}

/* Where systemd says that we are, by the kernel's word. */
static int check_place(const struct sbx_cgroup *cgroup, char **ret_path, struct sbx_err *err)
{
	sbx_autofree char *own = NULL;
	sbx_autostr struct sbx_str end = {0};
	sbx_autostr struct sbx_str path = {0};
	size_t length;
	int rc = sbx_cgroup_own_path("", &own, err);

	if (rc < 0)
		return rc;
	sbx_str_addf(&end, "/" SBX_SCOPE_SLICE "/%s", cgroup->name);
	sbx_str_addf(&path, MOUNT "%s", own);
	if (end.rc < 0 || path.rc < 0)
		return sbx_fail(err, ENOMEM, "cgroup: %s", strerror(ENOMEM));
	length = strlen(own);
	if (length < end.length || strcmp(own + length - end.length, end.text) != 0)
		return sbx_fail(err, EXDEV, "systemd has started '%s', but this process is in '%s'",
				cgroup->name, own);
	rc = sbx_str_take(&path, ret_path);
	return rc < 0 ? sbx_fail(err, -rc, "cgroup: %s", strerror(-rc)) : 0;
}

static int open_part(const struct sbx_cgroup *cgroup, struct sbx_cgroup_part *part,
		     struct sbx_err *err)
{
	part->label = "unified";
	part->dir_fd = open(part->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	part->parent_fd = part->dir_fd < 0
			      ? -EBADF
			      : openat(part->dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	part->join_fd = part->parent_fd < 0
			    ? -EBADF
			    : openat(part->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	/* Nobody leaves: the scope ends with its last process, and systemd clears it away. */
	part->leave_fd = part->join_fd < 0 ? -EBADF : fcntl(part->join_fd, F_DUPFD_CLOEXEC, 0);
	if (part->leave_fd < 0)
		return sbx_fail(err, errno, "open cgroup '%s': %s", cgroup->name, strerror(errno));
	return 0;
}

/* Does 'file' hold 'wanted', or "max" for no limit? */
static int check_limit(const struct sbx_cgroup_part *part, const char *file, const char *wanted,
		       struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	int rc = sbx_file_read(part->dir_fd, file, 0, 4096, &text, NULL, NULL, err);

	if (rc < 0)
		return sbx_wrap(err, rc, "read a limit back");
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, wanted) != 0)
		return sbx_fail(err, EIO, "systemd has set '%s' to '%s' instead of '%s'", file,
				text, wanted);
	return 0;
}

static int check_number(const struct sbx_cgroup_part *part, const char *file, uint64_t wanted,
			struct sbx_err *err)
{
	char number[32] = "max";

	if (wanted != SBX_UNLIMITED)
		(void)snprintf(number, sizeof(number), "%" PRIu64, wanted); /* fits */
	return check_limit(part, file, number, err);
}

/* The kernel counts memory in pages, and rounds down. */
static int check_bytes(const struct sbx_cgroup_part *part, const char *file, uint64_t wanted,
		       struct sbx_err *err)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return check_number(part, file, wanted == SBX_UNLIMITED ? wanted : wanted - wanted % page,
			    err);
}

static int check_limits(const struct sbx_plan *plan, const struct sbx_cgroup_part *part,
			struct sbx_err *err)
{
	char cpu[64];
	int rc = check_bytes(part, "memory.max", plan->memory_max_bytes, err);

	if (rc == 0)
		rc = check_bytes(part, "memory.high", plan->memory_high_bytes, err);
	/* Without swap support in the kernel there is no such file, and nothing to limit. */
	if (rc == 0 &&
	    (plan->swap_max_bytes != 0 || faccessat(part->dir_fd, "memory.swap.max", F_OK, 0) == 0))
		rc = check_bytes(part, "memory.swap.max", plan->swap_max_bytes, err);
	if (rc == 0)
		rc = check_number(part, "pids.max", plan->tasks_max, err);
	if (rc < 0 || plan->cpu_max_percent == SBX_UNLIMITED)
		return rc;
	(void)snprintf(cpu, sizeof(cpu), "%" PRIu64 " %d",
		       plan->cpu_max_percent * (CPU_PERIOD_US / 100), CPU_PERIOD_US); /* fits */
	return check_limit(part, "cpu.max", cpu, err);
}

static int systemd_enter(const struct sbx_plan *plan, struct sbx_cgroup *cgroup,
			 struct sbx_err *err)
{
	struct sbx_cgroup_part *part = &cgroup->parts[0];
	int rc = sbx_scope_start(cgroup->name, plan, err);

	if (rc == 0)
		rc = check_place(cgroup, &part->path, err);
	if (rc == 0)
		rc = open_part(cgroup, part, err);
	if (rc == 0)
		rc = check_limits(plan, part, err);
	if (rc == 0)
		cgroup->n_parts = 1;
	return rc;
}

const struct sbx_cgroup_driver sbx_cgroup_systemd = {
    .name = "systemd",
    .unified = true,
    .probe = systemd_probe,
    .delegated = systemd_delegated,
    .make_name = systemd_make_name,
    .create = systemd_create,
    .enter = systemd_enter,
};
