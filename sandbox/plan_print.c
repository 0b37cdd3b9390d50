/* SPDX-License-Identifier: MIT */
/* A plan as text, for people and for tests that compare it. */
#include "sandbox/plan.h"

#include <inttypes.h>
#include <sched.h>

static const char *op_name(enum sbx_op_kind kind)
{
	switch (kind) {
	case SBX_OP_DIRECTORY:
		return "directory";
	case SBX_OP_SYMLINK:
		return "symlink";
	case SBX_OP_FILE:
		return "file";
	case SBX_OP_COPY:
		return "copy";
	case SBX_OP_BIND:
		return "bind";
	case SBX_OP_WORKSPACE:
		return "workspace";
	case SBX_OP_MIRROR:
		return "mirror";
	case SBX_OP_CGROUP:
		return "cgroup";
	case SBX_OP_TMPFS:
		return "tmpfs";
	case SBX_OP_DEVPTS:
		return "devpts";
	case SBX_OP_PROC:
		return "proc";
	case SBX_OP_SEAL:
		return "seal";
	}
	return "?";
}

static bool op_mounts(enum sbx_op_kind kind)
{
	return kind != SBX_OP_DIRECTORY && kind != SBX_OP_SYMLINK && kind != SBX_OP_FILE &&
	       kind != SBX_OP_COPY && kind != SBX_OP_SEAL;
}

/*
 * The texts of links come from an image that nobody may trust: a newline in one must not
 * read as one more operation, nor an escape sequence reach an administrator's terminal.
 */
static void print_path(struct sbx_str *out, const char *path)
{
	for (const char *p = path; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f || c == '\\')
			sbx_str_addf(out, "\\x%02x", c);
		else
			sbx_str_addn(out, p, 1);
	}
}

static void print_op(const struct sbx_op *op, struct sbx_str *out)
{
	sbx_str_addf(out, "  %-10s ", op_name(op->kind));
	print_path(out, op->target);
	if (op->source != NULL) {
		sbx_str_add(out, " <- ");
		print_path(out, op->source);
	}
	if (op->kind == SBX_OP_SYMLINK) {
		sbx_str_add(out, " -> ");
		print_path(out, op->text);
	}
	if (op_mounts(op->kind))
		sbx_str_addf(out, " %s,nosuid%s%s",
			     (op->flags & SBX_OP_READ_ONLY) != 0 ? "ro" : "rw",
			     (op->flags & SBX_OP_DEVICES) != 0 ? "" : ",nodev",
			     (op->flags & SBX_OP_NOEXEC) != 0 ? ",noexec" : "");
	if (op->mode != 0)
		sbx_str_addf(out, " mode=%04o", op->mode);
	if (op->uid != 0)
		sbx_str_addf(out, " owner=%u:%u", op->uid, op->gid);
	if (op->size_bytes != 0)
		sbx_str_addf(out, " size=%" PRIu64, op->size_bytes);
	if ((op->flags & SBX_OP_OPTIONAL) != 0)
		sbx_str_add(out, " if-present");
	sbx_str_add(out, "\n");
}

static void print_limit(struct sbx_str *out, const char *name, uint64_t value, const char *unit)
{
	if (value == SBX_UNLIMITED)
		sbx_str_addf(out, "  %-12s none\n", name);
	else
		sbx_str_addf(out, "  %-12s %" PRIu64 "%s\n", name, value, unit);
}

static void print_namespaces(const struct sbx_plan *plan, struct sbx_str *out)
{
	static const struct {
		int flag;
		const char *name;
	} names[] = {
	    {CLONE_NEWUSER, "user"}, {CLONE_NEWNS, "mnt"},  {CLONE_NEWPID, "pid"},
	    {CLONE_NEWIPC, "ipc"},   {CLONE_NEWUTS, "uts"}, {CLONE_NEWCGROUP, "cgroup"},
	    {CLONE_NEWNET, "net"},
	};

	sbx_str_add(out, "namespaces:");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((plan->namespaces & names[i].flag) != 0)
			sbx_str_addf(out, " %s", names[i].name);
	}
	sbx_str_add(out, "\n");
}

void sbx_plan_print(const struct sbx_plan *plan, struct sbx_str *out)
{
	sbx_str_addf(out, "root: %s\n", plan->image_root);
	sbx_str_addf(out, "shell: %s\n", plan->shell);
	sbx_str_addf(out, "hostname: %s\n", plan->hostname);
	print_namespaces(plan, out);
	sbx_str_addf(out, "user namespaces inside: %s\n",
		     plan->user_namespaces ? "allowed" : "denied");
	sbx_str_add(out, "limits:\n");
	print_limit(out, "memory_max", plan->memory_max_bytes, " bytes");
	print_limit(out, "memory_high", plan->memory_high_bytes, " bytes");
	print_limit(out, "swap_max", plan->swap_max_bytes, " bytes");
	print_limit(out, "tasks_max", plan->tasks_max, "");
	print_limit(out, "cpu_max", plan->cpu_max_percent, "%");
	if (plan->linger_s == SBX_LINGER_FOREVER)
		sbx_str_add(out, "  linger       until stopped\n");
	else
		sbx_str_addf(out, "  linger       %" PRIu64 " s\n", plan->linger_s);
	sbx_str_add(out, "view, in order:\n");
	for (size_t i = 0; i < plan->n_ops; i++)
		print_op(&plan->ops[i], out);
}
