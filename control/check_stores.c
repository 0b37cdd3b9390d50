/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "base/str.h"
#include "config/environment_file.h"
#include "control/check.h"
#include "sandbox/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".ini"

static void check_directory(struct sbx_check *check, int fd)
{
	const char *path = check->paths.env_dir;
	struct stat st;

	if (fstat(fd, &st) < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, path, "%s", strerror(errno));
	} else if (st.st_uid != 0 || (st.st_mode & 0022) != 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, path,
				 "others than root can put files here");
		sbx_findings_remedy(&check->findings, "chown root:root %s; chmod 0711 %s", path,
				    path);
	} else if ((st.st_mode & 0044) != 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, path,
				 "everybody can list who has an environment store");
		sbx_findings_remedy(&check->findings, "chmod 0711 %s", path);
	}
}

static void check_store(struct sbx_check *check, const char *user, const char *path)
{
	__attribute__((cleanup(sbx_identity_freep))) struct sbx_identity *who = NULL;
	__attribute__((cleanup(sbx_environment_freep))) struct sbx_environment *store = NULL;
	struct sbx_err reason = {0};
	int rc = sbx_identity_lookup(user, &who, &reason);

	if (rc < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, path,
				 "holds secrets for nobody: %s", reason.msg);
		sbx_findings_remedy(&check->findings, "rm %s", path);
		return;
	}
	rc = sbx_environment_load(check->paths.env_dir, who, &store, &reason);
	if (rc < 0)
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, path,
				 "logins of '%s' are refused: %s", user, reason.msg);
}

static int check_entry(struct sbx_check *check, const char *name)
{
	const size_t length = strlen(name);
	const size_t suffix = strlen(SUFFIX);
	sbx_autostr struct sbx_str path = {0};
	sbx_autostr struct sbx_str user = {0};

	sbx_str_addf(&path, "%s/%s", check->paths.env_dir, name);
	if (path.rc < 0)
		return path.rc;
	if (length <= suffix || strcmp(name + length - suffix, SUFFIX) != 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, path.text,
				 "is no USER" SUFFIX " and is never read; it may hold secrets");
		sbx_findings_remedy(&check->findings, "rm '%s'", path.text);
		return 0;
	}
	sbx_str_addn(&user, name, length - suffix);
	if (user.rc < 0)
		return user.rc;
	check_store(check, user.text, path.text);
	return 0;
}

static void close_directory(DIR **stream)
{
	if (*stream != NULL)
		(void)closedir(*stream); /* nothing was written */
}

int sbx_check_stores(struct sbx_check *check, struct sbx_err *err)
{
	__attribute__((cleanup(close_directory))) DIR *stream = opendir(check->paths.env_dir);
	const struct dirent *entry;
	int rc = 0;

	if (stream == NULL && errno == ENOENT)
		return 0; /* nobody has a store */
	if (stream == NULL)
		return sbx_fail(err, errno, "open '%s': %s", check->paths.env_dir, strerror(errno));
	check_directory(check, dirfd(stream));
	while (rc == 0 && (entry = readdir(stream)) != NULL) {
		/* The lock and the temporary files of sbxctl are hidden. */
		if (entry->d_name[0] != '.')
			rc = check_entry(check, entry->d_name);
	}
	return rc < 0
		   ? sbx_fail(err, -rc, "look into '%s': %s", check->paths.env_dir, strerror(-rc))
		   : 0;
}
