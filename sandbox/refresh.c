/* SPDX-License-Identifier: MIT */
#include "sandbox/refresh.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"
#include "sandbox/copy.h"
#include "sandbox/path.h"
#include "sandbox/plan.h"
#include "sandbox/view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)4 << 20)
#define POCKET_ETC SBX_INSIDE_POCKET "/etc"

enum {
	RESOLV_CONF,
	HOSTS,
	PASSWD,
	GROUP,
	N_FILES,
};

static const char *const names[N_FILES] = {"resolv.conf", "hosts", "passwd", "group"};

struct sbx_refresh {
	struct {
		char *text; /* NULL = leave alone */
		size_t length;
	} files[N_FILES];
};

void sbx_refresh_free(struct sbx_refresh *refresh)
{
	if (refresh == NULL)
		return;
	for (int i = 0; i < N_FILES; i++)
		free(refresh->files[i].text);
	free(refresh);
}

void sbx_refresh_freep(struct sbx_refresh **refresh) { sbx_refresh_free(*refresh); }

static int take_host_file(struct sbx_refresh *refresh, int which, const char *path,
			  const char *suffix, struct sbx_err *err)
{
	int rc = sbx_copy_read(-EBADF, path, suffix, &refresh->files[which].text,
			       &refresh->files[which].length, err);

	return rc == -ENOENT ? 0 : rc;
}

static bool default_shell_present(const struct sbx_policy *policy)
{
	sbx_autoclose int root_fd = open(policy->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sbx_autoclose int fd = -EBADF;

	return root_fd >= 0 && sbx_path_open_in(root_fd, SBX_SHELL_DEFAULT, O_PATH, &fd, NULL) == 0;
}

static int make_accounts(struct sbx_refresh *refresh, const struct sbx_policy *policy,
			 const struct sbx_identity *identity, struct sbx_err *err)
{
	const char *shell = sbx_plan_shell(policy, default_shell_present(policy));
	int rc = sbx_passwd_text(identity, policy->home, shell, &refresh->files[PASSWD].text);

	if (rc == 0)
		rc = sbx_group_text(identity, &refresh->files[GROUP].text);
	if (rc < 0)
		return sbx_fail(err, -rc, "refresh: %s", strerror(-rc));
	refresh->files[PASSWD].length = strlen(refresh->files[PASSWD].text);
	refresh->files[GROUP].length = strlen(refresh->files[GROUP].text);
	return 0;
}

int sbx_refresh_take(const struct sbx_policy *policy, const struct sbx_identity *identity,
		     struct sbx_refresh **ret_refresh, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_refresh_freep))) struct sbx_refresh *refresh = NULL;
	int rc;

	refresh = calloc(1, sizeof(*refresh));
	if (refresh == NULL)
		return sbx_fail(err, ENOMEM, "refresh: %s", strerror(ENOMEM));
	rc = take_host_file(refresh, RESOLV_CONF, "/etc/resolv.conf", NULL, err);
	if (rc < 0)
		return rc;
	rc = take_host_file(refresh, HOSTS, "/etc/hosts", SBX_HOSTS_LINE, err);
	if (rc < 0)
		return rc;
	rc = make_accounts(refresh, policy, identity, err);
	if (rc < 0)
		return rc;
	*ret_refresh = refresh;
	refresh = NULL;
	return 0;
}

static bool same_content(int dirfd, const char *name, const char *text, size_t length)
{
	sbx_autofree char *present = NULL;
	size_t present_length;

	return sbx_file_read(dirfd, name, O_NOFOLLOW, FILE_MAX_BYTES, &present, &present_length,
			     NULL, NULL) == 0 &&
	       present_length == length && memcmp(present, text, length) == 0;
}

static int replace(int dirfd, const char *name, const char *text, size_t length,
		   struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	char temporary[64];
	int rc;

	/* Named after the process: two logins may be at it at once, and either's text is right. */
	(void)snprintf(temporary, sizeof(temporary), ".%s.%d", name, (int)getpid()); /* fits */
	(void)unlinkat(dirfd, temporary, 0); /* left by a killed login of the same number */
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : sbx_write_all(fd, text, length);
	/* Not by the umask, which belongs to the program this runs in. */
	if (rc == 0 && fchmod(fd, 0644) < 0)
		rc = -errno;
	if (rc == 0 && renameat(dirfd, temporary, dirfd, name) < 0)
		rc = -errno;
	if (rc < 0) {
		(void)unlinkat(dirfd, temporary, 0); /* half a file in a small tmpfs */
		return sbx_fail(err, -rc, "renew /etc/%s in the sandbox: %s", name, strerror(-rc));
	}
	return 0;
}

int sbx_refresh_put(const struct sbx_refresh *refresh, struct sbx_err *err)
{
	sbx_autoclose int dirfd = open(POCKET_ETC, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dirfd < 0)
		return sbx_fail(err, errno, "open '" POCKET_ETC "' in the sandbox: %s",
				strerror(errno));
	return sbx_refresh_put_in(refresh, dirfd, err);
}

int sbx_refresh_put_in(const struct sbx_refresh *refresh, int dirfd, struct sbx_err *err)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < N_FILES; i++) {
		const char *text = refresh->files[i].text;
		size_t length = refresh->files[i].length;

		if (text != NULL && !same_content(dirfd, names[i], text, length))
			rc = replace(dirfd, names[i], text, length, err);
	}
	return rc;
}
