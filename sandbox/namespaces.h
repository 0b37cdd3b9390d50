/* SPDX-License-Identifier: MIT */
#ifndef SBX_NAMESPACES_H
#define SBX_NAMESPACES_H

#include "base/err.h"

#include <stdint.h>

enum {
	SBX_NS_MNT,
	SBX_NS_PID,
	SBX_NS_IPC,
	SBX_NS_UTS,
	SBX_NS_CGROUP,
	SBX_NS_NET,
	SBX_NS_USER,
	SBX_NS_COUNT,
};

/* Which namespaces a process is in: inode numbers on nsfs, unique while the namespace lives. */
struct sbx_namespaces {
	uint64_t inode[SBX_NS_COUNT];
};

/*
 * Read them.
 * proc_self_fd  O_PATH directory of the process under /proc, borrowed. Held open
 *               across setns(2), it goes on naming the same process even when the
 *               new mount namespace's /proc does not know it by number.
 * For the PID namespace it is the one that children are born in that counts.
 */
int sbx_namespaces_read(int proc_self_fd, struct sbx_namespaces *ret, struct sbx_err *err);

/*
 * Has setns(2) done what it should? Every namespace in 'flags' (CLONE_NEW*) must be
 * the one of 'wanted' and differ from 'before'; every other must be as before.
 * Returns 0, or -EXDEV naming the first that is wrong.
 */
int sbx_namespaces_verify(const struct sbx_namespaces *before, const struct sbx_namespaces *now,
			  const struct sbx_namespaces *wanted, int flags, struct sbx_err *err);

#endif
