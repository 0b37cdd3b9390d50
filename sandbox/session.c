/* SPDX-License-Identifier: MIT */
#include "sandbox/session.h"

#include "base/fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_TIMEOUT_S 10

void sbx_session_free(struct sbx_session *session)
{
	if (session == NULL)
		return;
	sbx_closep(&session->control_fd);
	sbx_closep(&session->keeper_pidfd);
	for (size_t i = 0; i < session->n_join_fds; i++)
		sbx_closep(&session->join_fds[i]);
	free(session);
}

void sbx_session_freep(struct sbx_session **session)
{
	sbx_session_free(*session);
}

static int connect_control(const struct sbx_state *state, int *ret_fd, struct sbx_err *err)
{
	static const struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	sbx_autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int length;

	if (fd < 0)
		return sbx_fail(err, errno, "socket: %s", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
		return sbx_fail(err, errno, "setsockopt: %s", strerror(errno));
	length = snprintf(address.sun_path, sizeof(address.sun_path),
			  "/proc/self/fd/%d/" SBX_CONTROL_NAME, state->dir_fd);
	if (length < 0 || (size_t)length >= sizeof(address.sun_path))
		return sbx_fail(err, ENAMETOOLONG, "socket address");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return sbx_fail(err, errno, "connect to '%s/" SBX_CONTROL_NAME "': %s",
				state->path, strerror(errno));
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

/* Whoever listens must be who owns the directory: a last check on top of its mode. */
static int check_peer(int fd, const struct sbx_state *state, struct sbx_err *err)
{
	struct ucred peer;
	struct stat st;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
	    fstat(state->dir_fd, &st) < 0)
		return sbx_fail(err, errno, "who keeps '%s': %s", state->path, strerror(errno));
	if (peer.uid != st.st_uid)
		return sbx_fail(err, EPERM, "'%s' is kept by uid %u", state->path, peer.uid);
	return 0;
}

int sbx_session_connect(const struct sbx_state *state, int *ret_fd, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc = connect_control(state, &fd, err);

	if (rc == 0)
		rc = check_peer(fd, state, err);
	if (rc < 0)
		return rc;
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

static int ask(int control_fd, int *ret_fds, size_t *ret_n_fds, struct sbx_reply *ret_reply)
{
	const struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC,
					    .kind = SBX_REQUEST_ENTER};
	sbx_autoclose int own_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int rc;

	if (own_pidfd < 0)
		return -errno;
	rc = sbx_message_send(control_fd, &request, sizeof(request), &own_pidfd, 1);
	if (rc < 0)
		return rc;
	return sbx_message_receive(control_fd, ret_reply, sizeof(*ret_reply), ret_fds,
				   SBX_REPLY_FDS_MAX, ret_n_fds);
}

int sbx_session_enter(const struct sbx_state *state, struct sbx_session **ret_session,
		      struct sbx_err *err)
{
	__attribute__((cleanup(sbx_session_freep))) struct sbx_session *session = NULL;
	struct sbx_reply reply;
	int fds[SBX_REPLY_FDS_MAX];
	size_t n_fds;
	int rc;

	session = calloc(1, sizeof(*session));
	if (session == NULL)
		return sbx_fail(err, ENOMEM, "session: %s", strerror(ENOMEM));
	session->control_fd = -EBADF;
	session->keeper_pidfd = -EBADF;
	rc = sbx_session_connect(state, &session->control_fd, err);
	if (rc < 0)
		return rc;
	rc = ask(session->control_fd, fds, &n_fds, &reply);
	if (rc == -EAGAIN)
		return sbx_fail(err, ETIMEDOUT,
				"the sandbox's keeper did not answer for %d s; an administrator "
				"can end it",
				ANSWER_TIMEOUT_S);
	if (rc < 0)
		return sbx_fail(err, -rc, "ask the sandbox's keeper: %s", strerror(-rc));
	/* From here on the descriptors belong to the session, whatever else is wrong. */
	for (size_t i = 1; i < n_fds; i++)
		session->join_fds[session->n_join_fds++] = fds[i];
	if (n_fds > 0)
		session->keeper_pidfd = fds[0];
	if (reply.magic != SBX_PROTOCOL_MAGIC || n_fds < 2)
		return sbx_fail(err, EPROTO,
				"the running sandbox was started by another version of sbx; it "
				"must end before a new login can join");
	session->namespaces = reply.namespaces;
	session->inodes = reply.inodes;
	*ret_session = session;
	session = NULL;
	return 0;
}

static int join_namespaces(const struct sbx_session *session, int proc_self_fd,
			   struct sbx_err *err)
{
	struct sbx_namespaces before;
	struct sbx_namespaces now;
	int rc = sbx_namespaces_read(proc_self_fd, &before, err);

	if (rc < 0)
		return rc;
	if (setns(session->keeper_pidfd, session->namespaces) < 0)
		return sbx_fail(err, errno, "setns: %s%s", strerror(errno),
				errno == ESRCH ? " (the sandbox has just ended; log in again)" : "");
	rc = sbx_namespaces_read(proc_self_fd, &now, err);
	if (rc < 0)
		return rc;
	return sbx_namespaces_verify(&before, &now, &session->inodes, session->namespaces, err);
}

int sbx_session_join(const struct sbx_session *session, const struct sbx_confinement *confinement,
		     int (*between)(void *data, struct sbx_err *err), void *data,
		     struct sbx_err *err)
{
	/* Its own capabilities stay: sshd or su needs them to become the user. */
	static const struct sbx_confine_expected expected = {.capabilities = SBX_CAPABILITIES_ANY};
	sbx_autoclose int proc_self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (proc_self_fd < 0)
		return sbx_fail(err, errno, "open '/proc/self': %s", strerror(errno));
	rc = sbx_cgroup_join(session->join_fds, session->n_join_fds, err);
	if (rc == 0)
		rc = sbx_confine_privileges(err);
	if (rc == 0)
		rc = join_namespaces(session, proc_self_fd, err);
	if (rc == 0 && between != NULL)
		rc = between(data, err);
	if (rc == 0)
		rc = sbx_confine_landlock(confinement->landlock, err);
	if (rc == 0)
		rc = sbx_confine_filter(confinement->user_namespaces, err);
	if (rc == 0)
		rc = sbx_confine_verify(proc_self_fd, &expected, err);
	return rc;
}

void sbx_session_describe(const struct sbx_session *session, const struct sbx_origin *origin)
{
	const struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC,
					    .kind = SBX_REQUEST_DESCRIBE,
					    .origin = *origin};

	(void)sbx_message_send(session->control_fd, &request, sizeof(request), NULL, 0);
}

void sbx_session_leave(struct sbx_session *session)
{
	const struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC,
					    .kind = SBX_REQUEST_LEAVE};

	/* If it cannot be told, it will see. */
	(void)sbx_message_send(session->control_fd, &request, sizeof(request), NULL, 0);
	sbx_closep(&session->control_fd);
}
