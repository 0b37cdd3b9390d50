/* SPDX-License-Identifier: MIT */
#include "shell/refusal.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The first word of a file that holds a number; 'otherwise' if there is none. */
static uint64_t read_number(const char *path, uint64_t otherwise)
{
	sbx_autofree char *text = NULL;
	uint64_t number;

	if (sbx_file_read(AT_FDCWD, path, 0, 64, &text, NULL, NULL, NULL) < 0)
		return otherwise;
	text[strcspn(text, "\n")] = '\0';
	return sbx_parse_u64(text, 0, UINT64_MAX, &number) < 0 ? otherwise : number;
}

/* Is "/" a mount point? In a chroot it need not be, and the kernel then refuses. */
static bool in_chroot(void)
{
	sbx_autofree char *text = NULL;

	if (sbx_file_read(AT_FDCWD, "/proc/self/mountinfo", 0, (size_t)16 << 20, &text, NULL, NULL,
			  NULL) < 0)
		return false;
	/* ID PARENT MAJOR:MINOR ROOT MOUNTPOINT ... */
	for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
		const char *p = line;

		for (int i = 0; i < 4 && p != NULL; i++) {
			p = strchr(p, ' ');
			p = p == NULL ? NULL : p + 1;
		}
		if (p != NULL && strncmp(p, "/ ", 2) == 0)
			return false;
		if (strchr(line, '\n') == NULL)
			break;
	}
	return true;
}

static bool filtered(void)
{
	sbx_autofree char *text = NULL;

	return sbx_file_read(AT_FDCWD, "/proc/self/status", 0, (size_t)1 << 20, &text, NULL, NULL,
			     NULL) == 0 &&
	       strstr(text, "\nSeccomp:\t2\n") != NULL;
}

static const char *reason(int code)
{
	if (code == EINVAL || code == ENOSYS)
		return access("/proc/self/ns/user", F_OK) < 0
			   ? "this kernel has no user namespaces (CONFIG_USER_NS)"
			   : NULL;
	if (read_number("/proc/sys/user/max_user_namespaces", UINT64_MAX) == 0)
		return "this machine allows no user namespaces; as root: sysctl -w "
		       "user.max_user_namespaces=15000";
	if (code == ENOSPC)
		return "there are too many user namespaces, or too deeply nested ones; as root: "
		       "sysctl -w user.max_user_namespaces=15000";
	if (code != EPERM && code != EACCES)
		return NULL;
	if (read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		return "this machine gives user namespaces to root only; as root: sysctl -w "
		       "kernel.unprivileged_userns_clone=1";
	if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1)
		return "AppArmor gives user namespaces only to programs with a profile; as root: "
		       "install packaging/apparmor/sbxsh (it is in sbx's documentation directory "
		       "too) as /etc/apparmor.d/sbxsh and run apparmor_parser -r "
		       "/etc/apparmor.d/sbxsh";
	if (in_chroot())
		return "this is a chroot, where the kernel gives no user namespaces; use the PAM "
		       "module, or a container instead of the chroot";
	if (filtered())
		return "a seccomp filter of a container or service (docker, RestrictNamespaces=) "
		       "forbids user namespaces; use the PAM module, or allow them there";
	return "this machine does not let a user make the namespaces of a sandbox: a chroot, a "
	       "container or a security module may be why; the PAM module works without";
}

void sbx_refusal_explain(struct sbx_err *err)
{
	static const char *const steps[] = {"make namespaces:", "write '/proc/self/",
					    "make the mounts private:"};
	bool about_namespaces = false;
	const char *why;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		about_namespaces = about_namespaces || strstr(err->msg, steps[i]) != NULL;
	if (strstr(err->msg, "fsmount proc:") != NULL)
		why = "parts of /proc are hidden here, as containers do, and then the kernel gives "
		      "no user a /proc of his own; use the PAM module, or unmask /proc there";
	else
		why = about_namespaces ? reason(err->code) : NULL;
	if (why != NULL)
		(void)sbx_wrap(err, -err->code, "%s", why);
}
