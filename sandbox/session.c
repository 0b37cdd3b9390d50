/* SPDX-License-Identifier: MIT */
#include "sandbox/session.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"
#include "sandbox/cgroup.h"
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

void sbx_session_freep(struct sbx_session **session) { sbx_session_free(*session); }

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
		return sbx_fail(err, errno, "connect to '%s/" SBX_CONTROL_NAME "': %s", state->path,
				strerror(errno));
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
	const struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC, .kind = SBX_REQUEST_ENTER};
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
	struct sbx_reply reply = {0};
	int fds[SBX_REPLY_FDS_MAX];
	size_t n_fds = 0;
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
	/* A sandbox made without root may be in no cgroup of its own. */
	if (reply.magic != SBX_PROTOCOL_MAGIC ||
	    n_fds < ((reply.namespaces & CLONE_NEWUSER) != 0 ? 1 : 2))
		return sbx_fail(err, EPROTO,
				"the running sandbox was started by another version of sbx; it "
				"must end before a new login can join");
	session->namespaces = reply.namespaces;
	session->inodes = reply.inodes;
	*ret_session = session;
	session = NULL;
	return 0;
}

static int join_namespaces(const struct sbx_session *session, int proc_self_fd, struct sbx_err *err)
{
	struct sbx_namespaces before;
	struct sbx_namespaces now;
	int rc = sbx_namespaces_read(proc_self_fd, &before, err);

	if (rc < 0)
		return rc;
	if (setns(session->keeper_pidfd, session->namespaces) < 0)
		return sbx_fail(err, errno, "setns: %s%s", strerror(errno),
				errno == ESRCH ? " (the sandbox has just ended; log in again)"
					       : "");
	rc = sbx_namespaces_read(proc_self_fd, &now, err);
	if (rc < 0)
		return rc;
	return sbx_namespaces_verify(&before, &now, &session->inodes, session->namespaces, err);
}

/* The process number behind a pidfd. While the pidfd says that it lives, the number means it. */
static int number_of(int pidfd, uint64_t *ret_pid, struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	const char *line;
	char path[64];
	int rc;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd); /* fits */
	rc = sbx_file_read(AT_FDCWD, path, 0, 4096, &text, NULL, NULL, err);
	if (rc < 0)
		return rc;
	line = strstr(text, "\nPid:\t");
	if (line != NULL) {
		line += strlen("\nPid:\t");
		text[(size_t)(line - text) + strcspn(line, "\n")] = '\0';
	}
	if (line == NULL || sbx_parse_u64(line, 1, INT32_MAX, ret_pid) < 0)
		return sbx_fail(err, ESRCH, "the sandbox has just ended; try again");
	return 0;
}

/*
 * Is the keeper's user namespace one that this very user made right here? What answers on
 * the socket has shown by its uid that it is the user's; this makes sure that it leads
 * into a sandbox made outside of all sandboxes, not into one that was made within one.
 */
static int check_user_namespace(const struct sbx_session *session, struct sbx_err *err)
{
	sbx_autoclose int user_fd = -EBADF;
	sbx_autoclose int parent_fd = -EBADF;
	struct pollfd alive = {.fd = session->keeper_pidfd, .events = POLLIN};
	struct stat user;
	struct stat parent;
	struct stat own;
	uid_t owner;
	uint64_t pid;
	char path[64];
	int rc = number_of(session->keeper_pidfd, &pid, err);

	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/ns/user", pid); /* fits */
	user_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (user_fd < 0)
		return sbx_fail(err, errno, "open the sandbox's user namespace: %s",
				strerror(errno));
	if (poll(&alive, 1, 0) != 0)
		return sbx_fail(err, ESRCH, "the sandbox has just ended; try again");
	parent_fd = ioctl(user_fd, NS_GET_PARENT);
	if (parent_fd < 0 || ioctl(user_fd, NS_GET_OWNER_UID, &owner) < 0 ||
	    fstat(user_fd, &user) < 0 || fstat(parent_fd, &parent) < 0 ||
	    stat("/proc/self/ns/user", &own) < 0)
		return sbx_fail(err, errno, "look at the sandbox's user namespace: %s",
				strerror(errno));
	if (parent.st_ino != own.st_ino || owner != geteuid() ||
	    user.st_ino != session->inodes.inode[SBX_NS_USER])
		return sbx_fail(err, EXDEV,
				"the keeper's user namespace is not one that uid %u made here",
				geteuid());
	return 0;
}

/*
 * Without root: the user namespace gives the capabilities that the other steps need, and
 * afterwards nothing is left of them. The keeper's pidfd can only be followed into a
 * namespace that this user owns.
 */
static int join_as_user(const struct sbx_session *session, int proc_self_fd,
			int (*between)(void *data, struct sbx_err *err), void *data,
			struct sbx_err *err)
{
	int rc = check_user_namespace(session, err);

	if (rc == 0)
		rc = join_namespaces(session, proc_self_fd, err);
	if (rc == 0 && between != NULL)
		rc = between(data, err);
	if (rc == 0)
		rc = sbx_confine_all_privileges(err);
	return rc;
}

static int join_as_root(const struct sbx_session *session, int proc_self_fd,
			int (*between)(void *data, struct sbx_err *err), void *data,
			struct sbx_err *err)
{
	int rc = sbx_confine_privileges(err);

	if (rc == 0)
		rc = join_namespaces(session, proc_self_fd, err);
	if (rc == 0 && between != NULL)
		rc = between(data, err);
	return rc;
}

int sbx_session_join(const struct sbx_session *session, const struct sbx_confinement *confinement,
		     int (*between)(void *data, struct sbx_err *err), void *data,
		     struct sbx_err *err)
{
	const bool as_user = (session->namespaces & CLONE_NEWUSER) != 0;
	/* A root process keeps its own capabilities: sshd or su needs them to become the user. */
	const struct sbx_confine_expected expected = {.capabilities =
							  as_user ? 0 : SBX_CAPABILITIES_ANY};
	sbx_autoclose int proc_self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (proc_self_fd < 0)
		return sbx_fail(err, errno, "open '/proc/self': %s", strerror(errno));
	rc = sbx_cgroup_join(session->join_fds, session->n_join_fds, err);
	if (rc == 0 && as_user)
		rc = join_as_user(session, proc_self_fd, between, data, err);
	else if (rc == 0)
		rc = join_as_root(session, proc_self_fd, between, data, err);
	/* With a network of its own, the sandbox shares no abstract sockets with anybody. */
	if (rc == 0 && (session->namespaces & CLONE_NEWNET) == 0)
		rc = sbx_confine_landlock(confinement->landlock, err);
	if (rc == 0)
		rc = sbx_confine_filter(confinement->user_namespaces, err);
	if (rc == 0)
		rc = sbx_confine_verify(proc_self_fd, &expected, err);
	return rc;
}

void sbx_session_describe(const struct sbx_session *session, const struct sbx_origin *origin)
{
	const struct sbx_request request = {
	    .magic = SBX_PROTOCOL_MAGIC, .kind = SBX_REQUEST_DESCRIBE, .origin = *origin};

	(void)sbx_message_send(session->control_fd, &request, sizeof(request), NULL, 0);
}

bool sbx_session_ended(const struct sbx_session *session)
{
	/* The keeper never writes after its answer: whatever is to be heard is its hanging up. */
	struct pollfd fds[] = {
	    {.fd = session->control_fd, .events = POLLIN},
	    {.fd = session->keeper_pidfd, .events = POLLIN},
	};

	return poll(fds, 2, 0) > 0;
}

void sbx_session_leave(struct sbx_session *session)
{
	const struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC, .kind = SBX_REQUEST_LEAVE};

	/* If it cannot be told, it will see. */
	(void)sbx_message_send(session->control_fd, &request, sizeof(request), NULL, 0);
	sbx_closep(&session->control_fd);
}
