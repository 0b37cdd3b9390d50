/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "base/paths.h"
#include "control/check.h"
#include "sandbox/cgroup.h"
#include "sandbox/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void check_keeper(struct sbx_check *check)
{
	const char *path = check->paths.keeper;
	struct sbx_findings *findings = &check->findings;
	struct stat st;

	if (stat(path, &st) < 0) {
		sbx_findings_add(findings, SBX_FINDING_ERROR, path,
				 "no enrolled user can log in: %s", strerror(errno));
		sbx_findings_remedy(findings, "install sbx again");
		return;
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0) {
		sbx_findings_add(findings, SBX_FINDING_ERROR, path,
				 "no enrolled user can log in: it is no executable file");
		sbx_findings_remedy(findings, "install sbx again");
	} else if (st.st_uid != 0 || (st.st_mode & 0022) != 0) {
		sbx_findings_add(findings, SBX_FINDING_ERROR, path,
				 "root runs it, but others than root can change it");
		sbx_findings_remedy(findings, "chown root:root %s; chmod 0755 %s", path, path);
	}
}

/* The newest system call that a login needs; on a bad descriptor it does nothing. */
static void check_kernel(struct sbx_check *check)
{
	if (syscall(SYS_mount_setattr, -EBADF, "", 0, NULL, (size_t)0) < 0 && errno == ENOSYS) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, "kernel",
				 "too old, or it refuses mount_setattr(2)");
		sbx_findings_remedy(&check->findings, "Linux 5.14 or newer is needed");
	}
}

/* By which systemd is asked for a cgroup. A socket that is there may have nobody behind it. */
static bool bus_answers(void)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX,
						   .sun_path = SBX_SCOPE_BUS};
	sbx_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static void check_cgroup(struct sbx_check *check)
{
	struct sbx_err err = {0};
	int v2 = sbx_cgroup_v2.probe(&err);
	int v1 = v2 > 0 ? 0 : sbx_cgroup_v1.probe(&err);

	if (sbx_cgroup_systemd.probe(NULL) > 0 && !bus_answers()) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, SBX_SCOPE_BUS,
				 "systemd cannot be asked for a cgroup, so logins are refused: %s",
				 strerror(errno));
		sbx_findings_remedy(&check->findings,
				    "apt-get install dbus; systemctl start dbus.socket");
	}
	if (v2 > 0 || v1 > 0)
		return;
	sbx_findings_add(&check->findings, SBX_FINDING_ERROR, "/sys/fs/cgroup",
			 "memory and task limits cannot be put in force, so logins are refused%s%s",
			 v2 < 0 || v1 < 0 ? ": " : "", v2 < 0 || v1 < 0 ? err.msg : "");
	sbx_findings_remedy(&check->findings,
			    "mount cgroup2 there, or the v1 hierarchies memory and pids");
}

static bool has_line(const char *text, const char *line)
{
	const size_t length = strlen(line);

	for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, line, length) == 0 && (at[length] == '\n' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* Programs that ask "is this a real user?" go by /etc/shells: chsh, some FTP and mail servers. */
static void check_shells(struct sbx_check *check)
{
	sbx_autofree char *text = NULL;
	struct sbx_err reason = {0};
	const char *file = check->paths.shells_file;
	int rc;

	if (access(check->paths.shell, F_OK) < 0)
		return; /* no sbxsh: those who have it as their shell are reported one by one */
	rc = sbx_file_read(AT_FDCWD, file, 0, (size_t)1 << 20, &text, NULL, NULL, &reason);
	if (rc < 0 && rc != -ENOENT) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, file, "%s", reason.msg);
	} else if (rc < 0 || !has_line(text, check->paths.shell)) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, file,
				 "%s is not listed, so some services refuse its users",
				 check->paths.shell);
		sbx_findings_remedy(&check->findings, "add-shell %s", check->paths.shell);
	}
}

int sbx_check_host(struct sbx_check *check, struct sbx_err *err)
{
	(void)err; /* what cannot be looked at is a finding */
	check_keeper(check);
	check_kernel(check);
	check_cgroup(check);
	check_shells(check);
	return 0;
}
