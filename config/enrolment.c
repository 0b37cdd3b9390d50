/* SPDX-License-Identifier: MIT */
#include "config/enrolment.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)16 << 10)
#define BUFFER_MAX_BYTES ((size_t)64 << 20) /* groups with 10^5 members exist */
#define GROUPS_MAX 65536		    /* NGROUPS_MAX of Linux */

/*
 * What getpwnam_r(3) and its like say for "no such entry". The manual page names EBADF
 * and EPERM too; those are taken for failures here, to be on the safe side.
 */
static bool means_absent(int code) { return code == 0 || code == ENOENT || code == ESRCH; }

/*
 * NSS goes on to the next service when one fails, so that the last one's "not found" is
 * all that is heard: out of descriptors, with "passwd: files systemd", every user of the
 * file is unknown. The file can be asked without it.
 */
static int check_absent(const char *path, const char *name, struct sbx_err *err)
{
	sbx_autofclose FILE *file = NULL;
	sbx_autofree char *line = NULL;
	const size_t length = strlen(name);
	size_t room = 0;

	if (length == 0 || strpbrk(name, ":\n") != NULL)
		return 0; /* not a name that can be in there */
	file = fopen(path, "re");
	if (file == NULL && errno == ENOENT)
		return 0;
	if (file == NULL)
		return sbx_fail(err, errno, "look up '%s': open '%s': %s", name, path,
				strerror(errno));
	while (getline(&line, &room, file) >= 0) {
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return sbx_fail(err, EIO, "look up '%s': it is in '%s' but was not found",
					name, path);
	}
	if (feof(file) == 0)
		return sbx_fail(err, errno, "look up '%s': read '%s': %s", name, path,
				strerror(errno));
	return 0;
}

struct account {
	struct passwd passwd;
	char *buffer;
	bool found;
};

static int look_up_user(const char *user, struct account *ret, struct sbx_err *err)
{
	for (size_t size = BUFFER_BYTES; size <= BUFFER_MAX_BYTES; size *= 4) {
		struct passwd *found = NULL;
		char *buffer = malloc(size);
		int code;

		if (buffer == NULL)
			return sbx_fail(err, ENOMEM, "look up '%s': %s", user, strerror(ENOMEM));
		code = getpwnam_r(user, &ret->passwd, buffer, size, &found);
		if (code == ERANGE) {
			free(buffer);
			continue;
		}
		ret->buffer = buffer;
		ret->found = found != NULL;
		if (found == NULL && !means_absent(code))
			return sbx_fail(err, code, "look up '%s': %s", user, strerror(code));
		return found != NULL ? 0 : check_absent("/etc/passwd", user, err);
	}
	return sbx_fail(err, ERANGE, "look up '%s': the entry is too large", user);
}

static bool has_member(const struct group *group, const char *user)
{
	for (size_t i = 0; group->gr_mem != NULL && group->gr_mem[i] != NULL; i++) {
		if (strcmp(group->gr_mem[i], user) == 0)
			return true;
	}
	return false;
}

/* Directory services often list no members with a group; only this call asks the other way round.
 */
static int in_group_list(const char *user, gid_t primary, gid_t wanted, bool *ret,
			 struct sbx_err *err)
{
	int room = 64;

	while (room <= GROUPS_MAX) {
		sbx_autofree gid_t *gids = calloc((size_t)room, sizeof(*gids));
		int n = room;

		if (gids == NULL)
			return sbx_fail(err, ENOMEM, "groups of '%s': %s", user, strerror(ENOMEM));
		if (getgrouplist(user, primary, gids, &n) < 0) {
			room *= 4;
			continue;
		}
		*ret = false;
		for (int i = 0; i < n; i++)
			*ret = *ret || gids[i] == wanted;
		return 0;
	}
	return sbx_fail(err, ERANGE, "groups of '%s': too many", user);
}

static int member_of(const struct passwd *passwd, const struct group *group, bool *ret,
		     struct sbx_err *err)
{
	*ret = passwd->pw_gid == group->gr_gid || has_member(group, passwd->pw_name);
	if (*ret)
		return 0;
	return in_group_list(passwd->pw_name, passwd->pw_gid, group->gr_gid, ret, err);
}

/*
 * getgrnam_r() rather than getgrouplist() alone, because the latter has no way to say
 * that it could not read the group file: it would answer with the primary group.
 */
static int enrolled_by_group(const struct passwd *passwd, const char *group, bool *ret,
			     struct sbx_err *err)
{
	for (size_t size = BUFFER_BYTES; size <= BUFFER_MAX_BYTES; size *= 4) {
		sbx_autofree char *buffer = malloc(size);
		struct group entry;
		struct group *found = NULL;
		int code;

		if (buffer == NULL)
			return sbx_fail(err, ENOMEM, "look up group '%s': %s", group,
					strerror(ENOMEM));
		code = getgrnam_r(group, &entry, buffer, size, &found);
		if (code == ERANGE)
			continue;
		if (found != NULL)
			return member_of(passwd, found, ret, err);
		if (!means_absent(code))
			return sbx_fail(err, code, "look up group '%s': %s", group, strerror(code));
		*ret = false;
		return check_absent("/etc/group", group, err);
	}
	return sbx_fail(err, ERANGE, "look up group '%s': the entry is too large", group);
}

static bool enrolled_by_shell(const struct passwd *passwd)
{
	/* Some name services leave it out. */
	const char *shell = passwd->pw_shell == NULL ? "" : passwd->pw_shell;
	const char *slash = strrchr(shell, '/');

	return strcmp(slash == NULL ? shell : slash + 1, SBX_SHELL_NAME) == 0;
}

int sbx_enrolment_lookup(const char *user, const char *group, enum sbx_enrolment *ret,
			 struct sbx_err *err)
{
	struct account account = {0};
	sbx_autofree char *buffer = NULL;
	bool by_group = false;
	int rc = look_up_user(user, &account, err);

	buffer = account.buffer;
	if (rc < 0)
		return rc;
	*ret = SBX_NOT_ENROLLED;
	if (!account.found || account.passwd.pw_uid == 0)
		return 0;
	if (enrolled_by_shell(&account.passwd)) {
		*ret = SBX_ENROLLED_BY_SHELL;
		return 0;
	}
	rc = enrolled_by_group(&account.passwd, group, &by_group, err);
	if (rc == 0 && by_group)
		*ret = SBX_ENROLLED_BY_GROUP;
	return rc;
}
