/* SPDX-License-Identifier: MIT */
#include "sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	int flag;
	const char *file;
} kinds[SBX_NS_COUNT] = {
    [SBX_NS_MNT] = {CLONE_NEWNS, "ns/mnt"},
    [SBX_NS_PID] = {CLONE_NEWPID, "ns/pid_for_children"},
    [SBX_NS_IPC] = {CLONE_NEWIPC, "ns/ipc"},
    [SBX_NS_UTS] = {CLONE_NEWUTS, "ns/uts"},
    [SBX_NS_CGROUP] = {CLONE_NEWCGROUP, "ns/cgroup"},
    [SBX_NS_NET] = {CLONE_NEWNET, "ns/net"},
    [SBX_NS_USER] = {CLONE_NEWUSER, "ns/user"},
};

int sbx_namespaces_read(int proc_self_fd, struct sbx_namespaces *ret, struct sbx_err *err)
{
	struct sbx_namespaces found;

	for (int i = 0; i < SBX_NS_COUNT; i++) {
		struct stat st;

		if (fstatat(proc_self_fd, kinds[i].file, &st, 0) < 0)
			return sbx_fail(err, errno, "read /proc/self/%s: %s", kinds[i].file,
					strerror(errno));
		found.inode[i] = st.st_ino;
	}
	*ret = found;
	return 0;
}

int sbx_namespaces_verify(const struct sbx_namespaces *before, const struct sbx_namespaces *now,
			  const struct sbx_namespaces *wanted, int flags, struct sbx_err *err)
{
	for (int i = 0; i < SBX_NS_COUNT; i++) {
		bool joined = (flags & kinds[i].flag) != 0;
		bool right =
		    joined ? now->inode[i] == wanted->inode[i] && now->inode[i] != before->inode[i]
			   : now->inode[i] == before->inode[i];

		if (!right)
			return sbx_fail(err, EXDEV, "the %s namespace after joining is not %s",
					kinds[i].file + strlen("ns/"),
					joined ? "the sandbox's" : "the one before");
	}
	return 0;
}
