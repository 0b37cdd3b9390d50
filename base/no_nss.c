/* SPDX-License-Identifier: MIT */
/*
 * For the static programs only. libcap-ng's capng_change_id(), which we never call,
 * asks for these two; glibc's own would load NSS libraries into a static program that
 * is static so that no library of anybody's choice is loaded into it.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>

struct passwd *getpwuid(uid_t uid)
{
	(void)uid;
	errno = ENOSYS;
	return NULL;
}

int initgroups(const char *user, gid_t group)
{
	(void)user;
	(void)group;
	errno = ENOSYS;
	return -1;
}
