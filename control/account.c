/* SPDX-License-Identifier: MIT */
#include "control/account.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_MIN_DEFAULT 1000
#define UID_NOBODY 65534
#define LOGIN_DEFS_MAX_BYTES ((size_t)256 << 10)

/* What getpwnam(3) may say for "no such entry". */
static bool means_absent(int code) { return code == 0 || code == ENOENT || code == ESRCH; }

/* sbxctl has one thread, so the C library's own buffer does. */
int sbx_account_lookup(const char *user, struct sbx_account *ret, struct sbx_err *err)
{
	const struct passwd *found;
	struct sbx_account account;

	errno = 0;
	found = getpwnam(user);
	if (found == NULL && means_absent(errno)) {
		(void)sbx_fail(err, ENOENT, "no such user: '%s'", user);
		return -ENOENT;
	}
	if (found == NULL)
		return sbx_fail(err, errno, "look up '%s': %s", user, strerror(errno));
	account = (struct sbx_account){
	    .uid = found->pw_uid,
	    .gid = found->pw_gid,
	    .home = strdup(found->pw_dir),
	    .shell = strdup(found->pw_shell),
	};
	if (account.home == NULL || account.shell == NULL) {
		sbx_account_done(&account);
		return sbx_fail(err, ENOMEM, "look up '%s': %s", user, strerror(ENOMEM));
	}
	*ret = account;
	return 0;
}

void sbx_account_done(struct sbx_account *account)
{
	free(account->home);
	free(account->shell);
	account->home = NULL;
	account->shell = NULL;
}

int sbx_group_lookup(const char *group, const char *user, struct sbx_group_facts *ret,
		     struct sbx_err *err)
{
	struct sbx_group_facts facts = {0};
	const struct group *found;

	errno = 0;
	found = getgrnam(group);
	if (found == NULL && !means_absent(errno))
		return sbx_fail(err, errno, "look up group '%s': %s", group, strerror(errno));
	if (found != NULL) {
		facts.exists = true;
		facts.gid = found->gr_gid;
		for (size_t i = 0; found->gr_mem != NULL && found->gr_mem[i] != NULL; i++)
			facts.listed = facts.listed || strcmp(found->gr_mem[i], user) == 0;
	}
	*ret = facts;
	return 0;
}

id_t sbx_login_defs_minimum(const char *text, const char *key)
{
	const size_t key_length = strlen(key);
	const char *line = text;

	while (line != NULL && *line != '\0') {
		const char *p = line + strspn(line, " \t");
		char digits[11] = "";
		uint64_t value;
		size_t n;

		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
		if (strncmp(p, key, key_length) != 0)
			continue;
		p += key_length;
		if (*p != ' ' && *p != '\t')
			continue;
		p += strspn(p, " \t");
		n = strspn(p, "0123456789");
		if (n == 0 || n >= sizeof(digits))
			continue;
		memcpy(digits, p, n);
		if (sbx_parse_u64(digits, 0, UINT32_MAX - 1, &value) == 0)
			return (id_t)value;
	}
	return ID_MIN_DEFAULT;
}

static bool number_is(const char *text, uid_t uid)
{
	uint64_t value;

	return text != NULL && sbx_parse_u64(text, 0, UINT32_MAX - 1, &value) == 0 && value == uid;
}

/* The uid the kernel remembers from the login, in whatever su and sudo came after it. */
static bool is_login_uid(uid_t uid)
{
	sbx_autofree char *text = NULL;

	return sbx_file_read(AT_FDCWD, "/proc/self/loginuid", 0, 64, &text, NULL, NULL, NULL) ==
		   0 &&
	       number_is(text, uid);
}

static bool owns_terminal(uid_t uid)
{
	struct stat st;

	return isatty(STDIN_FILENO) == 1 && fstat(STDIN_FILENO, &st) == 0 && st.st_uid == uid;
}

static bool is_caller(const char *user, uid_t uid)
{
	const char *doas_user = getenv("DOAS_USER");

	return uid == getuid() || number_is(getenv("SUDO_UID"), uid) ||
	       (doas_user != NULL && strcmp(doas_user, user) == 0) || is_login_uid(uid) ||
	       owns_terminal(uid);
}

static int read_minimum(const char *login_defs, const char *key, id_t *ret, struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	int rc =
	    sbx_file_read(AT_FDCWD, login_defs, 0, LOGIN_DEFS_MAX_BYTES, &text, NULL, NULL, err);

	if (rc < 0 && rc != -ENOENT)
		return rc;
	*ret = rc == 0 ? sbx_login_defs_minimum(text, key) : ID_MIN_DEFAULT;
	return 0;
}

int sbx_group_check(const char *group, gid_t gid, const char *login_defs, struct sbx_err *err)
{
	id_t minimum;
	int rc = read_minimum(login_defs, "GID_MIN", &minimum, err);

	if (rc == 0 && gid < minimum)
		return sbx_fail(err, EPERM,
				"'%s' is a group of the system (gid %u, those for people have %u "
				"and more); being in it may give much more than a folder",
				group, gid, minimum);
	return rc;
}

int sbx_account_check(const char *user, uid_t uid, const char *login_defs, struct sbx_err *err)
{
	id_t uid_min;
	int rc = read_minimum(login_defs, "UID_MIN", &uid_min, err);

	if (rc < 0)
		return rc;
	if (uid == 0)
		return sbx_fail(err, EPERM, "'%s' is root (uid 0), which is never sandboxed", user);
	if (uid < uid_min || uid == UID_NOBODY)
		return sbx_fail(err, EPERM,
				"'%s' is a user of the system (uid %u, people have %u and more); "
				"services that run as it would stop working",
				user, uid, uid_min);
	if (is_caller(user, uid))
		return sbx_fail(err, EPERM,
				"'%s' is you: you would lock yourself out of this machine", user);
	return 0;
}
