/* SPDX-License-Identifier: MIT */
#ifndef SBX_PLAN_H
#define SBX_PLAN_H

#include "base/err.h"
#include "base/str.h"
#include "sandbox/facts.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"

#include <stdint.h>
#include <sys/types.h>

enum sbx_op_kind {
	SBX_OP_DIRECTORY, /* make 'target' */
	SBX_OP_SYMLINK,	  /* make 'target' point to 'text' */
	SBX_OP_FILE,	  /* write 'text' to 'target' */
	SBX_OP_COPY,	  /* write what 'source' holds now, then 'text', to 'target' */
	SBX_OP_BIND,	  /* mount 'source' (and all below it) on 'target' */
	SBX_OP_WORKSPACE, /* the same for the workspace: made if absent, owner checked */
	SBX_OP_MIRROR,	  /* mount 'source' of the new root itself on 'target' */
	SBX_OP_CGROUP,	  /* show the sandbox's own cgroup at 'target' */
	SBX_OP_TMPFS,
	SBX_OP_DEVPTS,
	SBX_OP_PROC,
	SBX_OP_SEAL, /* make the root file system read-only */
};

enum {
	SBX_OP_READ_ONLY = 1 << 0,
	SBX_OP_NOEXEC = 1 << 1,
	SBX_OP_DEVICES = 1 << 2,  /* device nodes work; every other mount is nodev */
	SBX_OP_OPTIONAL = 1 << 3, /* skipped when the source has vanished */
	SBX_OP_IMAGE = 1 << 4,	  /* 'source' is a path in the image: its links resolve inside it */
};

struct sbx_op {
	enum sbx_op_kind kind;
	unsigned int flags;
	char *source;
	char *target;
	char *text;
	mode_t mode;
	uid_t uid; /* owner of what is made */
	gid_t gid;
	uint64_t size_bytes; /* TMPFS */
};

/*
 * How one sandbox is to be built: pure data, in order of execution. What
 * sbx_plan_print() shows is what sandbox/build.c does, nothing more or less.
 */
struct sbx_plan {
	struct sbx_op *ops;
	size_t n_ops;
	char *image_root;
	int namespaces; /* CLONE_NEW* flags */
	char *hostname;
	struct sbx_identity_ids {
		uid_t uid;
		gid_t gid;
	} ids;
	char *user;
	char *shell;
	/* Copied from the policy, so that a plan is complete in itself. */
	uint64_t memory_max_bytes;
	uint64_t memory_high_bytes;
	uint64_t swap_max_bytes;
	uint64_t tasks_max;
	uint64_t cpu_max_percent;
	uint64_t linger_s;
	bool user_namespaces;
	enum sbx_landlock landlock;
};

/*
 * Turn a policy into a plan. Pure: no system call besides memory allocation.
 * ret_plan  caller frees with sbx_plan_free()
 * Returns 0 or -errno (-ENOMEM; -EINVAL for folders that cannot be placed).
 */
int sbx_plan_make(const struct sbx_policy *policy, const struct sbx_identity *identity,
		  const struct sbx_facts *facts, struct sbx_plan **ret_plan, struct sbx_err *err);
/* Is it for a user namespace, that is, for a caller that is not root? */
bool sbx_plan_unprivileged(const struct sbx_plan *plan);

void sbx_plan_free(struct sbx_plan *plan);
void sbx_plan_freep(struct sbx_plan **plan);

/* Append the plan as text, one operation a line, to 'out' (look at out->rc afterwards). */
void sbx_plan_print(const struct sbx_plan *plan, struct sbx_str *out);

/*
 * The shell that sessions really get: the policy's, or the fallback when the policy
 * says nothing else than the default and that is not installed in the image.
 */
const char *sbx_plan_shell(const struct sbx_policy *policy, bool default_present);

/* The synthetic account files, also written anew at each join. 'ret_text' is the caller's. */
int sbx_passwd_text(const struct sbx_identity *identity, const char *home, const char *shell,
		    char **ret_text);
int sbx_group_text(const struct sbx_identity *identity, char **ret_text);

#endif
