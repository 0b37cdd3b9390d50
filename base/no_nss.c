/* SPDX-License-Identifier: MIT */
/*
 * For the static programs only: account look-ups that take the place of glibc's.
 *
 * glibc's would load NSS libraries into a program that is static so that no library of
 * anybody's choice is loaded into it, and only those of the very release it was linked
 * with would fit. These read /etc/passwd and /etc/group and nothing else. An account
 * of a directory service is not found by them: sbxsh says so and refuses, and the PAM
 * module, which is not static, is what such accounts need. Asking a helper program like
 * getent instead would mean running one before there is a sandbox.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSWD_FILE "/etc/passwd"
#define GROUP_FILE "/etc/group"
#define GROUP_BUFFER_MAX ((size_t)4 << 20) /* a group with very many members */

/* libcap-ng's capng_change_id(), which is never called, asks for these two. */
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

/* Lines with '+' and '-' mean "look elsewhere" in an old convention; they name nobody. */
static bool is_account(const char *name) { return name[0] != '+' && name[0] != '-'; }

int getpwnam_r(const char *name, struct passwd *pwd, char *buffer, size_t size,
	       struct passwd **result)
{
	FILE *file = fopen(PASSWD_FILE, "re");
	int code;

	*result = NULL;
	if (file == NULL)
		return errno;
	do {
		code = fgetpwent_r(file, pwd, buffer, size, result);
	} while (code == 0 && (!is_account(pwd->pw_name) || strcmp(pwd->pw_name, name) != 0));
	(void)fclose(file); /* only read */
	if (code != 0)
		*result = NULL;
	return code == ENOENT ? 0 : code; /* the end of the file */
}

static int find_group(const char *name, gid_t gid, struct group *grp, char *buffer, size_t size,
		      struct group **result)
{
	FILE *file = fopen(GROUP_FILE, "re");
	bool found = false;
	int code;

	*result = NULL;
	if (file == NULL)
		return errno;
	do {
		code = fgetgrent_r(file, grp, buffer, size, result);
		if (code == 0 && is_account(grp->gr_name))
			found = name != NULL ? strcmp(grp->gr_name, name) == 0 : grp->gr_gid == gid;
	} while (code == 0 && !found);
	(void)fclose(file); /* only read */
	if (code != 0)
		*result = NULL;
	return code == ENOENT ? 0 : code;
}

int getgrnam_r(const char *name, struct group *grp, char *buffer, size_t size,
	       struct group **result)
{
	return find_group(name, 0, grp, buffer, size, result);
}

int getgrgid_r(gid_t gid, struct group *grp, char *buffer, size_t size, struct group **result)
{
	return find_group(NULL, gid, grp, buffer, size, result);
}

static bool has_member(const struct group *group, const char *user)
{
	for (size_t i = 0; group->gr_mem[i] != NULL; i++) {
		if (strcmp(group->gr_mem[i], user) == 0)
			return true;
	}
	return false;
}

/* A list that is being filled: all that belongs in is counted, what fits is stored. */
struct gid_list {
	gid_t *gids;
	int room;
	int n;
};

static void gid_list_add(struct gid_list *list, gid_t gid)
{
	for (int i = 0; i < list->n && i < list->room; i++) {
		if (list->gids[i] == gid)
			return;
	}
	if (list->n < list->room)
		list->gids[list->n] = gid;
	list->n++;
}

/*
 * The function has no way to report an error. When the file cannot be read the primary
 * group alone is returned, as glibc's does.
 */
int getgrouplist(const char *user, gid_t group, gid_t *groups, int *ngroups)
{
	struct gid_list list = {.gids = groups, .room = *ngroups};
	size_t size = 4096;
	char *buffer = malloc(size);
	FILE *file = fopen(GROUP_FILE, "re");
	struct group entry;
	struct group *found;
	int code = file == NULL || buffer == NULL ? ENOENT : 0;

	gid_list_add(&list, group);
	while (code == 0) {
		code = fgetgrent_r(file, &entry, buffer, size, &found);
		if (code == ERANGE && size < GROUP_BUFFER_MAX) {
			char *grown = realloc(buffer, size * 2);

			if (grown == NULL)
				break;
			buffer = grown;
			size *= 2;
			code = 0; /* the same entry is read again: fgetgrent_r(3) went back to its
				     start */
		} else if (code == 0 && is_account(entry.gr_name) && has_member(&entry, user)) {
			gid_list_add(&list, entry.gr_gid);
		}
	}
	if (file != NULL)
		(void)fclose(file); /* only read */
	free(buffer);
	*ngroups = list.n;
	return list.n > list.room ? -1 : list.n;
}
