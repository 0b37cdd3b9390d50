/* SPDX-License-Identifier: MIT */
#include "sandbox/state.h"

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOCK_POLL_MS 10

void sbx_state_free(struct sbx_state *state)
{
	if (state == NULL)
		return;
	sbx_closep(&state->dir_fd);
	sbx_closep(&state->lock_fd);
	free(state->path);
	free(state);
}

void sbx_state_freep(struct sbx_state **state) { sbx_state_free(*state); }

/* Make and open a directory that only 'owner' can enter; what it is is checked on what was opened.
 */
static int open_private(int dirfd, const char *name, uid_t owner, int *ret_fd, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	struct stat st;

	if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return sbx_fail(err, errno, "make '%s': %s", name, strerror(errno));
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail(err, errno, "open '%s': %s", name, strerror(errno));
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", name, strerror(errno));
	if (st.st_uid != owner || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return sbx_fail(err, EPERM, "'%s' must be owned by uid %u with mode 0700", name,
				owner);
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

int sbx_state_open(const char *base, const char *user, uid_t owner, struct sbx_state **ret_state,
		   struct sbx_err *err)
{
	__attribute__((cleanup(sbx_state_freep))) struct sbx_state *state = NULL;
	sbx_autoclose int base_fd = -EBADF;
	sbx_autostr struct sbx_str path = {0};
	int rc;

	state = calloc(1, sizeof(*state));
	if (state == NULL)
		return sbx_fail(err, ENOMEM, "state: %s", strerror(ENOMEM));
	state->dir_fd = -EBADF;
	state->lock_fd = -EBADF;
	sbx_str_addf(&path, "%s/%s", base, user);
	if (sbx_str_take(&path, &state->path) < 0)
		return sbx_fail(err, ENOMEM, "state: %s", strerror(ENOMEM));
	rc = open_private(AT_FDCWD, base, owner, &base_fd, err);
	if (rc < 0)
		return rc;
	rc = open_private(base_fd, user, owner, &state->dir_fd, err);
	if (rc < 0)
		return rc;
	state->lock_fd =
	    openat(state->dir_fd, SBX_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (state->lock_fd < 0)
		return sbx_fail(err, errno, "open '%s/" SBX_LOCK_NAME "': %s", state->path,
				strerror(errno));
	*ret_state = state;
	state = NULL;
	return 0;
}

int sbx_state_lock(struct sbx_state *state, int timeout_ms, struct sbx_err *err)
{
	static const struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};

	for (int waited_ms = 0;; waited_ms += LOCK_POLL_MS) {
		if (flock(state->lock_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sbx_fail(err, errno, "lock '%s': %s", state->path, strerror(errno));
		if (waited_ms >= timeout_ms)
			return sbx_fail(err, ETIMEDOUT,
					"another login has been starting this sandbox for %d s "
					"(lock in '%s')",
					timeout_ms / 1000, state->path);
		(void)nanosleep(&pause, NULL); /* cut short by a signal: just an earlier try */
	}
}

void sbx_state_unlock(struct sbx_state *state)
{
	(void)flock(state->lock_fd, LOCK_UN); /* cannot fail on a lock that is held */
}
