/* SPDX-License-Identifier: MIT */
#include "config/environment_edit.h"

#include "base/fd.h"
#include "config/environment_file.h"
#include "config/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 30000
#define LOCK_POLL_MS 5
#define NSS_BUFFER_BYTES 65536

/* ------------------------------------------------------------------ opening */

/* A descriptor of the directory is lock enough: no file is left over for it. */
static int lock(int fd, const char *dir, struct sbx_err *err)
{
	const struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};

	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_POLL_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sbx_fail(err, errno, "lock '%s': %s", dir, strerror(errno));
		if (waited >= LOCK_WAIT_MS)
			return sbx_fail(err, EBUSY, "another program keeps '%s' locked", dir);
		(void)nanosleep(&pause, NULL); /* sooner is as well */
	}
	return 0;
}

static int open_directory(const char *dir, int *ret_fd, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc;

	/* Nobody but root has to know who has a store; each may look at his own. */
	if (mkdir(dir, 0711) < 0 && errno != EEXIST)
		return sbx_fail(err, errno, "make '%s': %s", dir, strerror(errno));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail(err, errno, "open '%s': %s", dir, strerror(errno));
	rc = lock(fd, dir, err);
	if (rc == 0)
		*ret_fd = sbx_take_fd(&fd);
	return rc;
}

/* Is there anybody else whose primary group this is? Yes, if that cannot be found out. */
static bool is_primary_of_another(gid_t gid, uid_t uid)
{
	char buffer[NSS_BUFFER_BYTES];
	struct passwd entry = {0};
	struct passwd *result = NULL;
	bool found = false;
	int code = 0;

	setpwent();
	while (!found && (code = getpwent_r(&entry, buffer, sizeof(buffer), &result)) == 0)
		found = entry.pw_gid == gid && entry.pw_uid != uid;
	endpwent();
	return found || code != ENOENT;
}

/*
 * Is the user alone in his primary group? Only then may it read the file. A directory
 * service may know more members than it lists, so the group's name counts, too.
 */
static bool group_is_private(const struct sbx_identity *who)
{
	char buffer[NSS_BUFFER_BYTES];
	struct group group;
	struct group *found = NULL;

	if (getgrgid_r(who->gid, &group, buffer, sizeof(buffer), &found) != 0 || found == NULL ||
	    strcmp(found->gr_name, who->name) != 0)
		return false;
	for (size_t i = 0; found->gr_mem != NULL && found->gr_mem[i] != NULL; i++) {
		if (strcmp(found->gr_mem[i], who->name) != 0)
			return false;
	}
	return !is_primary_of_another(who->gid, who->uid);
}

static int read_store(struct sbx_environment_edit *edit, const struct sbx_identity *who,
		      struct sbx_err *err)
{
	const struct sbx_trust trust = {
	    .owner = 0,
	    .forbidden_mode = 07777 & ~0640,
	    .group_limited = true,
	    .group = who->gid,
	    .max_bytes = SBX_ENVIRONMENT_BYTES_MAX,
	};
	size_t length = 0;
	struct stat st;
	int rc = sbx_trusted_file_read(edit->path, &trust, &edit->text.text, &length, err);

	if (rc < 0 && rc != -ENOENT)
		return rc;
	edit->text.length = length;
	edit->text.room = rc == 0 ? length + 1 : 0;
	edit->exists = rc == 0;
	if (edit->exists && fstatat(edit->dir_fd, edit->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", edit->path, strerror(errno));
	if (edit->exists) {
		edit->mode = st.st_mode & 07777;
		edit->gid = st.st_gid;
	} else if (group_is_private(who)) {
		edit->mode = 0640;
		edit->gid = who->gid;
	} else {
		edit->mode = 0600;
		edit->gid = 0;
	}
	return sbx_environment_parse(edit->path, edit->exists ? edit->text.text : "", length,
				     &edit->environment, err);
}

int sbx_environment_edit_open(const char *dir, const struct sbx_identity *who,
			      struct sbx_environment_edit **ret_edit, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_environment_edit_freep))) struct sbx_environment_edit *edit =
	    calloc(1, sizeof(*edit));
	sbx_autostr struct sbx_str path = {0};
	int rc;

	sbx_str_addf(&path, "%s/%s.ini", dir, who->name);
	if (edit != NULL)
		edit->dir_fd = -EBADF;
	if (edit == NULL || sbx_str_take(&path, &edit->path) < 0)
		return sbx_fail(err, ENOMEM, "edit the store of '%s': %s", who->name,
				strerror(ENOMEM));
	edit->name = strrchr(edit->path, '/') + 1;
	rc = open_directory(dir, &edit->dir_fd, err);
	if (rc == 0)
		rc = read_store(edit, who, err);
	if (rc < 0)
		return rc;
	*ret_edit = edit;
	edit = NULL;
	return 0;
}

/* ------------------------------------------------------------------ changing */

static void wipe(struct sbx_str *text)
{
	if (text->text != NULL)
		explicit_bzero(text->text, text->length);
	sbx_str_done(text);
}

/* 'text' becomes the store's, if it is a right one: a file that blocks logins is never written. */
static int replace(struct sbx_environment_edit *edit, struct sbx_str *text, struct sbx_err *err)
{
	struct sbx_environment *environment = NULL;
	int rc;

	if (text->rc < 0)
		return sbx_fail(err, -text->rc, "edit '%s': %s", edit->path, strerror(-text->rc));
	if (text->length > SBX_ENVIRONMENT_BYTES_MAX)
		return sbx_fail(err, EFBIG, "'%s' would become larger than 1 MiB", edit->path);
	rc = sbx_environment_parse(edit->path, text->text == NULL ? "" : text->text, text->length,
				   &environment, err);
	if (rc < 0)
		return sbx_wrap(err, rc, "the file would not be right any more");
	sbx_environment_free(edit->environment);
	edit->environment = environment;
	wipe(&edit->text);
	edit->text = *text;
	*text = (struct sbx_str){0};
	return 0;
}

static const char *text_of(const struct sbx_environment_edit *edit)
{
	return edit->text.text == NULL ? "" : edit->text.text;
}

int sbx_environment_edit_set(struct sbx_environment_edit *edit, const char *name, const char *value,
			     bool secret, struct sbx_err *err)
{
	__attribute__((cleanup(wipe))) struct sbx_str changed = {0};
	char date[SBX_ENVIRONMENT_DATE_BYTES];
	const struct sbx_environment_change change = {
	    .name = name, .value = value, .date = date, .secret = secret};
	time_t now = time(NULL);
	struct tm parts;
	int rc;

	if (gmtime_r(&now, &parts) == NULL ||
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return sbx_fail(err, EOVERFLOW, "this machine's clock is wrong");
	rc = sbx_environment_text_set(text_of(edit), edit->text.length, &change, &changed, err);
	return rc < 0 ? rc : replace(edit, &changed, err);
}

int sbx_environment_edit_remove(struct sbx_environment_edit *edit, const char *name,
				struct sbx_err *err)
{
	__attribute__((cleanup(wipe))) struct sbx_str changed = {0};

	sbx_environment_text_remove(text_of(edit), edit->text.length, name, &changed);
	return replace(edit, &changed, err);
}

/* ------------------------------------------------------------------ writing */

static int write_new(const struct sbx_environment_edit *edit, const char *temporary)
{
	sbx_autoclose int fd = openat(edit->dir_fd, temporary,
				      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	/* Before the secrets are in it; owner first, as a change of owner clears mode bits. */
	if (fchown(fd, 0, edit->gid) < 0 || fchmod(fd, edit->mode) < 0)
		return -errno;
	rc = sbx_write_all(fd, text_of(edit), edit->text.length);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc;
}

int sbx_environment_edit_commit(struct sbx_environment_edit *edit, struct sbx_err *err)
{
	sbx_autostr struct sbx_str temporary = {0};
	int rc;

	sbx_str_addf(&temporary, ".%s.new", edit->name);
	rc = temporary.rc;
	/* Nobody else writes under the lock, so what is there is from one who was killed. */
	if (rc == 0 && unlinkat(edit->dir_fd, temporary.text, 0) < 0 && errno != ENOENT)
		rc = -errno;
	if (rc == 0)
		rc = write_new(edit, temporary.text);
	if (rc == 0 && renameat(edit->dir_fd, temporary.text, edit->dir_fd, edit->name) < 0)
		rc = -errno;
	if (rc < 0) {
		if (temporary.text != NULL)
			(void)unlinkat(edit->dir_fd, temporary.text,
				       0); /* else the next one does */
		return sbx_fail(err, -rc, "write '%s': %s; it is as it was before", edit->path,
				strerror(-rc));
	}
	edit->exists = true;
	if (fsync(edit->dir_fd) < 0)
		return sbx_fail(err, errno, "'%s' is changed, but perhaps not on disk yet: %s",
				edit->path, strerror(errno));
	return 0;
}

void sbx_environment_edit_free(struct sbx_environment_edit *edit)
{
	if (edit == NULL)
		return;
	wipe(&edit->text);
	sbx_environment_free(edit->environment);
	sbx_closep(&edit->dir_fd);
	free(edit->path);
	free(edit);
}

void sbx_environment_edit_freep(struct sbx_environment_edit **edit)
{
	sbx_environment_edit_free(*edit);
}
