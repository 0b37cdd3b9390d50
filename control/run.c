/* SPDX-License-Identifier: MIT */
/* sbxctl's side of a command, up to the moment when it runs. */
#include "control/run.h"

#include "base/fd.h"
#include "base/paths.h"
#include "config/session_environment.h"
#include "control/usage.h"
#include "sandbox/refresh.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP_MAX 16

void sbx_run_result_done(struct sbx_run_result *result)
{
	sbx_str_done(&result->out);
	sbx_str_done(&result->err_out);
}

int sbx_run_exit_status(const struct sbx_run_result *result)
{
	if (result->failure != 0)
		return result->failure;
	if (result->timed_out)
		return 124;
	return result->signal != 0 ? 128 + result->signal : result->code;
}

void sbx_signal_name(int number, char *ret_name, size_t size)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
	    {SIGHUP, "HUP"},	   {SIGINT, "INT"},   {SIGQUIT, "QUIT"},     {SIGILL, "ILL"},
	    {SIGTRAP, "TRAP"},	   {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},	     {SIGFPE, "FPE"},
	    {SIGKILL, "KILL"},	   {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"},     {SIGUSR2, "USR2"},
	    {SIGPIPE, "PIPE"},	   {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},     {SIGXCPU, "XCPU"},
	    {SIGXFSZ, "XFSZ"},	   {SIGSYS, "SYS"},   {SIGIO, "IO"},	     {SIGPWR, "PWR"},
	    {SIGSTKFLT, "STKFLT"}, {SIGPROF, "PROF"}, {SIGVTALRM, "VTALRM"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number) {
			(void)snprintf(ret_name, size, "SIG%s", names[i].name); /* fits in 16 */
			return;
		}
	}
	(void)snprintf(ret_name, size, "SIG%d", number);
}

void sbx_run_report_failure(int control_fd, int status, const struct sbx_err *err)
{
	struct sbx_run_report report = {
	    .kind = SBX_RUN_REPORT_FAILED, .status = status, .err = *err};

	/* Nobody there to hear it: then nobody wants to know. */
	(void)sbx_message_send(control_fd, &report, sizeof(report), NULL, 0);
}

/* ------------------------------------------------------------ in the process that joins */

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Close all descriptors above 2 but these: the caller of sbxctl may have left any open. */
static void close_others(const int *fds, size_t n_fds)
{
	int keep[KEEP_MAX] = {0};
	size_t n = 0;
	unsigned int from = STDERR_FILENO + 1;

	for (size_t i = 0; i < n_fds && n < KEEP_MAX; i++) {
		if (fds[i] > STDERR_FILENO)
			keep[n++] = fds[i];
	}
	qsort(keep, n, sizeof(keep[0]), compare);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned int)keep[i] > from)
			(void)syscall(SYS_close_range, from, (unsigned int)keep[i] - 1, 0);
		from = (unsigned int)keep[i] + 1;
	}
	(void)syscall(SYS_close_range, from, ~0U, 0); /* checked when the sandbox was started */
}

static int detach(struct sbx_err *err)
{
	sbx_autoclose int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return sbx_fail(err, errno, "open '/dev/null': %s", strerror(errno));
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (dup2(null_fd, fd) < 0)
			return sbx_fail(err, errno, "dup2: %s", strerror(errno));
	}
	/* Out of the terminal's foreground group: Ctrl-C is for sbxctl, which hands it on. */
	if (setsid() < 0)
		return sbx_fail(err, errno, "setsid: %s", strerror(errno));
	return 0;
}

static int arrive(void *data, struct sbx_err *err)
{
	const struct sbx_refresh *refresh = data;

	return refresh == NULL ? 0 : sbx_refresh_put(refresh, err);
}

struct joining {
	const struct sbx_run *run;
	const struct sbx_session *session;
	struct sbx_refresh *refresh; /* NULL: the sandbox is new */
	const struct sbx_run_inside *inside;
};

static int join(const struct joining *joining, struct sbx_err *err)
{
	const struct sbx_policy *policy = joining->run->user->policy;
	const struct sbx_confinement confinement = {
	    .user_namespaces = policy->user_namespaces,
	    .landlock = policy->landlock,
	};
	const struct sbx_session *session = joining->session;
	int keep[KEEP_MAX];
	size_t n = 0;
	int rc;

	/* No process of the sandbox may look into this one, or open its program by /proc/PID/exe.
	 */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "prctl: %s", strerror(errno));
	keep[n++] = joining->inside->control_fd;
	for (int i = 0; i < 3; i++)
		keep[n++] = joining->inside->stdio[i];
	keep[n++] = session->keeper_pidfd;
	for (size_t i = 0; i < session->n_join_fds; i++)
		keep[n++] = session->join_fds[i];
	close_others(keep, n);
	rc = detach(err);
	if (rc < 0)
		return rc;
	/* An anonymous keyring instead of the admin's; the filter allows no later time. */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	rc = sbx_session_join(session, &confinement, arrive, joining->refresh, err);
	for (size_t i = 0; i < session->n_join_fds; i++)
		(void)close(session->join_fds[i]); /* nobody below shall hold them */
	(void)close(session->keeper_pidfd);
	return rc;
}

/* Children of a process that has joined are born in the sandbox's PID namespace, it itself is not.
 */
static void join_and_fork(const struct joining *joining)
{
	struct sbx_err err = {0};
	pid_t pid;

	if (join(joining, &err) < 0) {
		sbx_run_report_failure(joining->inside->control_fd, SBX_RUN_FAILED, &err);
		_exit(1);
	}
	pid = fork();
	if (pid == 0)
		sbx_run_supervise(joining->run, joining->inside);
	if (pid < 0) {
		(void)sbx_fail(&err, errno, "fork: %s", strerror(errno));
		sbx_run_report_failure(joining->inside->control_fd, SBX_RUN_FAILED, &err);
	}
	_exit(pid < 0 ? 1 : 0);
}

/* --------------------------------------------------------------------------- in sbxctl */

/* Signals that end sbxctl are read from a descriptor and handed on; one that is ignored (nohup)
 * stays so. */
static int take_signals(int *ret_fd, struct sbx_err *err)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
	struct sigaction action;
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(&set, numbers[i]);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return sbx_fail(err, errno, "sigprocmask: %s", strerror(errno));
	(void)signal(SIGPIPE, SIG_IGN); /* a reader that has gone is seen when writing */
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? sbx_fail(err, errno, "signalfd: %s", strerror(errno)) : 0;
}

/* What stays with us does not block, and what the command gets belongs to the user: or else
 * opening /dev/stdout would be refused to it. */
static int make_pipe(const struct sbx_run *run, bool to_command, int *ret_ours, int *ret_theirs,
		     struct sbx_err *err)
{
	const struct sbx_identity *who = run->user->identity;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return sbx_fail(err, errno, "pipe: %s", strerror(errno));
	*ret_ours = ends[to_command ? 1 : 0];
	*ret_theirs = ends[to_command ? 0 : 1];
	if (fchown(*ret_theirs, who->uid, who->gid) < 0 ||
	    fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return sbx_fail(err, errno, "pipe: %s", strerror(errno));
	return 0;
}

static int make_channels(const struct sbx_run *run, struct sbx_run_inside *inside,
			 struct sbx_run_outside *outside, struct sbx_err *err)
{
	int control[2];
	int rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return sbx_fail(err, errno, "socketpair: %s", strerror(errno));
	outside->control_fd = control[0];
	inside->control_fd = control[1];
	rc = take_signals(&outside->signal_fd, err);
	if (rc < 0 || run->terminal)
		return rc;
	rc = make_pipe(run, true, &outside->in_fd, &inside->stdio[0], err);
	if (rc == 0)
		rc = make_pipe(run, false, &outside->out_fd, &inside->stdio[1], err);
	if (rc == 0)
		rc = make_pipe(run, false, &outside->err_fd, &inside->stdio[2], err);
	return rc;
}

static void inside_done(struct sbx_run_inside *inside)
{
	sbx_closep(&inside->control_fd);
	for (int i = 0; i < 3; i++)
		sbx_closep(&inside->stdio[i]);
}

static void outside_done(struct sbx_run_outside *outside)
{
	sbx_closep(&outside->control_fd);
	sbx_closep(&outside->in_fd);
	sbx_closep(&outside->out_fd);
	sbx_closep(&outside->err_fd);
	sbx_closep(&outside->signal_fd);
}

static int launch(const struct sbx_run *run, const struct sbx_session *session, bool started,
		  struct sbx_run_outside *outside, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_refresh_freep))) struct sbx_refresh *refresh = NULL;
	__attribute__((cleanup(inside_done))) struct sbx_run_inside inside = {
	    .control_fd = -EBADF, .stdio = {-EBADF, -EBADF, -EBADF}};
	struct joining joining = {.run = run, .session = session, .inside = &inside};
	pid_t pid;
	int rc = make_channels(run, &inside, outside, err);

	if (rc == 0 && !started)
		rc = sbx_refresh_take(run->user->policy, run->user->identity, &refresh, err);
	if (rc < 0)
		return rc;
	joining.refresh = refresh;
	pid = fork();
	if (pid == 0)
		join_and_fork(&joining);
	if (pid < 0)
		return sbx_fail(err, errno, "fork: %s", strerror(errno));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		; /* it ends at once; how it went comes over the socket */
	return 0;
}

static uint64_t count_oom_kills(const char *user)
{
	__attribute__((cleanup(sbx_status_freep))) struct sbx_status *status = NULL;
	struct sbx_usage usage;

	if (sbx_user_status(user, NULL, &status, NULL) < 0)
		return SBX_UNKNOWN;
	sbx_usage_read(status->cgroup_fds, status->n_cgroups, &usage);
	return usage.oom_kills;
}

static bool was_killed(const struct sbx_run_result *result)
{
	/* A shell says it of its command in its own exit status. */
	return !result->timed_out && !result->lost &&
	       (result->signal == SIGKILL ||
		(result->signal == 0 && result->code == 128 + SIGKILL));
}

/* While a command runs it is a session like any other: `sbxctl status` shows it. */
static void describe(const struct sbx_run *run, const struct sbx_session *session)
{
	struct sbx_origin origin = {0};
	char caller[sizeof(origin.by)];
	char tty[sizeof(origin.tty)] = "";

	sbx_user_caller(caller, sizeof(caller));
	sbx_origin_set(origin.service, sizeof(origin.service), "exec");
	sbx_origin_set(origin.by, sizeof(origin.by), caller);
	if (run->terminal && ttyname_r(STDIN_FILENO, tty, sizeof(tty)) == 0)
		sbx_origin_set(origin.tty, sizeof(origin.tty), tty);
	sbx_session_describe(session, &origin);
}

static const char *why_ended(const struct sbx_run_result *result, const char *signal_name)
{
	if (result->timed_out)
		return "timeout";
	if (result->lost)
		return "sandbox-ended";
	if (result->failure != 0)
		return "failed";
	return signal_name[0] != '\0' ? signal_name : "exit";
}

static void log_end(const struct sbx_run *run, const struct sbx_run_result *result)
{
	char more[64];
	char name[16] = "";

	if (result->signal != 0)
		sbx_signal_name(result->signal, name, sizeof(name));
	(void)snprintf(more, sizeof(more), "service=exec why=%s status=%d", why_ended(result, name),
		       sbx_run_exit_status(result)); /* fits */
	sbx_user_log("session closed", run->user->identity->name, more);
}

void sbx_run(const struct sbx_run *run, struct sbx_run_result *ret_result)
{
	__attribute__((cleanup(sbx_session_freep))) struct sbx_session *session = NULL;
	__attribute__((cleanup(outside_done))) struct sbx_run_outside outside = {
	    .control_fd = -EBADF,
	    .in_fd = -EBADF,
	    .out_fd = -EBADF,
	    .err_fd = -EBADF,
	    .signal_fd = -EBADF,
	};
	struct sbx_run_result *result = ret_result;
	const char *user = run->user->identity->name;
	uint64_t oom_kills;
	bool started;
	int rc;

	*result = (struct sbx_run_result){0};
	rc = sbx_sandbox_open(run->user->policy, run->user->identity, SBX_RUN_DIR, SBX_KEEPER,
			      &session, &started, &result->err);
	if (rc < 0) {
		result->failure = SBX_RUN_FAILED;
		return;
	}
	describe(run, session);
	sbx_user_log("session opened", user,
		     started ? "service=exec sandbox=started" : "service=exec sandbox=joined");
	oom_kills = count_oom_kills(user);
	rc = launch(run, session, started, &outside, &result->err);
	if (rc < 0)
		result->failure = SBX_RUN_FAILED;
	else
		sbx_run_relay(run, &outside, result);
	if (result->failure == 0 && sbx_session_ended(session))
		result->lost = !result->timed_out;
	if (was_killed(result)) {
		uint64_t now = count_oom_kills(user);

		result->out_of_memory = now != SBX_UNKNOWN && now > oom_kills;
	}
	log_end(run, result);
}
