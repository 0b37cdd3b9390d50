/* SPDX-License-Identifier: MIT */
#ifndef SBX_CONFINE_H
#define SBX_CONFINE_H

#include "base/err.h"
#include "sandbox/policy.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Take away what a session must not have. All of it acts on the calling thread, is
 * inherited by what it forks or execs, and cannot be undone. The caller has one thread:
 * others that run already would keep what they have.
 *
 * Order: privileges, then Landlock, then the filter, then sbx_confine_verify(). None of
 * it reads /proc except the last, which is given a descriptor, so that it can all be done
 * after the process has moved into a sandbox in whose /proc it does not exist.
 */

/*
 * For a root process that is about to start a user's session, such as sshd's or su's.
 * Sets no_new_privs, empties the bounding, ambient and inheritable sets, and locks the
 * securebits so that neither uid 0 nor exec gives a capability. What is left are the
 * process's own permitted and effective sets, which it needs to become the user; setuid
 * clears them. A program that it execs as root has no capability at all.
 * Returns 0 or -errno: -EPERM without CAP_SETPCAP (unless all of this holds already).
 */
int sbx_confine_privileges(struct sbx_err *err);

/*
 * For a process that is the user already: the same, and the permitted and effective sets
 * are emptied too. CAP_SETPCAP is there when it has just entered a user namespace.
 */
int sbx_confine_all_privileges(struct sbx_err *err);

/*
 * Confine the calling thread to what Landlock can scope and namespaces do not: abstract
 * unix sockets of processes outside, which share the network namespace. Not signals:
 * each session is a Landlock domain of its own and could not signal another session of
 * the same sandbox; the PID namespace keeps everybody else out of reach.
 *
 * The kernel also lets a process of one domain trace another only if it is the same or
 * nested: a debugger, or a look at /proc/PID/{exe,cwd,fd,environ}, works within a
 * session and what it started, not across two logins.
 *
 * SBX_LANDLOCK_PREFER does nothing on a kernel without (before 6.12); _REQUIRE fails.
 * Returns 0 or -errno: -ENOTSUP required, but the kernel has no Landlock ABI 6.
 */
int sbx_confine_landlock(enum sbx_landlock mode, struct sbx_err *err);

/*
 * Load the session's seccomp filter. no_new_privs must be set.
 * user_namespaces  allow what bubblewrap or Chromium need for a sandbox of their own
 * Returns 0 or -errno.
 */
int sbx_confine_filter(bool user_namespaces, struct sbx_err *err);

/*
 * For the keeper, once it has opened all it needs: leaves CAP_KILL as its only capability
 * (none, if it is not root) and the calls listed in sandbox/filter_rules.c, makes it untraceable by
 * its user. A call that is not listed kills it: the keeper is the sandbox's first process, so the
 * kernel ends the whole sandbox. Only a keeper that was taken over, or has a bug, comes
 * there; an error code instead could leave it spinning, a sandbox alive that nobody
 * looks after.
 */
int sbx_confine_keeper(struct sbx_err *err);

#define SBX_CAPABILITIES_ANY UINT64_MAX

struct sbx_confine_expected {
	uint64_t capabilities; /* bits that CapPrm and CapEff may have at most */
	uint64_t min_filters;  /* seccomp filters in force, at least; 0 is taken as 1 */
};

/*
 * Check what the kernel says about the calling process: no_new_privs and a seccomp filter
 * in force, inheritable, bounding and ambient sets empty, permitted and effective as
 * expected. A line that is missing, doubled or malformed is a failure.
 * proc_self_fd  borrowed; /proc/self, opened (O_PATH is enough) by this process while it
 *               was in a mount namespace whose /proc knows it
 * Returns 0 or -errno: -EPERM not confined as expected, -EBADMSG not to be parsed.
 */
int sbx_confine_verify(int proc_self_fd, const struct sbx_confine_expected *expected,
		       struct sbx_err *err);

/* The pure part of it. 'status' is the text of /proc/PID/status, 'pid' the process's own idea. */
int sbx_confine_check_status(const char *status, pid_t pid,
			     const struct sbx_confine_expected *expected, struct sbx_err *err);

#endif
