/* SPDX-License-Identifier: MIT */
#include "sandbox/identity.h"

#include "base/str.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define NSS_BUFFER_MAX_BYTES ((size_t)4 << 20) /* a group with very many members */
#define GROUPS_MAX 65536		       /* NGROUPS_MAX of the kernel */

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool sbx_username_valid(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > NAME_MAX_BYTES)
		return false;
	/* Not '-' first: such a name would be an option to every program; not '.': it would be
	 * hidden, or no name at all. */
	if (!is_alnum(name[0]) && name[0] != '_')
		return false;
	for (size_t i = 1; i < length; i++) {
		bool last_dollar = name[i] == '$' && i == length - 1; /* Samba machine accounts */

		if (!is_alnum(name[i]) && strchr("_.-", name[i]) == NULL && !last_dollar)
			return false;
	}
	return true;
}

/* Fit to be one field of a passwd or group line? */
static bool is_field(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f || *p == ':')
			return false;
	}
	return true;
}

/* The comment field matters to nobody: what does not fit is replaced rather than refused. */
static char *copy_as_field(const char *text)
{
	char *copy = strdup(text);

	for (unsigned char *p = (unsigned char *)copy; p != NULL && *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f || *p == ':')
			*p = ' ';
	}
	return copy;
}

/*
 * A passwd home may be written "/home/agent/" or "/home//agent"; one spelling is needed
 * because paths inside are compared as text. "." and ".." are refused (NULL, errno EINVAL).
 */
static char *copy_home(const char *home)
{
	sbx_autostr struct sbx_str clean = {0};
	const char *p = home;
	char *text;
	int rc;

	if (home[0] != '/' || !is_field(home)) {
		errno = EINVAL;
		return NULL;
	}
	while (*(p += strspn(p, "/")) != '\0') {
		size_t length = strcspn(p, "/");

		if ((length == 1 && p[0] == '.') || (length == 2 && p[0] == '.' && p[1] == '.')) {
			errno = EINVAL;
			return NULL;
		}
		sbx_str_add(&clean, "/");
		sbx_str_addn(&clean, p, length);
		p += length;
	}
	if (clean.length == 0)
		sbx_str_add(&clean, "/");
	rc = sbx_str_take(&clean, &text);
	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	return text;
}

/* getpwnam_r(3) and getgrgid_r(3) want a buffer whose size nobody knows. */
static int grow(char **buffer, size_t *size)
{
	size_t wanted = *size == 0 ? 1024 : *size * 2;
	char *grown;

	if (wanted > NSS_BUFFER_MAX_BYTES)
		return -ERANGE;
	grown = realloc(*buffer, wanted);
	if (grown == NULL)
		return -ENOMEM;
	*buffer = grown;
	*size = wanted;
	return 0;
}

/* The name of 'gid'; its number in decimal when it has none that fits into a group line. */
static int group_name(gid_t gid, char **buffer, size_t *size, char **ret_name)
{
	sbx_autostr struct sbx_str number = {0};
	struct group group;
	struct group *found = NULL;
	int rc;

	do {
		rc = *size == 0 ? ERANGE : getgrgid_r(gid, &group, *buffer, *size, &found);
		if (rc == ERANGE) {
			int grown = grow(buffer, size);

			if (grown < 0)
				return grown;
		}
	} while (rc == ERANGE || rc == EINTR);
	/* A look-up that fails must not make a group vanish from the policy's point of view. */
	if (found == NULL && rc != 0 && rc != ENOENT && rc != ESRCH)
		return -rc;
	if (found != NULL && found->gr_name[0] != '\0' && is_field(found->gr_name)) {
		*ret_name = strdup(found->gr_name);
		return *ret_name == NULL ? -ENOMEM : 0;
	}
	sbx_str_addf(&number, "%u", gid);
	return sbx_str_take(&number, ret_name);
}

/* All gids of the user, the primary first. */
static int list_groups(const char *name, gid_t gid, gid_t **ret_gids, size_t *ret_n)
{
	sbx_autofree gid_t *gids = NULL;
	int room = 32;

	for (;;) {
		gid_t *grown = reallocarray(gids, (size_t)room, sizeof(*grown));
		int n = room;

		if (grown == NULL)
			return -ENOMEM;
		gids = grown;
		if (getgrouplist(name, gid, gids, &n) >= 0) {
			*ret_gids = gids;
			*ret_n = (size_t)n;
			gids = NULL;
			return 0;
		}
		/* It says how many there are; some old versions did not. */
		room = n > room ? n : room * 2;
		if (room > GROUPS_MAX)
			return -E2BIG;
	}
}

static int fill_groups(struct sbx_identity *identity)
{
	sbx_autofree gid_t *gids = NULL;
	sbx_autofree char *buffer = NULL;
	size_t size = 0;
	size_t n = 0;
	int rc = list_groups(identity->name, identity->gid, &gids, &n);

	if (rc < 0)
		return rc;
	identity->groups = calloc(n + 1, sizeof(*identity->groups));
	if (identity->groups == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sbx_group *group = &identity->groups[identity->n_groups];

		group->gid = gids[i];
		rc = group_name(gids[i], &buffer, &size, &group->name);
		if (rc < 0)
			return rc;
		identity->n_groups++;
	}
	return 0;
}

static int fill_account(struct sbx_identity *identity, const struct passwd *pw, struct sbx_err *err)
{
	const char *shell =
	    pw->pw_shell == NULL || pw->pw_shell[0] == '\0' ? "/bin/sh" : pw->pw_shell;
	const char *home = pw->pw_dir == NULL ? "" : pw->pw_dir;

	/* What NSS calls the user counts: some services find "Agent" as "agent". */
	if (!sbx_username_valid(pw->pw_name))
		return sbx_fail(err, EINVAL, "the user's name in passwd is not usable here");
	if (pw->pw_uid == 0)
		return sbx_fail(err, EPERM, "user '%s' is root (uid 0), which is never sandboxed",
				pw->pw_name);
	if (pw->pw_uid == (uid_t)-1 || pw->pw_gid == (gid_t)-1)
		return sbx_fail(err, EINVAL, "user '%s' has no valid uid and gid", pw->pw_name);
	if (shell[0] != '/' || !is_field(shell))
		return sbx_fail(err, EINVAL, "the shell of user '%s' is not an absolute path",
				pw->pw_name);
	identity->uid = pw->pw_uid;
	identity->gid = pw->pw_gid;
	identity->home = copy_home(home);
	if (identity->home == NULL && errno == EINVAL)
		return sbx_fail(err, EINVAL,
				"the home of user '%s' is not an absolute path without '.' or '..'",
				pw->pw_name);
	identity->name = strdup(pw->pw_name);
	identity->gecos = copy_as_field(pw->pw_gecos == NULL ? "" : pw->pw_gecos);
	identity->login_shell = strdup(shell);
	if (identity->home == NULL || identity->name == NULL || identity->gecos == NULL ||
	    identity->login_shell == NULL)
		return sbx_fail(err, ENOMEM, "look up user '%s': %s", pw->pw_name,
				strerror(ENOMEM));
	return 0;
}

static int find_account(const char *name, char **buffer, struct passwd *pw, struct sbx_err *err)
{
	struct passwd *found = NULL;
	size_t size = 0;
	int rc;

	do {
		rc = size == 0 ? ERANGE : getpwnam_r(name, pw, *buffer, size, &found);
		if (rc == ERANGE) {
			int grown = grow(buffer, &size);

			if (grown < 0) {
				(void)sbx_fail(err, -grown, "look up user '%s': %s", name,
					       strerror(-grown));
				return grown;
			}
		}
	} while (rc == ERANGE || rc == EINTR);
	if (found != NULL)
		return 0;
	/* getpwnam(3) lists these as ways in which "no such user" is said. */
	if (rc == 0 || rc == ENOENT || rc == ESRCH) {
		(void)sbx_fail(err, ENOENT, "no such user: '%s'", name);
		return -ENOENT;
	}
	(void)sbx_fail(err, rc, "look up user '%s': %s", name, strerror(rc));
	return -rc;
}

int sbx_identity_lookup(const char *name, struct sbx_identity **ret_identity, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_identity_freep))) struct sbx_identity *identity = NULL;
	sbx_autofree char *buffer = NULL;
	struct passwd pw;
	int rc;

	if (!sbx_username_valid(name))
		return sbx_fail(err, EINVAL,
				"not a usable user name (letters, digits, '_', '.', '-'; at most "
				"%d bytes)",
				NAME_MAX_BYTES);
	rc = find_account(name, &buffer, &pw, err);
	if (rc < 0)
		return rc;
	identity = calloc(1, sizeof(*identity));
	if (identity == NULL)
		return sbx_fail(err, ENOMEM, "look up user '%s': %s", name, strerror(ENOMEM));
	rc = fill_account(identity, &pw, err);
	if (rc < 0)
		return rc;
	rc = fill_groups(identity);
	if (rc < 0)
		return sbx_fail(err, -rc, "look up the groups of user '%s': %s", name,
				strerror(-rc));
	*ret_identity = identity;
	identity = NULL;
	return 0;
}

void sbx_identity_free(struct sbx_identity *identity)
{
	if (identity == NULL)
		return;
	for (size_t i = 0; i < identity->n_groups; i++)
		free(identity->groups[i].name);
	free(identity->groups);
	free(identity->name);
	free(identity->gecos);
	free(identity->home);
	free(identity->login_shell);
	free(identity);
}

void sbx_identity_freep(struct sbx_identity **identity) { sbx_identity_free(*identity); }

bool sbx_identity_in_group(const struct sbx_identity *identity, const char *group_name)
{
	for (size_t i = 0; i < identity->n_groups; i++) {
		if (strcmp(identity->groups[i].name, group_name) == 0)
			return true;
	}
	return false;
}
