/* SPDX-License-Identifier: MIT */
#include "sandbox/start.h"

#include "base/fd.h"
#include "base/signals.h"
#include "sandbox/build.h"
#include "sandbox/cgroup.h"
#include "sandbox/confine.h"
#include "sandbox/path.h"
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_TIMEOUT_MS 30000
#define LISTEN_BACKLOG 128
#define REMOVE_TRIES 100
#define REMOVE_PAUSE_MS 5

/* Everything the processes of a start need; the same in the launcher and in PID 1. */
struct start {
	const struct sbx_plan *plan;
	const struct sbx_state *state;
	struct sbx_cgroup *cgroup;
	const struct sbx_sources *sources; /* NULL: the plan has no user namespace */
	int keeper_fd;			   /* the program, opened in the host's view */
	int status_fd;			   /* our end; a struct sbx_err goes out on it */
};

/* ------------------------------------------------------------------ in PID 1 */

static int listen_on_control(const struct start *start, int *ret_fd, struct sbx_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	sbx_autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int length;

	if (fd < 0)
		return sbx_fail(err, errno, "socket: %s", strerror(errno));
	/* By descriptor: the path may be too long for an address, and is hidden by the new root. */
	length = snprintf(address.sun_path, sizeof(address.sun_path),
			  "/proc/self/fd/%d/" SBX_CONTROL_NAME, start->state->dir_fd);
	if (length < 0 || (size_t)length >= sizeof(address.sun_path))
		return sbx_fail(err, ENAMETOOLONG, "socket address");
	/* What a killed keeper left. Nobody else is starting: the lock is held. */
	if (unlinkat(start->state->dir_fd, SBX_CONTROL_NAME, 0) < 0 && errno != ENOENT)
		return sbx_fail(err, errno, "remove '%s/" SBX_CONTROL_NAME "': %s",
				start->state->path, strerror(errno));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return sbx_fail(err, errno, "make '%s/" SBX_CONTROL_NAME "': %s",
				start->state->path, strerror(errno));
	if (listen(fd, LISTEN_BACKLOG) < 0)
		return sbx_fail(err, errno, "listen: %s", strerror(errno));
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

/*
 * Descriptors end up at fixed numbers. First each is copied above all targets, so
 * that putting one in place never overwrites one that is still to be moved.
 */
static int place_fds(const int *fds, size_t n_fds, struct sbx_err *err)
{
	const int above = SBX_KEEPER_FD_STATUS + (int)n_fds;
	int high[SBX_KEEPER_FD_PARTS + SBX_KEEPER_FDS_PER_PART * SBX_CGROUP_MAX];

	for (size_t i = 0; i < n_fds; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, above);
		if (high[i] < 0)
			return sbx_fail(err, errno, "copy a descriptor: %s", strerror(errno));
	}
	for (size_t i = 0; i < n_fds; i++) {
		if (dup2(high[i], SBX_KEEPER_FD_STATUS + (int)i) < 0)
			return sbx_fail(err, errno, "place a descriptor: %s", strerror(errno));
	}
	if (syscall(SYS_close_range, (unsigned int)above, ~0U, 0) < 0)
		return sbx_fail(err, errno, "close_range: %s%s", strerror(errno),
				errno == ENOSYS ? " (sbx needs Linux 5.14 or newer)" : "");
	return 0;
}

/* A lock descriptor of the keeper's own: the inherited one shares its lock with the caller. */
static int open_own_lock(const struct start *start, int *ret_fd, struct sbx_err *err)
{
	int fd = openat(start->state->dir_fd, SBX_LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return sbx_fail(err, errno, "open '%s/" SBX_LOCK_NAME "': %s", start->state->path,
				strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int exec_keeper(const struct start *start, int listen_fd, int lock_fd, struct sbx_err *err)
{
	int fds[SBX_KEEPER_FD_PARTS + SBX_KEEPER_FDS_PER_PART * SBX_CGROUP_MAX + 1];
	char name[] = "sbx-keeper";
	char namespaces[16];
	char linger_s[24];
	char n_parts[16];
	char *const argv[] = {name, namespaces, linger_s, start->cgroup->name, n_parts, NULL};
	char *const envp[] = {NULL};
	size_t n = 0;
	int keeper_fd;
	int rc;

	fds[n++] = start->status_fd;
	fds[n++] = listen_fd;
	fds[n++] = start->state->dir_fd;
	fds[n++] = lock_fd;
	for (size_t i = 0; i < start->cgroup->n_parts; i++) {
		fds[n++] = start->cgroup->parts[i].join_fd;
		fds[n++] = start->cgroup->parts[i].parent_fd;
		fds[n++] = start->cgroup->parts[i].leave_fd;
	}
	fds[n++] = start->keeper_fd; /* last, and closed by the exec itself */
	rc = place_fds(fds, n, err);
	if (rc < 0)
		return rc;
	keeper_fd = SBX_KEEPER_FD_STATUS + (int)n - 1;
	if (fcntl(keeper_fd, F_SETFD, FD_CLOEXEC) < 0)
		return sbx_fail(err, errno, "fcntl: %s", strerror(errno));
	(void)snprintf(namespaces, sizeof(namespaces), "%d", start->plan->namespaces); /* all fit */
	(void)snprintf(linger_s, sizeof(linger_s), "%" PRIu64, start->plan->linger_s);
	(void)snprintf(n_parts, sizeof(n_parts), "%zu", start->cgroup->n_parts);
	(void)syscall(SYS_execveat, keeper_fd, "", argv, envp, AT_EMPTY_PATH);
	return sbx_fail(err, errno, "run the keeper: %s", strerror(errno));
}

static int become_keeper(const struct start *start, struct sbx_err *err)
{
	sbx_autoclose int listen_fd = -EBADF;
	sbx_autoclose int lock_fd = -EBADF;
	int rc;

	rc = listen_on_control(start, &listen_fd, err);
	if (rc == 0)
		rc = open_own_lock(start, &lock_fd, err);
	if (rc == 0)
		rc = sbx_build(start->plan, start->state->path, start->cgroup, start->sources, err);
	/* exec would drop a user's capabilities, with them the right to empty the bounding set. */
	if (rc == 0 && sbx_plan_unprivileged(start->plan))
		rc = sbx_confine_all_privileges(err);
	if (rc == 0)
		rc = exec_keeper(start, listen_fd, lock_fd, err);
	return rc;
}

/* After place_fds() has been at work the status socket is at its fixed number. */
static void report(int status_fd, const struct sbx_err *err)
{
	if (sbx_message_send(status_fd, err, sizeof(*err), NULL, 0) < 0)
		(void)sbx_message_send(SBX_KEEPER_FD_STATUS, err, sizeof(*err), NULL, 0);
}

/* --------------------------------------------------------------- in the launcher */

/* The caller's standard streams are somebody's terminal or ssh channel: a keeper must not hold
 * them. */
static int detach_stdio(struct sbx_err *err)
{
	sbx_autoclose int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return sbx_fail(err, errno, "open '/dev/null': %s", strerror(errno));
	for (int fd = 0; fd <= 2; fd++) {
		if (fd != null_fd && dup2(null_fd, fd) < 0)
			return sbx_fail(err, errno, "detach from the terminal: %s",
					strerror(errno));
	}
	if (null_fd <= 2)
		(void)sbx_take_fd(&null_fd); /* the caller had it closed; it stays as it is */
	return 0;
}

static void prefer_others_for_oom(void)
{
	static const char score[] = "-999";
	sbx_autoclose int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/*
	 * A help, not a protection, so failure is no matter (it needs CAP_SYS_RESOURCE).
	 * Not -1000: when nothing else is left to kill, ending the sandbox frees its tmpfs.
	 */
	if (fd >= 0)
		(void)sbx_write_all(fd, score, strlen(score));
}

static int write_map(const char *file, const char *text, struct sbx_err *err)
{
	sbx_autoclose int fd = open(file, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : sbx_write_all(fd, text, strlen(text));

	return rc < 0 ? sbx_fail(err, -rc, "write '%s': %s", file, strerror(-rc)) : 0;
}

/*
 * A user may map just its own ids, and must give up setgroups(2) for it,
 * user_namespaces(7). They stay what they are: files inside belong to whom they belong
 * outside, and nobody inside is root.
 */
static int map_ids(const struct sbx_plan *plan, struct sbx_err *err)
{
	char uid[48];
	char gid[48];
	int rc;

	(void)snprintf(uid, sizeof(uid), "%u %u 1", plan->ids.uid, plan->ids.uid); /* fits */
	(void)snprintf(gid, sizeof(gid), "%u %u 1", plan->ids.gid, plan->ids.gid); /* fits */
	rc = write_map("/proc/self/setgroups", "deny", err);
	if (rc == 0)
		rc = write_map("/proc/self/gid_map", gid, err);
	if (rc == 0)
		rc = write_map("/proc/self/uid_map", uid, err);
	return rc;
}

static int make_namespaces(const struct sbx_plan *plan, struct sbx_err *err)
{
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	int rc;

	if (unshare(plan->namespaces) < 0)
		return sbx_fail(err, errno, "make namespaces: %s", strerror(errno));
	if (!sbx_plan_unprivileged(plan))
		return 0;
	/*
	 * The map files of a process that is not dumpable are root's. The caller has loaded
	 * no secret yet, and this process will never hold one.
	 */
	if (dumpable != 1 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "prctl: %s", strerror(errno));
	rc = map_ids(plan, err);
	if (rc == 0 && dumpable != 1 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		rc = sbx_fail(err, errno, "prctl: %s", strerror(errno));
	return rc;
}

static int launch(const struct start *start, struct sbx_err *err)
{
	pid_t pid;
	int rc;

	sbx_signals_reset();
	(void)signal(SIGXFSZ, SIG_IGN); /* under a small "ulimit -f": EFBIG can be reported */
	(void)umask(022);
	if (setsid() < 0)
		return sbx_fail(err, errno, "setsid: %s", strerror(errno));
	rc = detach_stdio(err);
	if (rc < 0)
		return rc;
	prefer_others_for_oom();
	/* An anonymous keyring instead of the caller's; kernels without keyrings have none to leak.
	 */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	/* Before unshare(2): the cgroup a process is in then becomes the namespace's root. */
	rc = sbx_cgroup_enter(start->plan, start->cgroup, err);
	if (rc < 0)
		return rc;
	rc = make_namespaces(start->plan, err);
	if (rc < 0)
		return rc;
	pid = fork();
	if (pid < 0)
		return sbx_fail(err, errno, "fork: %s", strerror(errno));
	if (pid > 0)
		return 0;
	rc = become_keeper(start, err);
	report(start->status_fd, err);
	_exit(rc < 0 ? 1 : 0);
}

/* ----------------------------------------------------------------- in the caller */

static int wait_until_ready(int status_fd, struct sbx_err *err)
{
	struct pollfd poll_fd = {.fd = status_fd, .events = POLLIN};
	struct sbx_err status;
	size_t n_fds;
	int rc;

	do {
		rc = poll(&poll_fd, 1, READY_TIMEOUT_MS);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return sbx_fail(err, ETIMEDOUT, "the sandbox was not ready after %d s",
				READY_TIMEOUT_MS / 1000);
	if (rc < 0)
		return sbx_fail(err, errno, "poll: %s", strerror(errno));
	rc = sbx_message_receive(status_fd, &status, sizeof(status), NULL, 0, &n_fds);
	if (rc < 0)
		return sbx_fail(err, EPIPE, "the keeper ended while the sandbox was being built");
	status.msg[sizeof(status.msg) - 1] = '\0';
	if (status.code != 0)
		return sbx_fail(err, status.code, "%s", status.msg);
	return 0;
}

/* The launcher ends at once. A caller that ignores SIGCHLD gets ECHILD, which is as good. */
static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* SIGCHLD of a child the caller does not know of must not reach its handler. */
static void block_sigchld(sigset_t *ret_before, bool *ret_pending)
{
	sigset_t chld;
	sigset_t pending;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigpending(&pending);
	*ret_pending = sigismember(&pending, SIGCHLD) == 1;
	(void)sigprocmask(SIG_BLOCK, &chld, ret_before);
}

static void unblock_sigchld(const sigset_t *before, bool was_pending)
{
	static const struct timespec now = {0};
	sigset_t chld;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (!was_pending)
		(void)sigtimedwait(&chld, NULL, &now);
	(void)sigprocmask(SIG_SETMASK, before, NULL);
}

/* The processes of a failed start leave the cgroup a moment after they have reported. */
static void remove_failed(struct sbx_cgroup *cgroup)
{
	static const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_MS * 1000000L};

	for (int i = 0; i < REMOVE_TRIES && !sbx_cgroup_remove(cgroup); i++) {
		(void)nanosleep(&pause, NULL); /* cut short: just an earlier try */
	}
}

static int launch_and_wait(struct start *start, struct sbx_err *err)
{
	int status[2];
	sigset_t before;
	bool pending;
	pid_t pid;
	int rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
		return sbx_fail(err, errno, "socketpair: %s", strerror(errno));
	block_sigchld(&before, &pending);
	pid = fork();
	if (pid == 0) {
		struct sbx_err reason = {0};

		(void)close(status[0]); /* the caller's end */
		start->status_fd = status[1];
		rc = launch(start, &reason);
		if (rc < 0)
			report(start->status_fd, &reason);
		_exit(rc < 0 ? 1 : 0);
	}
	rc = pid < 0 ? sbx_fail(err, errno, "fork: %s", strerror(errno)) : 0;
	(void)close(status[1]); /* so that its end is noticed when all others have closed it */
	if (pid > 0) {
		rc = wait_until_ready(status[0], err);
		reap(pid);
	}
	(void)close(status[0]); /* nothing written */
	unblock_sigchld(&before, pending);
	return rc;
}

int sbx_sandbox_start(const struct sbx_plan *plan, const struct sbx_state *state,
		      const char *keeper_path, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_cgroup_freep))) struct sbx_cgroup *cgroup = NULL;
	__attribute__((cleanup(sbx_sources_freep))) struct sbx_sources *sources = NULL;
	sbx_autoclose int keeper_fd = -EBADF;
	struct start start = {.plan = plan, .state = state, .status_fd = -EBADF};
	int rc;

	rc = sbx_path_open(keeper_path, 0, &keeper_fd, err);
	if (rc < 0)
		return rc;
	if (sbx_plan_unprivileged(plan)) {
		rc = sbx_sources_find(plan, &sources, err);
		if (rc < 0)
			return rc;
	}
	rc = sbx_cgroup_create(plan, &cgroup, err);
	if (rc < 0)
		return rc;
	start.cgroup = cgroup;
	start.sources = sources;
	start.keeper_fd = keeper_fd;
	rc = launch_and_wait(&start, err);
	if (rc < 0) {
		/* The lock is held, so this name is that of the keeper that did not come to be. */
		(void)unlinkat(state->dir_fd, SBX_CONTROL_NAME, 0);
		remove_failed(cgroup);
	}
	return rc;
}
