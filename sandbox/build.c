/* SPDX-License-Identifier: MIT */
#include "sandbox/build.h"

#include "base/fd.h"
#include "base/paths.h"
#include "sandbox/copy.h"
#include "sandbox/mount.h"
#include "sandbox/path.h"
#include "sandbox/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TMPFS_BYTES_PER_INODE 8192

/* The state of one build. */
struct build {
	const struct sbx_plan *plan;
	const struct sbx_cgroup *cgroup;
	const struct sbx_sources *sources;
	int root_fd;  /* the new root, O_PATH */
	int image_fd; /* the plan's image root */
};

static unsigned int mount_flags(unsigned int op_flags)
{
	unsigned int flags = 0;

	if ((op_flags & SBX_OP_DEVICES) == 0)
		flags |= SBX_MOUNT_NODEV;
	if ((op_flags & SBX_OP_NOEXEC) != 0)
		flags |= SBX_MOUNT_NOEXEC;
	if ((op_flags & SBX_OP_READ_ONLY) != 0)
		flags |= SBX_MOUNT_RDONLY;
	return flags;
}

static int attach_directory(const struct build *build, int tree_fd, const char *target,
			    struct sbx_err *err)
{
	sbx_autoclose int target_fd = -EBADF;
	int rc = sbx_path_make_directory(build->root_fd, target, &target_fd, err);

	return rc < 0 ? rc : sbx_mount_attach(tree_fd, target_fd, err);
}

static int new_tmpfs(const struct sbx_op *op, int *ret_fd, struct sbx_err *err)
{
	char size[32];
	char mode[16];
	char uid[16];
	char gid[16];
	char inodes[32];
	const char *const options[] = {"size", size, "nr_inodes", inodes, "mode", mode,
				       "uid",  uid,  "gid",	  gid,	  NULL};

	(void)snprintf(size, sizeof(size), "%" PRIu64, op->size_bytes); /* these all fit */
	(void)snprintf(mode, sizeof(mode), "%o", op->mode);
	(void)snprintf(uid, sizeof(uid), "%u", op->uid);
	(void)snprintf(gid, sizeof(gid), "%u", op->gid);
	/* An empty file is memory too, about a KiB that 'size' does not count. */
	(void)snprintf(inodes, sizeof(inodes), "%" PRIu64, op->size_bytes / TMPFS_BYTES_PER_INODE);
	return sbx_mount_new("tmpfs", options, mount_flags(op->flags), ret_fd, err);
}

static int do_tmpfs(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc = new_tmpfs(op, &fd, err);

	return rc < 0 ? rc : attach_directory(build, fd, op->target, err);
}

static int do_devpts(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	char mode[16];
	char gid[16];
	/* The kernel has 4096 pseudo-terminals for all: one sandbox must not take them from others.
	 */
	const char *const options[] = {"ptmxmode", "0666", "mode", mode, "gid",
				       gid,	   "max",  "256",  NULL};
	int rc;

	(void)snprintf(mode, sizeof(mode), "%o", op->mode); /* fits */
	(void)snprintf(gid, sizeof(gid), "%u", op->gid);    /* fits */
	rc = sbx_mount_new("devpts", options, mount_flags(op->flags), &fd, err);
	return rc < 0 ? rc : attach_directory(build, fd, op->target, err);
}

static int do_proc(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	static const char *const options[] = {NULL};
	sbx_autoclose int fd = -EBADF;
	int rc = sbx_mount_new("proc", options, mount_flags(op->flags), &fd, err);

	return rc < 0 ? rc : attach_directory(build, fd, op->target, err);
}

static int do_directory(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc = sbx_path_make_directory(build->root_fd, op->target, &fd, err);

	if (rc < 0)
		return rc;
	/* O_PATH descriptors cannot be fchmod'ed; the directory is ours alone so far. */
	if (op->mode != 0755 && fchmodat(build->root_fd, op->target + 1, op->mode, 0) < 0)
		return sbx_fail(err, errno, "mode of '%s': %s", op->target, strerror(errno));
	return 0;
}

/* Split an op's target into its directory, opened, and its last component. */
static int open_target_parent(const struct build *build, const struct sbx_op *op, int *ret_fd,
			      const char **ret_name, struct sbx_err *err)
{
	const char *slash = strrchr(op->target, '/');
	sbx_autofree char *parent = strndup(op->target, (size_t)(slash - op->target));

	if (parent == NULL)
		return sbx_fail(err, ENOMEM, "make '%s': %s", op->target, strerror(ENOMEM));
	*ret_name = slash + 1;
	return sbx_path_make_directory(build->root_fd, parent, ret_fd, err);
}

static int do_symlink(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	sbx_autoclose int parent_fd = -EBADF;
	const char *name;
	int rc = open_target_parent(build, op, &parent_fd, &name, err);

	if (rc < 0)
		return rc;
	if (symlinkat(op->text, parent_fd, name) < 0)
		return sbx_fail(err, errno, "make link '%s': %s", op->target, strerror(errno));
	return 0;
}

static int write_target(const struct build *build, const struct sbx_op *op, const char *bytes,
			size_t n_bytes, struct sbx_err *err)
{
	sbx_autoclose int parent_fd = -EBADF;
	sbx_autoclose int fd = -EBADF;
	const char *name;
	int rc = open_target_parent(build, op, &parent_fd, &name, err);

	if (rc < 0)
		return rc;
	fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, op->mode);
	if (fd < 0)
		return sbx_fail(err, errno, "make '%s': %s", op->target, strerror(errno));
	rc = sbx_write_all(fd, bytes, n_bytes);
	if (rc < 0)
		return sbx_fail(err, -rc, "write '%s': %s", op->target, strerror(-rc));
	return 0;
}

/* What was found for this op before the user namespace was entered; NULL: look for it now. */
static const struct sbx_source *found_source(const struct build *build, const struct sbx_op *op)
{
	if (build->sources == NULL || op < build->plan->ops ||
	    op >= build->plan->ops + build->plan->n_ops || (op->flags & SBX_OP_IMAGE) != 0)
		return NULL;
	return &build->sources->ops[op - build->plan->ops];
}

/* Open where a bind comes from, as O_PATH, in the host's or the image's view. */
static int open_source(const struct build *build, const struct sbx_op *op, int *ret_fd,
		       struct sbx_err *err)
{
	const struct sbx_source *found = found_source(build, op);

	if (found != NULL)
		return sbx_source_open(found, ret_fd, err);
	if ((op->flags & SBX_OP_IMAGE) != 0)
		return sbx_path_open_in(build->image_fd, op->source, O_PATH, ret_fd, err);
	return sbx_path_open(op->source, 0, ret_fd, err);
}

static int do_copy(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	const struct sbx_source *found = found_source(build, op);
	sbx_autofree char *text = NULL;
	size_t length;
	bool image = (op->flags & SBX_OP_IMAGE) != 0;
	int rc;

	if (found != NULL)
		return found->text == NULL
			   ? 0
			   : write_target(build, op, found->text, found->length, err);
	rc = sbx_copy_read(image ? build->image_fd : -EBADF, op->source, op->text, &text, &length,
			   err);

	if (rc < 0 || text == NULL)
		return rc;
	return write_target(build, op, text, length, err);
}

static int bind_fd(const struct build *build, const struct sbx_op *op, int source_fd,
		   struct sbx_err *err)
{
	sbx_autoclose int tree_fd = -EBADF;
	sbx_autoclose int target_fd = -EBADF;
	struct stat st;
	int rc;

	if (fstat(source_fd, &st) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", op->source, strerror(errno));
	/* The mounts below a mirrored directory need no second copy in the pocket. */
	rc = sbx_mount_clone(source_fd, mount_flags(op->flags), op->kind != SBX_OP_MIRROR, &tree_fd,
			     err);
	if (rc < 0)
		return rc;
	if (S_ISDIR(st.st_mode))
		rc = sbx_path_make_directory(build->root_fd, op->target, &target_fd, err);
	else
		rc = sbx_path_make_file(build->root_fd, op->target, &target_fd, err);
	return rc < 0 ? rc : sbx_mount_attach(tree_fd, target_fd, err);
}

static int do_bind(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	sbx_autoclose int source_fd = -EBADF;
	int rc = open_source(build, op, &source_fd, err);

	return rc < 0 ? rc : bind_fd(build, op, source_fd, err);
}

static int do_workspace(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	const struct sbx_source *found = found_source(build, op);
	sbx_autoclose int source_fd = -EBADF;
	int rc = found != NULL ? sbx_source_open(found, &source_fd, err)
			       : sbx_workspace_open(op->source, SBX_SKEL_DIR, op->uid, op->gid,
						    &source_fd, err);

	return rc < 0 ? rc : bind_fd(build, op, source_fd, err);
}

static int do_mirror(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	sbx_autoclose int source_fd = -EBADF;
	int rc = sbx_path_make_directory(build->root_fd, op->source, &source_fd, err);

	return rc < 0 ? rc : bind_fd(build, op, source_fd, err);
}

/*
 * The sandbox's own cgroup, by path: the descriptors at hand were opened in the
 * mount namespace of the host, and open_tree(2) only clones mounts of its own.
 */
static int do_cgroup(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	for (size_t i = 0; build->cgroup != NULL && i < build->cgroup->n_parts; i++) {
		const struct sbx_cgroup_part *part = &build->cgroup->parts[i];
		sbx_autostr struct sbx_str target = {0};
		struct sbx_op one = *op;
		int rc;

		sbx_str_add(&target, op->target);
		if (!build->cgroup->driver->unified)
			sbx_str_addf(&target, "/%s", part->label);
		if (target.rc < 0)
			return sbx_fail(err, -target.rc, "cgroup: %s", strerror(-target.rc));
		one.source = part->path;
		one.target = target.text;
		rc = do_bind(build, &one, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The first operation: the tmpfs that becomes /. */
static int make_root(struct build *build, const struct sbx_op *op, const char *attach_path,
		     struct sbx_err *err)
{
	sbx_autoclose int attach_fd = -EBADF;
	sbx_autoclose int fd = -EBADF;
	int rc = new_tmpfs(op, &fd, err);

	if (rc < 0)
		return rc;
	attach_fd = open(attach_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (attach_fd < 0)
		return sbx_fail(err, errno, "open '%s': %s", attach_path, strerror(errno));
	rc = sbx_mount_attach(fd, attach_fd, err);
	if (rc < 0)
		return rc;
	build->root_fd = sbx_take_fd(&fd);
	return 0;
}

static int do_op(const struct build *build, const struct sbx_op *op, struct sbx_err *err)
{
	switch (op->kind) {
	case SBX_OP_DIRECTORY:
		return do_directory(build, op, err);
	case SBX_OP_SYMLINK:
		return do_symlink(build, op, err);
	case SBX_OP_FILE:
		return write_target(build, op, op->text, strlen(op->text), err);
	case SBX_OP_COPY:
		return do_copy(build, op, err);
	case SBX_OP_BIND:
		return do_bind(build, op, err);
	case SBX_OP_WORKSPACE:
		return do_workspace(build, op, err);
	case SBX_OP_MIRROR:
		return do_mirror(build, op, err);
	case SBX_OP_CGROUP:
		return do_cgroup(build, op, err);
	case SBX_OP_TMPFS:
		return do_tmpfs(build, op, err);
	case SBX_OP_DEVPTS:
		return do_devpts(build, op, err);
	case SBX_OP_PROC:
		return do_proc(build, op, err);
	case SBX_OP_SEAL:
		return sbx_mount_seal(build->root_fd, err);
	}
	return sbx_fail(err, EINVAL, "unknown operation %d", (int)op->kind);
}

static int run_ops(const struct build *build, struct sbx_err *err)
{
	const struct sbx_plan *plan = build->plan;

	for (size_t i = 1; i < plan->n_ops; i++) {
		const struct sbx_op *op = &plan->ops[i];
		int rc = do_op(build, op, err);

		if (rc == -ENOENT && (op->flags & SBX_OP_OPTIONAL) != 0)
			continue;
		if (rc < 0)
			return sbx_wrap(err, rc, "build '%s'", op->target);
	}
	return 0;
}

/* A new network namespace has a loopback interface that is down; 127.0.0.1 should work. */
static int raise_loopback(struct sbx_err *err)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	sbx_autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return sbx_fail(err, errno, "raise the loopback interface: %s", strerror(errno));
	return 0;
}

static int write_setting(const char *path, const char *value, struct sbx_err *err)
{
	sbx_autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : sbx_write_all(fd, value, strlen(value));

	return rc < 0 ? sbx_fail(err, -rc, "set '%s': %s", path, strerror(-rc)) : 0;
}

/*
 * System V IPC outlives its processes, so memory in it could not be freed by killing
 * them. In the sandbox's own IPC namespace a segment goes with its last process, and
 * message queues are few. (These settings belong to the namespace of who opens them.)
 */
static int limit_ipc(struct sbx_err *err)
{
	int rc = write_setting("/proc/sys/kernel/shm_rmid_forced", "1", err);

	return rc < 0 ? rc : write_setting("/proc/sys/kernel/msgmni", "256", err);
}

static int check_shell(const struct build *build, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc = sbx_path_open_in(build->root_fd, build->plan->shell, O_PATH, &fd, err);

	return rc < 0 ? sbx_wrap(err, rc, "the real shell is not in the sandbox") : 0;
}

static int open_image(struct build *build, struct sbx_err *err)
{
	if (build->sources != NULL)
		return sbx_source_open(&build->sources->image_root, &build->image_fd, err);
	return sbx_path_open(build->plan->image_root, 0, &build->image_fd, err);
}

int sbx_build(const struct sbx_plan *plan, const char *attach_path, const struct sbx_cgroup *cgroup,
	      const struct sbx_sources *sources, struct sbx_err *err)
{
	struct build build = {.plan = plan,
			      .cgroup = cgroup,
			      .sources = sources,
			      .root_fd = -EBADF,
			      .image_fd = -EBADF};
	int rc;

	/* Nothing mounted from here on may reach the host, nor the host's reach in here. */
	rc = sbx_mount_make_private(err);
	if (rc < 0)
		return rc;
	rc = open_image(&build, err);
	if (rc == 0)
		rc = make_root(&build, &plan->ops[0], attach_path, err);
	if (rc == 0)
		rc = run_ops(&build, err);
	if (rc == 0)
		rc = check_shell(&build, err);
	/* A user's own IPC settings are root's to change, and its memory is limited by process. */
	if (rc == 0 && !sbx_plan_unprivileged(plan))
		rc = limit_ipc(err);
	if (rc == 0)
		rc = sbx_mount_pivot(build.root_fd, err);
	if (rc == 0 && (plan->namespaces & CLONE_NEWNET) != 0)
		rc = raise_loopback(err);
	if (rc == 0 && sethostname(plan->hostname, strlen(plan->hostname)) < 0)
		rc = sbx_fail(err, errno, "sethostname: %s", strerror(errno));
	sbx_closep(&build.image_fd);
	sbx_closep(&build.root_fd);
	return rc;
}
