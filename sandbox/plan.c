/* SPDX-License-Identifier: MIT */
#include "sandbox/plan.h"

#include "base/paths.h"
#include "sandbox/view.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Small: it holds directories, links and copies of a few files of /etc. */
#define ROOT_SIZE_BYTES ((uint64_t)16 << 20)
/* Parts of memory_max that /tmp, and each of the other three, may grow to. */
#define LARGE_SHARE 4
#define SMALL_SHARE 16
#define GID_TTY 5 /* devpts(5): what login programs expect as the group of a terminal */

/* A plan under construction; the first failure sticks, as in struct sbx_str. */
struct builder {
	const struct sbx_policy *policy;
	const struct sbx_identity *identity;
	const struct sbx_facts *facts;
	struct sbx_plan *plan;
	int rc;
};

static char *copy_or_null(struct builder *b, const char *text)
{
	char *copy;

	if (text == NULL || b->rc < 0)
		return NULL;
	copy = strdup(text);
	if (copy == NULL)
		b->rc = -ENOMEM;
	return copy;
}

static void op_done(struct sbx_op *op)
{
	free(op->source);
	free(op->target);
	free(op->text);
}

/* Append 'op', whose strings are borrowed: they are copied here. */
static void add_op(struct builder *b, struct sbx_op op)
{
	struct sbx_plan *plan = b->plan;

	op.source = copy_or_null(b, op.source);
	op.target = copy_or_null(b, op.target);
	op.text = copy_or_null(b, op.text);
	if (b->rc == 0 && (plan->n_ops & (plan->n_ops - 1)) == 0) {
		size_t room = plan->n_ops == 0 ? 1 : plan->n_ops * 2;
		struct sbx_op *grown = reallocarray(plan->ops, room, sizeof(*grown));

		if (grown == NULL)
			b->rc = -ENOMEM;
		else
			plan->ops = grown;
	}
	if (b->rc < 0) {
		op_done(&op);
		return;
	}
	plan->ops[plan->n_ops++] = op;
}

/* The strings of a struct sbx_op are not const because a plan owns them; a borrowed one is cast. */
static char *borrow(const char *text)
{
	union {
		const char *in;
		char *out;
	} u = {.in = text};

	return u.out;
}

static void add_directory(struct builder *b, const char *target, mode_t mode)
{
	add_op(b,
	       (struct sbx_op){.kind = SBX_OP_DIRECTORY, .target = borrow(target), .mode = mode});
}

static void add_symlink(struct builder *b, const char *target, const char *text)
{
	add_op(b, (struct sbx_op){
		      .kind = SBX_OP_SYMLINK, .target = borrow(target), .text = borrow(text)});
}

static void add_file(struct builder *b, const char *target, const char *text)
{
	add_op(b, (struct sbx_op){.kind = SBX_OP_FILE,
				  .target = borrow(target),
				  .text = borrow(text),
				  .mode = 0644});
}

static void add_bind(struct builder *b, const char *source, const char *target, unsigned int flags)
{
	add_op(b, (struct sbx_op){.kind = SBX_OP_BIND,
				  .source = borrow(source),
				  .target = borrow(target),
				  .flags = flags});
}

/* Root's, but in a user namespace, where there is no root, the user's. */
static void add_tmpfs(struct builder *b, const char *target, mode_t mode, uint64_t size_bytes)
{
	bool owned = b->facts->unprivileged;

	add_op(b, (struct sbx_op){.kind = SBX_OP_TMPFS,
				  .target = borrow(target),
				  .mode = mode,
				  .uid = owned ? b->identity->uid : 0,
				  .gid = owned ? b->identity->gid : 0,
				  .size_bytes = size_bytes});
}

/*
 * What is in a tmpfs cannot be freed by killing. All of them full must leave room for
 * processes, or the kernel would kill every one of the user's: together at most 7/16.
 */
static uint64_t tmpfs_size(const struct sbx_policy *policy, uint64_t share)
{
	uint64_t limit = policy->memory_max_bytes / share;

	return policy->tmp_size_bytes < limit ? policy->tmp_size_bytes : limit;
}

static const struct sbx_fact *host_fact(const struct builder *b, const char *path)
{
	return sbx_fact_find(&b->facts->host, path);
}

static void add_image(struct builder *b)
{
	for (size_t i = 0; sbx_view_top[i] != NULL; i++) {
		const struct sbx_fact *fact = sbx_fact_find(&b->facts->image, sbx_view_top[i]);

		if (fact == NULL)
			continue;
		if (fact->kind == SBX_FACT_LINK)
			add_symlink(b, fact->path, fact->link_text);
		else if (fact->kind == SBX_FACT_DIRECTORY)
			add_bind(b, fact->path, fact->path, SBX_OP_READ_ONLY | SBX_OP_IMAGE);
	}
}

static bool from_host(const char *path)
{
	for (size_t i = 0; sbx_view_etc_host[i] != NULL; i++) {
		if (strcmp(sbx_view_etc_host[i], path) == 0)
			return true;
	}
	return false;
}

static void add_etc_of_image(struct builder *b)
{
	const struct sbx_fact_list *image = &b->facts->image;

	for (size_t i = 0; i < image->n_entries; i++) {
		const struct sbx_fact *fact = &image->entries[i];

		/* Checked here too, so that no mistake in looking at a machine shows /etc/shadow.
		 */
		if (!sbx_view_etc_allows(fact->path) || from_host(fact->path))
			continue;
		switch (fact->kind) {
		case SBX_FACT_LINK:
			add_symlink(b, fact->path, fact->link_text);
			break;
		case SBX_FACT_DIRECTORY:
			add_bind(b, fact->path, fact->path,
				 SBX_OP_READ_ONLY | SBX_OP_OPTIONAL | SBX_OP_IMAGE);
			break;
		case SBX_FACT_FILE:
			/* Optional: the host may drop the file between look and copy. */
			add_op(b, (struct sbx_op){.kind = SBX_OP_COPY,
						  .source = fact->path,
						  .target = fact->path,
						  .mode = 0644,
						  .flags = SBX_OP_OPTIONAL | SBX_OP_IMAGE});
			break;
		}
	}
}

static void add_accounts(struct builder *b)
{
	sbx_autofree char *passwd = NULL;
	sbx_autofree char *group = NULL;

	if (b->rc == 0)
		b->rc = sbx_passwd_text(b->identity, b->policy->home, b->plan->shell, &passwd);
	if (b->rc == 0)
		b->rc = sbx_group_text(b->identity, &group);
	if (b->rc < 0)
		return;
	add_file(b, "/etc/passwd", passwd);
	add_file(b, "/etc/group", group);
	/*
	 * "files" alone: every other NSS module would have to reach a daemon that is
	 * not in here, and would be loaded into the root process of a session.
	 */
	add_file(b, "/etc/nsswitch.conf",
		 "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
		 "protocols: files\nservices: files\nethers: files\nrpc: files\n");
}

static void add_etc_of_host(struct builder *b)
{
	const struct sbx_fact *localtime = host_fact(b, "/etc/localtime");
	struct sbx_op copy = {.kind = SBX_OP_COPY, .mode = 0644, .flags = SBX_OP_OPTIONAL};

	/* A copy, not a bind: the host replaces it by rename, and it may be a link into /run. */
	copy.source = copy.target = borrow("/etc/resolv.conf");
	if (host_fact(b, copy.source) != NULL)
		add_op(b, copy);
	copy.source = copy.target = borrow("/etc/hosts");
	copy.text = borrow(SBX_HOSTS_LINE);
	if (host_fact(b, copy.source) != NULL)
		add_op(b, copy);
	else
		add_file(b, "/etc/hosts", "127.0.0.1 localhost\n" SBX_HOSTS_LINE);
	copy.source = copy.target = borrow("/etc/localtime");
	copy.text = NULL;
	if (localtime != NULL && localtime->kind == SBX_FACT_LINK)
		add_symlink(b, localtime->path, localtime->link_text);
	else if (localtime != NULL)
		add_op(b, copy);
	add_file(b, "/etc/hostname", SBX_HOSTNAME "\n");
	add_file(b, "/etc/profile", sbx_view_profile);
	add_symlink(b, "/etc/mtab", "/proc/self/mounts");
}

static void add_var_and_tmp(struct builder *b)
{
	uint64_t small = tmpfs_size(b->policy, SMALL_SHARE);
	char runtime_dir[64];

	add_tmpfs(b, "/tmp", 01777, tmpfs_size(b->policy, LARGE_SHARE));
	add_tmpfs(b, "/var/tmp", 01777, small);
	add_directory(b, "/var/cache", 0755);
	add_directory(b, "/var/lib", 0755);
	add_directory(b, "/var/log", 0755);
	add_symlink(b, "/var/run", "/run");
	add_symlink(b, "/var/lock", "/run/lock");
	add_directory(b, "/run/lock", 0755);
	(void)snprintf(runtime_dir, sizeof(runtime_dir), "/run/user/%u",
		       b->identity->uid); /* fits */
	add_op(b, (struct sbx_op){.kind = SBX_OP_TMPFS,
				  .target = runtime_dir,
				  .mode = 0700,
				  .uid = b->identity->uid,
				  .gid = b->identity->gid,
				  .size_bytes = small});
}

static void add_dev(struct builder *b)
{
	add_directory(b, "/dev", 0755);
	for (size_t i = 0; sbx_view_dev[i] != NULL; i++) {
		if (host_fact(b, sbx_view_dev[i]) != NULL)
			add_bind(b, sbx_view_dev[i], sbx_view_dev[i],
				 SBX_OP_DEVICES | SBX_OP_NOEXEC);
	}
	add_symlink(b, "/dev/fd", "/proc/self/fd");
	add_symlink(b, "/dev/stdin", "/proc/self/fd/0");
	add_symlink(b, "/dev/stdout", "/proc/self/fd/1");
	add_symlink(b, "/dev/stderr", "/proc/self/fd/2");
	add_symlink(b, "/dev/ptmx", "pts/ptmx");
	add_op(b, (struct sbx_op){.kind = SBX_OP_DEVPTS,
				  .target = borrow("/dev/pts"),
				  .mode = 0620,
				  .gid = b->facts->unprivileged ? b->identity->gid : GID_TTY,
				  .flags = SBX_OP_DEVICES | SBX_OP_NOEXEC});
	add_tmpfs(b, "/dev/shm", 01777, tmpfs_size(b->policy, SMALL_SHARE));
}

static void add_kernel(struct builder *b)
{
	add_op(b, (struct sbx_op){
		      .kind = SBX_OP_PROC, .target = borrow("/proc"), .flags = SBX_OP_NOEXEC});
	add_directory(b, "/sys", 0755);
	for (size_t i = 0; sbx_view_sys[i] != NULL; i++) {
		if (host_fact(b, sbx_view_sys[i]) != NULL)
			add_bind(b, sbx_view_sys[i], sbx_view_sys[i],
				 SBX_OP_READ_ONLY | SBX_OP_NOEXEC | SBX_OP_OPTIONAL);
	}
	add_op(b, (struct sbx_op){.kind = SBX_OP_CGROUP,
				  .target = borrow("/sys/fs/cgroup"),
				  .flags = SBX_OP_READ_ONLY | SBX_OP_NOEXEC});
}

/* Mount a host path into the pocket and put a link to it where programs look for it. */
static void add_to_pocket(struct builder *b, const char *source, const char *in_pocket)
{
	add_bind(b, source, in_pocket, SBX_OP_NOEXEC | SBX_OP_OPTIONAL);
}

static void add_mirror(struct builder *b, const char *source, const char *target)
{
	add_op(b, (struct sbx_op){.kind = SBX_OP_MIRROR,
				  .source = borrow(source),
				  .target = borrow(target),
				  .flags = SBX_OP_NOEXEC});
}

/*
 * The root-only pocket. The root process of a session (sshd's monitor, su, ...)
 * lives in this view too and has to go on writing utmp, wtmp and lastlog and
 * talking to syslog and the bus. It passes through a directory that is root's
 * alone; the agent cannot, and has no capability to change that. Directories are
 * mounted rather than the files in them, because logrotate and restarted daemons
 * replace those.
 */
static void add_pocket(struct builder *b)
{
	static const char *const logs[] = {"wtmp", "btmp", "lastlog", "faillog"};
	const struct sbx_fact *dev_log = host_fact(b, "/dev/log");

	add_directory(b, SBX_INSIDE_POCKET, 0700);
	if (host_fact(b, "/run/dbus") != NULL) {
		add_to_pocket(b, "/run/dbus", SBX_INSIDE_POCKET "/dbus");
		add_symlink(b, "/run/dbus", SBX_INSIDE_POCKET "/dbus");
	}
	if (host_fact(b, "/run/systemd/journal") != NULL) {
		add_to_pocket(b, "/run/systemd/journal", SBX_INSIDE_POCKET "/journal");
		add_symlink(b, "/run/systemd/journal", SBX_INSIDE_POCKET "/journal");
	}
	if (host_fact(b, "/run/utmp") != NULL) {
		add_to_pocket(b, "/run/utmp", SBX_INSIDE_POCKET "/utmp");
		add_symlink(b, "/run/utmp", SBX_INSIDE_POCKET "/utmp");
	}
	if (host_fact(b, "/var/log") != NULL) {
		add_to_pocket(b, "/var/log", SBX_INSIDE_POCKET "/log");
		for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
			char target[64];
			char text[64];

			(void)snprintf(target, sizeof(target), "/var/log/%s", logs[i]); /* fits */
			(void)snprintf(text, sizeof(text), SBX_INSIDE_POCKET "/log/%s",
				       logs[i]); /* fits */
			add_symlink(b, target, text);
		}
	}
	if (dev_log != NULL && dev_log->kind == SBX_FACT_LINK) {
		add_symlink(b, "/dev/log", dev_log->link_text); /* into /run/systemd/journal */
	} else if (dev_log != NULL) {
		add_to_pocket(b, "/dev/log", SBX_INSIDE_POCKET "/devlog");
		add_symlink(b, "/dev/log", SBX_INSIDE_POCKET "/devlog");
	}
	/* Through these a later login renews /etc/resolv.conf (refresh.c) and names its terminal.
	 */
	add_mirror(b, "/etc", SBX_INSIDE_POCKET "/etc");
	add_mirror(b, "/dev", SBX_INSIDE_POCKET "/dev");
}

static int compare_folders(const void *left, const void *right)
{
	const struct sbx_folder *l = left;
	const struct sbx_folder *r = right;

	return strcmp(l->target, r->target);
}

/* Parents before what lies below them, whatever the order in the file: a later mount hides. */
static void add_folders(struct builder *b, struct sbx_err *err)
{
	size_t n = b->policy->n_folders;
	sbx_autofree struct sbx_folder *sorted = NULL; /* the strings stay the policy's */

	if (n == 0 || b->rc < 0)
		return;
	sorted = calloc(n, sizeof(*sorted));
	if (sorted == NULL) {
		b->rc = -ENOMEM;
		return;
	}
	memcpy(sorted, b->policy->folders, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_folders);
	for (size_t i = 0; i < n; i++) {
		unsigned int flags = sorted[i].read_only ? SBX_OP_READ_ONLY : 0;

		if (i > 0 && strcmp(sorted[i].target, sorted[i - 1].target) == 0) {
			b->rc = sbx_fail(err, EINVAL, "two folders share the target '%s'",
					 sorted[i].target);
			return;
		}
		if (sorted[i].optional)
			flags |= SBX_OP_OPTIONAL;
		add_bind(b, sorted[i].source, sorted[i].target, flags);
	}
}

static void add_home(struct builder *b)
{
	add_op(b, (struct sbx_op){.kind = SBX_OP_WORKSPACE,
				  .source = b->policy->workspace,
				  .target = b->policy->home,
				  .mode = 0700,
				  .uid = b->identity->uid,
				  .gid = b->identity->gid});
}

static void add_marker(struct builder *b)
{
	sbx_autostr struct sbx_str text = {0};

	sbx_str_addf(&text, "%s\n", b->plan->shell != NULL ? b->plan->shell : "");
	if (text.rc < 0 && b->rc == 0)
		b->rc = text.rc;
	if (b->rc == 0)
		add_file(b, SBX_INSIDE_MARKER, text.text);
}

const char *sbx_plan_shell(const struct sbx_policy *policy, bool default_present)
{
	if (!default_present && strcmp(policy->shell, SBX_SHELL_DEFAULT) == 0)
		return SBX_SHELL_FALLBACK;
	return policy->shell;
}

static void copy_settings(struct builder *b)
{
	const struct sbx_policy *policy = b->policy;
	struct sbx_plan *plan = b->plan;

	plan->image_root = copy_or_null(b, policy->root);
	plan->hostname = copy_or_null(b, SBX_HOSTNAME);
	plan->user = copy_or_null(b, b->identity->name);
	plan->shell = copy_or_null(
	    b, sbx_plan_shell(policy, sbx_fact_find(&b->facts->image, SBX_SHELL_DEFAULT) != NULL));
	plan->ids.uid = b->identity->uid;
	plan->ids.gid = b->identity->gid;
	plan->namespaces =
	    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	if (b->facts->unprivileged)
		plan->namespaces |= CLONE_NEWUSER;
	if (policy->network == SBX_NETWORK_NONE)
		plan->namespaces |= CLONE_NEWNET;
	plan->memory_max_bytes = policy->memory_max_bytes;
	plan->memory_high_bytes = policy->memory_high_bytes;
	plan->swap_max_bytes = policy->swap_max_bytes;
	plan->tasks_max = policy->tasks_max;
	plan->cpu_max_percent = policy->cpu_max_percent;
	plan->linger_s = policy->linger_s;
	plan->user_namespaces = policy->user_namespaces;
	plan->landlock = policy->landlock;
}

int sbx_plan_make(const struct sbx_policy *policy, const struct sbx_identity *identity,
		  const struct sbx_facts *facts, struct sbx_plan **ret_plan, struct sbx_err *err)
{
	struct sbx_err reason = {0};
	struct builder b = {.policy = policy, .identity = identity, .facts = facts};

	b.plan = calloc(1, sizeof(*b.plan));
	if (b.plan == NULL)
		return sbx_fail(err, ENOMEM, "plan: %s", strerror(ENOMEM));
	copy_settings(&b);
	add_tmpfs(&b, "/", 0755, ROOT_SIZE_BYTES);
	add_image(&b);
	add_directory(&b, "/etc", 0755);
	add_etc_of_image(&b);
	add_etc_of_host(&b);
	add_accounts(&b);
	add_var_and_tmp(&b);
	add_dev(&b);
	add_kernel(&b);
	/* No root process lives in a sandbox that was made without root. */
	if (!facts->unprivileged)
		add_pocket(&b);
	add_marker(&b);
	add_home(&b);
	add_folders(&b, &reason);
	add_op(&b, (struct sbx_op){.kind = SBX_OP_SEAL, .target = borrow("/")});
	if (b.rc < 0) {
		sbx_plan_free(b.plan);
		return sbx_fail(err, -b.rc, "plan for '%s': %s", identity->name,
				reason.code != 0 ? reason.msg : strerror(-b.rc));
	}
	*ret_plan = b.plan;
	return 0;
}

bool sbx_plan_unprivileged(const struct sbx_plan *plan)
{
	return (plan->namespaces & CLONE_NEWUSER) != 0;
}

void sbx_plan_free(struct sbx_plan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < plan->n_ops; i++)
		op_done(&plan->ops[i]);
	free(plan->ops);
	free(plan->image_root);
	free(plan->hostname);
	free(plan->user);
	free(plan->shell);
	free(plan);
}

void sbx_plan_freep(struct sbx_plan **plan) { sbx_plan_free(*plan); }
