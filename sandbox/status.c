/* SPDX-License-Identifier: MIT */
#include "sandbox/status.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"
#include "sandbox/cgroup.h"
#include "sandbox/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define END_WAIT_MS 10000
#define FDINFO_MAX 4096
#define LOCK_WAIT_MS 2000
#define REMOVE_TRIES 200
#define REMOVE_PAUSE_MS 5

void sbx_status_free(struct sbx_status *status)
{
	if (status == NULL)
		return;
	sbx_closep(&status->control_fd);
	sbx_closep(&status->keeper_pidfd);
	for (size_t i = 0; i < status->n_cgroups; i++) {
		sbx_closep(&status->cgroup_fds[i]);
		sbx_closep(&status->parent_fds[i]);
	}
	free(status->sessions);
	free(status);
}

void sbx_status_freep(struct sbx_status **status) { sbx_status_free(*status); }

bool sbx_status_none(int rc) { return rc == -ENOENT || rc == -ECONNREFUSED || rc == -ECONNRESET; }

pid_t sbx_pidfd_pid(int pidfd)
{
	char path[64];
	sbx_autofree char *text = NULL;
	const char *line;
	char number[24];
	uint64_t pid;
	size_t length;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd); /* fits */
	if (sbx_file_read(AT_FDCWD, path, 0, FDINFO_MAX, &text, NULL, NULL, NULL) < 0)
		return 0;
	line = strstr(text, "\nPid:\t");
	if (line == NULL)
		return 0;
	line += strlen("\nPid:\t");
	length = strspn(line, "0123456789");
	if (length == 0 || length >= sizeof(number)) /* "-1": it has been reaped */
		return 0;
	memcpy(number, line, length);
	number[length] = '\0';
	return sbx_parse_u64(number, 0, INT32_MAX, &pid) < 0 ? 0 : (pid_t)pid;
}

/* Send a request and receive an answer of 'size' bytes, whose first member is the magic number. */
static int ask(int control_fd, uint32_t kind, uint64_t after, void *reply, size_t size, int *fds,
	       size_t *ret_n_fds, struct sbx_err *err)
{
	const struct sbx_request request = {
	    .magic = SBX_PROTOCOL_MAGIC, .kind = kind, .after = after};
	int rc = sbx_message_send(control_fd, &request, sizeof(request), NULL, 0);

	if (rc == 0)
		rc =
		    sbx_message_receive(control_fd, reply, size, fds, SBX_REPLY_FDS_MAX, ret_n_fds);
	if (rc == -EAGAIN)
		return sbx_fail(err, ETIMEDOUT, "the sandbox's keeper does not answer");
	if (rc < 0)
		return sbx_fail(err, -rc, "ask the sandbox's keeper: %s", strerror(-rc));
	return 0;
}

static int wrong_version(struct sbx_err *err)
{
	return sbx_fail(err, EPROTO,
			"the running sandbox was started by another version of sbx; only its "
			"logins' end, or 'kill' of its sbx-keeper, ends it");
}

static int ask_keeper(struct sbx_status *status, struct sbx_err *err)
{
	struct sbx_status_reply reply = {0};
	int fds[SBX_REPLY_FDS_MAX];
	size_t n_fds = 0;
	int rc =
	    ask(status->control_fd, SBX_REQUEST_STATUS, 0, &reply, sizeof(reply), fds, &n_fds, err);

	if (rc == -EBADMSG)
		return wrong_version(err);
	if (rc < 0)
		return rc;
	if (n_fds > 0)
		status->keeper_pidfd = fds[0];
	reply.cgroup_name[sizeof(reply.cgroup_name) - 1] = '\0';
	for (size_t i = 1; i < n_fds; i++) {
		status->parent_fds[status->n_cgroups] = fds[i];
		/* Gone, when the sandbox has just ended: then there is nothing to be read. */
		status->cgroup_fds[status->n_cgroups++] =
		    openat(fds[i], reply.cgroup_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (reply.magic != SBX_PROTOCOL_MAGIC || n_fds < 1 ||
	    strchr(reply.cgroup_name, '/') != NULL)
		return wrong_version(err);
	memcpy(status->cgroup_name, reply.cgroup_name, sizeof(status->cgroup_name));
	status->age_ms = reply.age_ms;
	status->linger_s = reply.linger_s;
	status->keeper_pid = sbx_pidfd_pid(status->keeper_pidfd);
	return 0;
}

static int add_session(struct sbx_status *status, const struct sbx_session_reply *reply, pid_t pid)
{
	struct sbx_status_session *sessions =
	    reallocarray(status->sessions, status->n_sessions + 1, sizeof(*sessions));

	if (sessions == NULL)
		return -ENOMEM;
	status->sessions = sessions;
	sessions[status->n_sessions] = (struct sbx_status_session){
	    .number = reply->number, .age_ms = reply->age_ms, .pid = pid, .origin = reply->origin};
	sbx_origin_clean(&sessions[status->n_sessions].origin);
	status->n_sessions++;
	return 0;
}

/* One by one: however many there are, no message waits in the keeper. */
static int ask_sessions(struct sbx_status *status, struct sbx_err *err)
{
	struct sbx_session_reply reply = {0};
	uint64_t after = 0;

	for (;;) {
		int fds[SBX_REPLY_FDS_MAX];
		size_t n_fds = 0;
		pid_t pid = 0;
		int rc = ask(status->control_fd, SBX_REQUEST_SESSION, after, &reply, sizeof(reply),
			     fds, &n_fds, err);

		if (rc < 0)
			return rc;
		if (n_fds > 0)
			pid = sbx_pidfd_pid(fds[0]);
		for (size_t i = 0; i < n_fds; i++)
			(void)close(fds[i]); /* a pidfd: nothing to lose */
		if (reply.found == 0)
			return 0;
		if (reply.number <= after)
			return wrong_version(err);
		after = reply.number;
		if (add_session(status, &reply, pid) < 0)
			return sbx_fail(err, ENOMEM, "status: %s", strerror(ENOMEM));
	}
}

int sbx_status_ask(const struct sbx_state *state, struct sbx_status **ret_status,
		   struct sbx_err *err)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status =
	    calloc(1, sizeof(*status));
	int rc;

	if (status == NULL)
		return sbx_fail(err, ENOMEM, "status: %s", strerror(ENOMEM));
	status->keeper_pidfd = -EBADF;
	status->control_fd = -EBADF;
	rc = sbx_session_connect(state, &status->control_fd, err);
	if (rc == 0)
		rc = ask_keeper(status, err);
	if (rc == 0)
		rc = ask_sessions(status, err);
	if (rc < 0)
		return rc;
	*ret_status = status;
	status = NULL;
	return 0;
}

static int order(const struct sbx_status *status, uint32_t kind, uint64_t grace_ms,
		 struct sbx_err *err)
{
	const struct sbx_request request = {
	    .magic = SBX_PROTOCOL_MAGIC, .kind = kind, .grace_ms = grace_ms};
	int rc = sbx_message_send(status->control_fd, &request, sizeof(request), NULL, 0);

	if (rc < 0)
		return sbx_fail(err, -rc, "tell the sandbox's keeper: %s", strerror(-rc));
	return 0;
}

int sbx_status_hold(const struct sbx_status *status, struct sbx_err *err)
{
	return order(status, SBX_REQUEST_HOLD, 0, err);
}

static int wait_for_end(const struct sbx_status *status, uint64_t timeout_ms, struct sbx_err *err)
{
	struct pollfd poll_fd = {.fd = status->keeper_pidfd, .events = POLLIN};
	int rc;

	do {
		rc = poll(&poll_fd, 1, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return sbx_fail(err, errno, "poll: %s", strerror(errno));
	if (rc == 0)
		return sbx_fail(err, ETIMEDOUT, "the sandbox has not ended in time");
	return 0;
}

int sbx_status_stop(const struct sbx_status *status, uint64_t grace_ms, struct sbx_err *err)
{
	int rc = order(status, SBX_REQUEST_STOP, grace_ms, err);

	if (rc == -ECONNRESET) /* it is ending already */
		rc = 0;
	return rc < 0 ? rc : wait_for_end(status, grace_ms + END_WAIT_MS, err);
}

/* Busy while a login's root process is still in it; what stays the user's next start sweeps. */
static void remove_cgroups(const struct sbx_status *status)
{
	static const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_MS * 1000000L};

	if (sbx_cgroup_is_managed(status->cgroup_name))
		return;
	for (int tries = 0; tries < REMOVE_TRIES; tries++) {
		bool busy = false;

		for (size_t i = 0; i < status->n_cgroups; i++) {
			if (unlinkat(status->parent_fds[i], status->cgroup_name, AT_REMOVEDIR) <
				0 &&
			    errno == EBUSY)
				busy = true;
		}
		if (!busy)
			return;
		(void)nanosleep(&pause, NULL); /* cut short: just an earlier try */
	}
}

/* The dead keeper's socket; with the lock held nobody is putting a new one there. */
static void remove_socket(struct sbx_state *state)
{
	sbx_autoclose int fd = -EBADF;

	if (sbx_state_lock(state, LOCK_WAIT_MS, NULL) < 0)
		return; /* somebody is starting, who clears it away */
	if (sbx_session_connect(state, &fd, NULL) == -ECONNREFUSED)
		(void)unlinkat(state->dir_fd, SBX_CONTROL_NAME, 0);
	sbx_state_unlock(state);
}

int sbx_status_kill(const struct sbx_status *status, struct sbx_state *state, struct sbx_err *err)
{
	int rc;

	if (syscall(SYS_pidfd_send_signal, status->keeper_pidfd, SIGKILL, NULL, 0) < 0 &&
	    errno != ESRCH)
		return sbx_fail(err, errno, "kill the sandbox's keeper: %s", strerror(errno));
	rc = wait_for_end(status, END_WAIT_MS, err);
	if (rc < 0)
		return rc;
	remove_socket(state);
	remove_cgroups(status);
	return 0;
}
