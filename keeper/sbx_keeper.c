/* SPDX-License-Identifier: MIT */
/*
 * sbx-keeper: PID 1 of a sandbox. Reaps orphans, counts sessions, and ends the
 * sandbox when the last one is over and the policy's linger has passed.
 *
 * It is started by sandbox/start.c when the view is built; sandbox/protocol.h tells
 * its arguments, descriptors and messages. It holds no memory of the program that
 * started it, no capability but CAP_KILL, and cannot be traced. Being PID 1 it gets
 * no signal from inside that it does not wait for; those are blocked and read from a
 * signalfd.
 */
#include "base/err.h"
#include "base/fd.h"
#include "base/number.h"
#include "sandbox/cgroup.h"
#include "sandbox/confine.h"
#include "sandbox/policy.h"
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS_PER_S INT64_C(1000)
#define FIRST_SESSION_WAIT_MS                                                                      \
	(10 * MS_PER_S)	 /* the starter may have been killed before joining                        \
			  */
#define END_GRACE_MS 500 /* TERM to KILL when the last session is over */
#define KILL_TRIES 400
#define CGROUP_TRIES 400
#define LOCK_TRIES 200
#define PAUSE_MS 5
#define ACCEPT_PAUSE_MS 50
#define PARTS_MAX 3

struct session {
	int control_fd; /* -EBADF once the other side is gone */
	int process_fd; /* pidfd; -EBADF until ENTER and once the process is gone */
	bool entered;
	uint64_t number; /* in the order of coming; never used again */
	int64_t since_ms;
	struct sbx_origin origin;
};

struct keeper {
	int namespaces;
	uint64_t linger_s;
	const char *cgroup_name;
	size_t n_parts;
	int signal_fd;
	int self_fd; /* pidfd of this process */
	struct sbx_namespaces inodes;
	ino_t socket_inode; /* of our name in the state directory */
	int name_fd;	    /* O_PATH on it: while this is open, no other gets its number */
	struct session *sessions;
	struct pollfd *poll_fds; /* room for the two fixed ones and two for each session */
	size_t n_sessions;
	uint64_t n_ever; /* connections accepted */
	int64_t since_ms;
	bool stopping;
	uint64_t grace_ms;
	int64_t deadline_ms; /* when to end although nothing happens; -1 = never */
};

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_sec = ms / MS_PER_S,
				       .tv_nsec = (ms % MS_PER_S) * 1000000L};

	(void)nanosleep(&pause, NULL); /* cut short: the caller looks again earlier */
}

static int part_fd(size_t part, int which)
{
	return SBX_KEEPER_FD_PARTS + (int)part * SBX_KEEPER_FDS_PER_PART + which;
}

/* ------------------------------------------------------------------ sessions */

static void rearm(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->n_sessions; i++) {
		if (keeper->sessions[i].entered) {
			keeper->deadline_ms = -1;
			return;
		}
	}
	if (keeper->linger_s == SBX_LINGER_FOREVER)
		keeper->deadline_ms = -1;
	else
		keeper->deadline_ms = now_ms() + (int64_t)keeper->linger_s * MS_PER_S;
}

static void drop_session(struct keeper *keeper, size_t index)
{
	struct session *session = &keeper->sessions[index];
	bool counted = session->entered;

	sbx_closep(&session->control_fd);
	sbx_closep(&session->process_fd);
	keeper->sessions[index] = keeper->sessions[--keeper->n_sessions];
	if (counted)
		rearm(keeper);
}

static bool accept_one(struct keeper *keeper)
{
	const size_t n = keeper->n_sessions + 1;
	struct session *sessions;
	struct pollfd *poll_fds;
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int fd = accept4(SBX_KEEPER_FD_LISTEN, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid != geteuid()) {
		(void)close(fd); /* not ours to serve */
		return true;
	}
	sessions = reallocarray(keeper->sessions, n, sizeof(*sessions));
	if (sessions != NULL)
		keeper->sessions = sessions;
	poll_fds = reallocarray(keeper->poll_fds, 2 + 2 * n, sizeof(*poll_fds));
	if (poll_fds != NULL)
		keeper->poll_fds = poll_fds;
	if (sessions == NULL || poll_fds == NULL) {
		(void)close(fd); /* the login is refused, the others live */
		return true;
	}
	keeper->sessions[keeper->n_sessions++] = (struct session){.control_fd = fd,
								  .process_fd = -EBADF,
								  .number = ++keeper->n_ever,
								  .since_ms = now_ms()};
	return true;
}

static bool answer(const struct keeper *keeper, int control_fd)
{
	const struct sbx_reply reply = {.magic = SBX_PROTOCOL_MAGIC,
					.namespaces = keeper->namespaces,
					.inodes = keeper->inodes};
	int fds[1 + PARTS_MAX] = {keeper->self_fd};

	for (size_t i = 0; i < keeper->n_parts; i++)
		fds[1 + i] = part_fd(i, 0);
	return sbx_message_send(control_fd, &reply, sizeof(reply), fds, 1 + keeper->n_parts) == 0;
}

/* What sbxctl status asks. Nothing that a session said is looked at here, only handed on. */
static bool answer_status(const struct keeper *keeper, int control_fd)
{
	struct sbx_status_reply reply = {.magic = SBX_PROTOCOL_MAGIC,
					 .age_ms = (uint64_t)(now_ms() - keeper->since_ms),
					 .linger_s = keeper->linger_s};
	int fds[1 + PARTS_MAX] = {keeper->self_fd};

	for (size_t i = 0; i < keeper->n_parts; i++)
		fds[1 + i] = part_fd(i, 1);
	for (size_t i = 0; i < keeper->n_sessions; i++)
		reply.n_sessions += keeper->sessions[i].entered;
	memcpy(reply.cgroup_name, keeper->cgroup_name,
	       strnlen(keeper->cgroup_name, sizeof(reply.cgroup_name) - 1));
	return sbx_message_send(control_fd, &reply, sizeof(reply), fds, 1 + keeper->n_parts) == 0;
}

static bool answer_session(const struct keeper *keeper, int control_fd, uint64_t after)
{
	struct sbx_session_reply reply = {.magic = SBX_PROTOCOL_MAGIC};
	const struct session *next = NULL;

	for (size_t i = 0; i < keeper->n_sessions; i++) {
		const struct session *session = &keeper->sessions[i];

		if (session->entered && session->number > after &&
		    (next == NULL || session->number < next->number))
			next = session;
	}
	if (next != NULL) {
		reply.found = 1;
		reply.number = next->number;
		reply.age_ms = (uint64_t)(now_ms() - next->since_ms);
		reply.origin = next->origin;
	}
	return sbx_message_send(control_fd, &reply, sizeof(reply),
				next == NULL ? NULL : &next->process_fd,
				next != NULL && next->process_fd >= 0 ? 1 : 0) == 0;
}

/* Returns false when the session is to be dropped. */
static bool handle_request(struct keeper *keeper, struct session *session,
			   const struct sbx_request *request, int *process_fd)
{
	if (request->magic != SBX_PROTOCOL_MAGIC)
		return false;
	switch (request->kind) {
	case SBX_REQUEST_ENTER:
		if (session->entered || *process_fd < 0)
			return false;
		session->process_fd = sbx_take_fd(process_fd);
		session->entered = true;
		keeper->deadline_ms = -1;
		return answer(keeper, session->control_fd);
	case SBX_REQUEST_STOP:
		keeper->stopping = true;
		keeper->grace_ms = request->grace_ms;
		return true;
	case SBX_REQUEST_HOLD:
		keeper->linger_s = SBX_LINGER_FOREVER;
		rearm(keeper);
		return true;
	case SBX_REQUEST_DESCRIBE:
		session->origin = request->origin;
		return true;
	case SBX_REQUEST_STATUS:
		return answer_status(keeper, session->control_fd);
	case SBX_REQUEST_SESSION:
		return answer_session(keeper, session->control_fd, request->after);
	default: /* LEAVE, and what a newer version may say */
		return false;
	}
}

/* Returns false when the session is to be dropped. */
static bool hear(struct keeper *keeper, struct session *session)
{
	struct sbx_request request;
	sbx_autoclose int fd = -EBADF;
	size_t n_fds = 0;
	int rc =
	    sbx_message_receive(session->control_fd, &request, sizeof(request), &fd, 1, &n_fds);

	if (rc == -EAGAIN)
		return true;
	if (rc == -ECONNRESET && session->process_fd >= 0) {
		/* Hung up, but the process may live on: one that exec'ed instead of forking. */
		sbx_closep(&session->control_fd);
		return true;
	}
	if (rc < 0)
		return false;
	return handle_request(keeper, session, &request, &fd);
}

static bool process_gone(int pidfd)
{
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) > 0;
}

/* Look after session 'index', whose two poll entries are given. Returns false if it is over. */
static bool serve(struct keeper *keeper, size_t index, const struct pollfd *control,
		  const struct pollfd *process)
{
	struct session *session = &keeper->sessions[index];

	if (control->revents != 0 && session->control_fd >= 0 && !hear(keeper, session))
		return false;
	if (process->revents != 0 && session->process_fd >= 0 && process_gone(session->process_fd))
		sbx_closep(&session->process_fd);
	return session->control_fd >= 0 || session->process_fd >= 0;
}

/* ----------------------------------------------------------------- the end */

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Is any other process left in this PID namespace? Its zombies count until their parent reaps them.
 */
static bool alone(void)
{
	reap();
	return kill(-1, 0) < 0 && errno == ESRCH;
}

static void end_processes(uint64_t grace_ms)
{
	const int64_t until = now_ms() + (int64_t)grace_ms;

	if (!alone() && grace_ms > 0) {
		(void)kill(-1, SIGTERM); /* ESRCH: all the better */
		(void)kill(-1, SIGHUP);	 /* interactive shells ignore TERM */
		(void)kill(-1, SIGCONT);
		while (!alone() && now_ms() < until)
			pause_ms(PAUSE_MS);
	}
	/*
	 * A process whose parent is outside (the shell of an su) stays a zombie until
	 * that parent reaps it, so there is a limit; the kernel ends the rest with us.
	 */
	for (int i = 0; i < KILL_TRIES && !alone(); i++) {
		(void)kill(-1, SIGKILL);
		pause_ms(PAUSE_MS);
	}
}

static bool take_lock(void)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(SBX_KEEPER_FD_LOCK, LOCK_EX | LOCK_NB) == 0)
			return true;
		pause_ms(PAUSE_MS);
	}
	return false;
}

/* Our name in the state directory, unless a successor's stands there by now. */
static void remove_name(const struct keeper *keeper)
{
	struct stat st;

	if (!take_lock())
		return;
	if (fstatat(SBX_KEEPER_FD_STATE, SBX_CONTROL_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ino == keeper->socket_inode)
		(void)unlinkat(SBX_KEEPER_FD_STATE, SBX_CONTROL_NAME, 0);
	(void)flock(SBX_KEEPER_FD_LOCK, LOCK_UN);
}

/*
 * Step out of the cgroup, then remove it. The root process of a session that was cut
 * off may still be in there for a moment. What stays, the user's next start sweeps.
 */
static void remove_cgroup(const struct keeper *keeper)
{
	if (sbx_cgroup_is_managed(keeper->cgroup_name))
		return;
	for (size_t i = 0; i < keeper->n_parts; i++)
		(void)sbx_write_all(part_fd(i, 2), "0", 1);
	for (int tries = 0; tries < CGROUP_TRIES; tries++) {
		bool busy = false;

		for (size_t i = 0; i < keeper->n_parts; i++) {
			if (unlinkat(part_fd(i, 1), keeper->cgroup_name, AT_REMOVEDIR) < 0 &&
			    errno == EBUSY)
				busy = true;
		}
		if (!busy)
			return;
		pause_ms(PAUSE_MS);
	}
}

/* ------------------------------------------------------------------ the loop */

static int poll_timeout(const struct keeper *keeper)
{
	int64_t left;

	if (keeper->deadline_ms < 0)
		return -1;
	left = keeper->deadline_ms - now_ms();
	if (left < 0)
		return 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

static void read_signals(struct keeper *keeper)
{
	struct signalfd_siginfo info;

	while (read(keeper->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		/*
		 * A sender that this PID namespace cannot name is outside. Without root the
		 * user's processes have the keeper's uid and could end everybody's sessions.
		 */
		if (info.ssi_signo == SIGTERM && info.ssi_pid == 0) {
			keeper->stopping = true;
			keeper->grace_ms = END_GRACE_MS;
		}
	}
	reap();
}

static void wait_for_events(struct keeper *keeper)
{
	struct pollfd *fds = keeper->poll_fds;
	size_t n = keeper->n_sessions;

	fds[0] = (struct pollfd){.fd = keeper->signal_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = SBX_KEEPER_FD_LISTEN, .events = POLLIN};
	for (size_t i = 0; i < n; i++) {
		fds[2 + 2 * i] =
		    (struct pollfd){.fd = keeper->sessions[i].control_fd, .events = POLLIN};
		fds[3 + 2 * i] =
		    (struct pollfd){.fd = keeper->sessions[i].process_fd, .events = POLLIN};
	}
	if (poll(fds, 2 + 2 * n, poll_timeout(keeper)) <= 0)
		return;
	if (fds[0].revents != 0)
		read_signals(keeper);
	/* Backwards, because dropping moves the last one into the gap. */
	for (size_t i = n; i-- > 0;) {
		if (!serve(keeper, i, &fds[2 + 2 * i], &fds[3 + 2 * i]))
			drop_session(keeper, i);
	}
	/* Out of descriptors: whoever waits stays in the queue, and poll(2) would return at once.
	 */
	if (fds[1].revents != 0 && !accept_one(keeper))
		pause_ms(ACCEPT_PAUSE_MS);
}

static void run(struct keeper *keeper)
{
	while (!keeper->stopping) {
		wait_for_events(keeper);
		if (keeper->deadline_ms < 0 || now_ms() < keeper->deadline_ms)
			continue;
		/* Nobody is left. But a login that has just connected must not be turned away. */
		if (!accept_one(keeper)) {
			keeper->grace_ms = END_GRACE_MS;
			keeper->stopping = true;
		} else {
			keeper->deadline_ms = now_ms() + FIRST_SESSION_WAIT_MS;
		}
	}
}

/* ------------------------------------------------------------------- start-up */

static int parse_arguments(int argc, char **argv, struct keeper *keeper, struct sbx_err *err)
{
	uint64_t namespaces;
	uint64_t n_parts;

	if (argc != 5 || sbx_parse_u64(argv[1], 0, INT32_MAX, &namespaces) < 0 ||
	    sbx_parse_u64(argv[2], 0, UINT64_MAX, &keeper->linger_s) < 0 ||
	    sbx_parse_u64(argv[4], 0, PARTS_MAX, &n_parts) < 0)
		return sbx_fail(err, EINVAL, "sbx-keeper is started by sbx, not by hand");
	keeper->namespaces = (int)namespaces;
	keeper->cgroup_name = argv[3];
	keeper->n_parts = (size_t)n_parts;
	return 0;
}

static int open_signals(struct keeper *keeper, struct sbx_err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return sbx_fail(err, errno, "sigprocmask: %s", strerror(errno));
	keeper->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signal_fd < 0)
		return sbx_fail(err, errno, "signalfd: %s", strerror(errno));
	return 0;
}

static int read_own_namespaces(struct keeper *keeper, struct sbx_err *err)
{
	sbx_autoclose int proc_self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (proc_self_fd < 0)
		return sbx_fail(err, errno, "open '/proc/self': %s", strerror(errno));
	return sbx_namespaces_read(proc_self_fd, &keeper->inodes, err);
}

/* Two descriptors a session; the limit is that of whoever logged in first. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* else fewer sessions fit */
}

static int prepare(struct keeper *keeper, struct sbx_err *err)
{
	struct stat st;
	int rc = open_signals(keeper, err);

	if (rc < 0)
		return rc;
	raise_descriptor_limit();
	keeper->self_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (keeper->self_fd < 0)
		return sbx_fail(err, errno, "pidfd_open: %s", strerror(errno));
	keeper->name_fd =
	    openat(SBX_KEEPER_FD_STATE, SBX_CONTROL_NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (keeper->name_fd < 0 || fstat(keeper->name_fd, &st) < 0)
		return sbx_fail(err, errno, "stat '" SBX_CONTROL_NAME "': %s", strerror(errno));
	keeper->socket_inode = st.st_ino;
	keeper->poll_fds = calloc(2, sizeof(*keeper->poll_fds));
	if (keeper->poll_fds == NULL)
		return sbx_fail(err, ENOMEM, "keeper: %s", strerror(ENOMEM));
	if (fcntl(SBX_KEEPER_FD_LISTEN, F_SETFL, O_NONBLOCK) < 0)
		return sbx_fail(err, errno, "fcntl: %s", strerror(errno));
	rc = read_own_namespaces(keeper, err);
	if (rc < 0)
		return rc;
	return sbx_confine_keeper(err);
}

int main(int argc, char **argv)
{
	struct keeper keeper = {.deadline_ms = now_ms() + FIRST_SESSION_WAIT_MS,
				.since_ms = now_ms()};
	struct sbx_err err = {0};
	int rc = parse_arguments(argc, argv, &keeper, &err);

	if (rc == 0)
		rc = prepare(&keeper, &err);
	if (sbx_message_send(SBX_KEEPER_FD_STATUS, &err, sizeof(err), NULL, 0) < 0 || rc < 0)
		return 1;
	(void)close(SBX_KEEPER_FD_STATUS); /* the message is out */

	run(&keeper);

	/* No new session from here on: a login that comes now starts a sandbox of its own. */
	(void)close(SBX_KEEPER_FD_LISTEN);
	/* Tells the sessions, for their last line in the log, that it was not they who ended. */
	for (size_t i = 0; i < keeper.n_sessions; i++)
		sbx_closep(&keeper.sessions[i].control_fd);
	end_processes(keeper.grace_ms);
	remove_name(&keeper);
	remove_cgroup(&keeper);
	return 0;
}
