/* SPDX-License-Identifier: MIT */
#include "shell/account.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)64 << 10)

static bool names_sbxsh(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash == NULL ? path : slash + 1, SBX_SHELL_NAME) == 0;
}

/* The name that counts for 'uid'; NULL if it has none. */
static int find_name(uid_t uid, char **ret_name, bool *ret_logs_in_with_us, struct sbx_err *err)
{
	sbx_autofclose FILE *file = fopen("/etc/passwd", "re");
	sbx_autofree char *buffer = malloc(LINE_MAX_BYTES);
	sbx_autofree char *name = NULL;
	bool ours = false;
	struct passwd entry = {0};
	struct passwd *found;
	int code;

	if (file == NULL || buffer == NULL)
		return sbx_fail(err, errno, "read '/etc/passwd': %s", strerror(errno));
	while (!ours && (code = fgetpwent_r(file, &entry, buffer, LINE_MAX_BYTES, &found)) == 0) {
		if (entry.pw_uid != uid || entry.pw_name[0] == '+' || entry.pw_name[0] == '-')
			continue;
		ours = names_sbxsh(entry.pw_shell);
		if (name != NULL && !ours)
			continue;
		free(name);
		name = strdup(entry.pw_name);
		if (name == NULL)
			return sbx_fail(err, ENOMEM, "read '/etc/passwd': %s", strerror(ENOMEM));
	}
	if (!ours && code != ENOENT)
		return sbx_fail(err, code, "read '/etc/passwd': %s", strerror(code));
	*ret_name = name;
	*ret_logs_in_with_us = ours;
	name = NULL;
	return 0;
}

int sbx_account_find(uid_t uid, struct sbx_account *ret_account, struct sbx_err *err)
{
	sbx_autofree char *name = NULL;
	struct sbx_account account = {0};
	bool ours;
	int rc = find_name(uid, &name, &ours, err);

	if (rc < 0)
		return rc;
	if (name == NULL)
		return sbx_fail(err, ENOENT,
				"uid %u is not in /etc/passwd, and sbxsh reads no other account "
				"database; for such accounts set up the PAM module, or add a line",
				uid);
	rc = sbx_identity_lookup(name, &account.identity, err);
	if (rc < 0)
		return rc;
	if (account.identity->uid != uid) {
		sbx_account_done(&account);
		return sbx_fail(err, EINVAL, "/etc/passwd has the name '%s' for two uids", name);
	}
	account.enrolled = ours || sbx_identity_in_group(account.identity, SBX_GROUP);
	*ret_account = account;
	return 0;
}

void sbx_account_done(struct sbx_account *account)
{
	sbx_identity_free(account->identity);
	account->identity = NULL;
}

bool sbx_account_root_logs_in_with_us(void)
{
	sbx_autofree char *name = NULL;
	bool ours = false;

	return find_name(0, &name, &ours, NULL) == 0 && ours;
}
