/* SPDX-License-Identifier: MIT */
#include "sandbox/cgroup.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const struct sbx_cgroup_driver *const drivers[] = {&sbx_cgroup_systemd, &sbx_cgroup_v2,
							  &sbx_cgroup_v1};

static void part_done(struct sbx_cgroup_part *part)
{
	sbx_closep(&part->dir_fd);
	sbx_closep(&part->join_fd);
	sbx_closep(&part->parent_fd);
	sbx_closep(&part->leave_fd);
	free(part->path);
	part->path = NULL;
}

void sbx_cgroup_free(struct sbx_cgroup *cgroup)
{
	if (cgroup == NULL)
		return;
	for (size_t i = 0; i < cgroup->n_parts; i++)
		part_done(&cgroup->parts[i]);
	free(cgroup->name);
	free(cgroup);
}

void sbx_cgroup_freep(struct sbx_cgroup **cgroup) { sbx_cgroup_free(*cgroup); }

bool sbx_cgroup_remove(const struct sbx_cgroup *cgroup)
{
	bool gone = true;

	for (size_t i = 0; i < cgroup->n_parts; i++) {
		if (unlinkat(cgroup->parts[i].parent_fd, cgroup->name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			gone = false;
	}
	return gone;
}

/* A directory that may exist already, opened. */
static int make_directory(int dirfd, const char *name, int *ret_fd, struct sbx_err *err)
{
	int fd;

	if (mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
		return sbx_fail(err, errno, "make cgroup '%s': %s", name, strerror(errno));
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail(err, errno, "open cgroup '%s': %s", name, strerror(errno));
	*ret_fd = fd;
	return 0;
}

int sbx_cgroup_set(const struct sbx_cgroup_part *part, const char *file, const char *text,
		   uint64_t value, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	char number[32];
	int rc;

	(void)snprintf(number, sizeof(number), "%" PRIu64, value); /* fits */
	if (text == NULL)
		text = number;
	fd = openat(part->dir_fd, file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail(err, errno, "limit '%s' (cgroup %s): %s", file, part->label,
				strerror(errno));
	rc = sbx_write_all(fd, text, strlen(text));
	if (rc < 0)
		return sbx_fail(err, -rc, "limit '%s' = %s (cgroup %s): %s", file, text,
				part->label, strerror(-rc));
	return 0;
}

static int open_for_joining(int dirfd, const char *file, int *ret_fd, struct sbx_err *err)
{
	int fd = openat(dirfd, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return sbx_fail(err, errno, "open cgroup file '%s': %s", file, strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* Empty cgroups that dead sandboxes of the user left; one that is still in use stays (EBUSY). */
static void sweep(int parent_fd, const char *name)
{
	const size_t prefix = (size_t)(strchr(name, '@') - name) + 1;
	const struct dirent *entry;
	DIR *dir;
	int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (dir == NULL) {
		(void)close(fd); /* nothing written */
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, name, prefix) == 0)
			(void)unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(dir); /* nothing written */
}

int sbx_cgroup_part_open(const char *label, const char *mount_path, const char *name,
			 const char *join_file, struct sbx_cgroup_part *ret_part,
			 struct sbx_err *err)
{
	static const struct sbx_cgroup_part empty = {
	    .dir_fd = -EBADF,
	    .join_fd = -EBADF,
	    .parent_fd = -EBADF,
	    .leave_fd = -EBADF,
	};
	__attribute__((cleanup(part_done))) struct sbx_cgroup_part part = empty;
	sbx_autostr struct sbx_str path = {0};
	sbx_autoclose int mount_fd = open(mount_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	part.label = label;
	if (mount_fd < 0)
		return sbx_fail(err, errno, "open '%s': %s", mount_path, strerror(errno));
	rc = make_directory(mount_fd, SBX_CGROUP_PARENT, &part.parent_fd, err);
	if (rc < 0)
		return rc;
	sweep(part.parent_fd, name);
	/* A keeper steps out to the top before it removes its sandbox's cgroup. */
	rc = open_for_joining(mount_fd, join_file, &part.leave_fd, err);
	if (rc < 0)
		return rc;
	rc = make_directory(part.parent_fd, name, &part.dir_fd, err);
	if (rc < 0)
		return rc;
	rc = open_for_joining(part.dir_fd, join_file, &part.join_fd, err);
	if (rc < 0)
		return rc;
	sbx_str_addf(&path, "%s/" SBX_CGROUP_PARENT "/%s", mount_path, name);
	if (sbx_str_take(&path, &part.path) < 0)
		return sbx_fail(err, ENOMEM, "cgroup: %s", strerror(ENOMEM));
	*ret_part = part;
	part = empty;
	return 0;
}

int sbx_cgroup_plain_name(const char *user, uint64_t random, char **ret_name)
{
	sbx_autostr struct sbx_str name = {0};

	sbx_str_addf(&name, "%s@%016" PRIx64, user, random);
	return sbx_str_take(&name, ret_name);
}

static int make_name(const char *user, struct sbx_cgroup *cgroup, struct sbx_err *err)
{
	uint64_t random;
	int rc;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail(err, errno, "getrandom: %s", strerror(errno));
	rc = (cgroup->driver != NULL ? cgroup->driver->make_name
				     : sbx_cgroup_plain_name)(user, random, &cgroup->name);
	return rc < 0 ? sbx_fail(err, -rc, "cgroup: %s", strerror(-rc)) : 0;
}

bool sbx_cgroup_is_managed(const char *name)
{
	const size_t length = strlen(name);
	const size_t suffix = strlen(SBX_CGROUP_MANAGED_SUFFIX);

	return length >= suffix && strcmp(name + length - suffix, SBX_CGROUP_MANAGED_SUFFIX) == 0;
}

/* Lines are "NUMBER:CONTROLLER,CONTROLLER:PATH", cgroups(7). */
static bool line_has(const char *line, const char *controller)
{
	const char *list = strchr(line, ':');
	size_t wanted = strlen(controller);

	if (list == NULL)
		return false;
	list++;
	if (wanted == 0)
		return *list == ':';
	while (*list != ':' && *list != '\0') {
		size_t length = strcspn(list, ",:");

		if (length == wanted && strncmp(list, controller, length) == 0)
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

int sbx_cgroup_own_path(const char *controller, char **ret_path, struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	char *save = NULL;
	int rc = sbx_file_read(AT_FDCWD, "/proc/self/cgroup", 0, 65536, &text, NULL, NULL, err);

	if (rc < 0)
		return rc;
	for (const char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *path = strchr(line, '/');

		if (!line_has(line, controller) || path == NULL)
			continue;
		*ret_path = strdup(strcmp(path, "/") == 0 ? "" : path);
		if (*ret_path == NULL)
			return sbx_fail(err, ENOMEM, "cgroup: %s", strerror(ENOMEM));
		return 0;
	}
	return sbx_fail(err, ENOENT, "/proc/self/cgroup names no '%s' hierarchy", controller);
}

const struct sbx_cgroup_driver *sbx_cgroup_delegated(void)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (drivers[i]->probe(NULL) == 1 && drivers[i]->delegated())
			return drivers[i];
	}
	return NULL;
}

static int choose_driver(struct sbx_cgroup *cgroup, struct sbx_err *err)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		int rc = drivers[i]->probe(err);

		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		cgroup->driver = drivers[i];
		return 0;
	}
	return sbx_fail(err, ENOTSUP,
			"no cgroup file system with memory and pids is mounted at "
			"/sys/fs/cgroup, so limits cannot be put in force");
}

int sbx_cgroup_create(const struct sbx_plan *plan, struct sbx_cgroup **ret_cgroup,
		      struct sbx_err *err)
{
	sbx_autofree struct sbx_cgroup *cgroup = calloc(1, sizeof(*cgroup));
	int rc = 0;

	if (cgroup == NULL)
		return sbx_fail(err, ENOMEM, "cgroup: %s", strerror(ENOMEM));
	if (sbx_plan_unprivileged(plan)) {
		cgroup->driver = sbx_cgroup_delegated();
		cgroup->delegated = true;
	} else {
		rc = choose_driver(cgroup, err);
	}
	if (rc == 0)
		rc = make_name(plan->user, cgroup, err);
	if (rc < 0)
		return rc;
	if (cgroup->driver != NULL)
		rc = cgroup->driver->create(plan, cgroup, err);
	if (rc < 0) {
		sbx_cgroup_remove(cgroup);
		sbx_cgroup_free(cgroup);
		cgroup = NULL;
		return rc;
	}
	*ret_cgroup = cgroup;
	cgroup = NULL;
	return 0;
}

int sbx_cgroup_join(const int *join_fds, size_t n_fds, struct sbx_err *err)
{
	for (size_t i = 0; i < n_fds; i++) {
		int rc = sbx_write_all(join_fds[i], "0", 1);

		if (rc < 0)
			return sbx_fail(err, -rc, "enter the sandbox's cgroup: %s", strerror(-rc));
	}
	return 0;
}

int sbx_cgroup_plain_enter(const struct sbx_plan *plan, struct sbx_cgroup *cgroup,
			   struct sbx_err *err)
{
	int fds[SBX_CGROUP_MAX];

	(void)plan;
	for (size_t i = 0; i < cgroup->n_parts; i++)
		fds[i] = cgroup->parts[i].join_fd;
	return sbx_cgroup_join(fds, cgroup->n_parts, err);
}

int sbx_cgroup_enter(const struct sbx_plan *plan, struct sbx_cgroup *cgroup, struct sbx_err *err)
{
	return cgroup->driver != NULL ? cgroup->driver->enter(plan, cgroup, err) : 0;
}
