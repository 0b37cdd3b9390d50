/* SPDX-License-Identifier: MIT */
#ifndef SBX_CGROUP_H
#define SBX_CGROUP_H

#include "base/err.h"
#include "sandbox/plan.h"

/*
 * One cgroup per sandbox, shared by all its sessions, so that N logins do not get
 * N times the limit. On cgroup v1 that is one directory in each hierarchy used.
 *
 * Every sandbox has a name of its own ("agent@1a2b3c4d") rather than its user's:
 * an old keeper that is still clearing away its cgroup can then never take the one
 * of its successor with it.
 */

#define SBX_CGROUP_PARENT "sbx" /* below the root of each hierarchy */
#define SBX_CGROUP_MAX 3	/* hierarchies: memory, pids, cpu */
/* Ends the name of a cgroup that somebody else, systemd, makes and removes; and no other's. */
#define SBX_CGROUP_MANAGED_SUFFIX ".scope"

/* One hierarchy's part. All descriptors are owned by the struct sbx_cgroup. */
struct sbx_cgroup_part {
	const char *label; /* "memory", "pids", "cpu"; "unified" for v2 */
	char *path;	   /* of the sandbox's directory, on the host */
	int dir_fd;	   /* the sandbox's directory */
	int join_fd;	   /* write "0" to it to put the calling thread in */
	int parent_fd;	   /* directory that holds dir_fd's */
	int leave_fd;	   /* write "0" to it to get out again, to the top of the hierarchy */
};

struct sbx_cgroup {
	const struct sbx_cgroup_driver *driver;
	char *name;	/* of the directories */
	bool delegated; /* below where this process is, in directories that are the user's */
	struct sbx_cgroup_part parts[SBX_CGROUP_MAX];
	size_t n_parts;
};

/* What differs between the ways a kernel offers limits. */
struct sbx_cgroup_driver {
	const char *name;
	bool unified; /* one directory for all limits: cgroup v2 */
	/* 1 if this driver fits the machine, 0 if not, -errno. */
	int (*probe)(struct sbx_err *err);
	/* True if the user was given directories to make cgroups with these limits in. */
	bool (*delegated)(void);
	/* What a sandbox's directories are called. Returns 0 or -errno. */
	int (*make_name)(const char *user, uint64_t random, char **ret_name);
	/* Make cgroup->name in each hierarchy, set the plan's limits, open the descriptors. */
	int (*create)(const struct sbx_plan *plan, struct sbx_cgroup *cgroup, struct sbx_err *err);
	/*
	 * Put the calling process, the launcher, in. A driver for which a cgroup begins with
	 * its first process does here, and not in create(), what create() says.
	 */
	int (*enter)(const struct sbx_plan *plan, struct sbx_cgroup *cgroup, struct sbx_err *err);
};

extern const struct sbx_cgroup_driver sbx_cgroup_v1;
extern const struct sbx_cgroup_driver sbx_cgroup_v2;
extern const struct sbx_cgroup_driver sbx_cgroup_systemd;

/*
 * Make a new cgroup with the plan's limits in force. A limit that cannot be put in
 * force is an error, never a warning. What dead sandboxes of the same user left
 * behind is removed on the way.
 * Without root there may be no cgroup that the user may use. Then the one returned has no
 * part, and limits have to be put in force for each process by setrlimit(2).
 * ret_cgroup  caller frees with sbx_cgroup_free(); that does not remove the cgroup
 * Returns 0 or -errno: -ENOTSUP no usable cgroup file system.
 */
int sbx_cgroup_create(const struct sbx_plan *plan, struct sbx_cgroup **ret_cgroup,
		      struct sbx_err *err);

/*
 * Put the calling process, which must have one thread, into a new cgroup as the first; no
 * process may have been forked since that is to share the descriptors in it.
 */
int sbx_cgroup_enter(const struct sbx_plan *plan, struct sbx_cgroup *cgroup, struct sbx_err *err);

/* True if the cgroup of this name is not ours to remove. */
bool sbx_cgroup_is_managed(const char *name);

/* Remove it again, for a start that failed. False: a process is still in it; try again. */
bool sbx_cgroup_remove(const struct sbx_cgroup *cgroup);
void sbx_cgroup_free(struct sbx_cgroup *cgroup);
void sbx_cgroup_freep(struct sbx_cgroup **cgroup);

/*
 * Put the calling process, which must have one thread, into the cgroups behind
 * 'join_fds'. On v1 these are "tasks" files: writing "0" there moves the calling
 * thread without the kernel's global lock that "cgroup.procs" takes, whose grace
 * period costs a login 6 to 11 ms (measured on 6.18).
 */
int sbx_cgroup_join(const int *join_fds, size_t n_fds, struct sbx_err *err);

/* The driver by which a user has cgroups of his own, or NULL. */
const struct sbx_cgroup_driver *sbx_cgroup_delegated(void);

/*
 * Shared by the drivers: where the calling process is in a hierarchy, as a path below its
 * mount: "" for the top.
 * controller  "memory" and so on; "" for v2
 */
int sbx_cgroup_own_path(const char *controller, char **ret_path, struct sbx_err *err);

/* Shared by the drivers: the part's directory and descriptors. 'mount_path' is the hierarchy's. */
int sbx_cgroup_part_open(const char *label, const char *mount_path, const char *name,
			 const char *join_file, struct sbx_cgroup_part *ret_part,
			 struct sbx_err *err);
/* Shared by the drivers that make directories themselves. */
int sbx_cgroup_plain_name(const char *user, uint64_t random, char **ret_name);
int sbx_cgroup_plain_enter(const struct sbx_plan *plan, struct sbx_cgroup *cgroup,
			   struct sbx_err *err);
/* Shared by the drivers: write a number, or 'text' when it is not NULL, to a file of the part. */
int sbx_cgroup_set(const struct sbx_cgroup_part *part, const char *file, const char *text,
		   uint64_t value, struct sbx_err *err);

#endif
