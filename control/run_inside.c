/* SPDX-License-Identifier: MIT */
/* The supervisor of a command, and what becomes the command: inside the sandbox. */
#include "base/fd.h"
#include "base/signals.h"
#include "config/session_environment.h"
#include "control/run.h"
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_WAIT_MS 5000 /* for what KILL does not end: a process in an uninterruptible wait */
#define PAUSE_MS 2
#define DROPPED_GRACE_MS 500
#define MS_PER_S 1000
#define NS_PER_MS 1000000L
#define FALLBACK_SHELL "/bin/sh"

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/*
 * Of all in the sandbox the supervisor is to be the last that runs out of memory; the
 * command is nobody special, even if sbxctl was called by a daemon that is. Failure is no
 * matter: it is a help only.
 */
static void set_oom_score(const char *score)
{
	sbx_autoclose int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)sbx_write_all(fd, score, strlen(score));
}

/* -------------------------------------------------------------------------- the command */

/* Report and end. The status is also the process's own, should the report be lost. */
static void give_up(const struct sbx_run_inside *inside, int status, const struct sbx_err *err)
    __attribute__((noreturn));
static void give_up(const struct sbx_run_inside *inside, int status, const struct sbx_err *err)
{
	sbx_run_report_failure(inside->control_fd, status, err);
	_exit(status);
}

static int become(const struct sbx_identity *who, struct sbx_err *err)
{
	gid_t *gids = calloc(who->n_groups + 1, sizeof(*gids));
	int rc = 0;

	if (gids == NULL)
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	for (size_t i = 0; i < who->n_groups; i++)
		gids[i] = who->groups[i].gid;
	/* Leaving uid 0 clears every capability; that it cannot be prevented was locked at the
	 * join. */
	if (setgroups(who->n_groups, gids) < 0 || setresgid(who->gid, who->gid, who->gid) < 0 ||
	    setresuid(who->uid, who->uid, who->uid) < 0)
		rc = sbx_fail(err, errno, "become %s: %s", who->name, strerror(errno));
	free(gids);
	if (rc == 0 && (getuid() != who->uid || geteuid() != who->uid || setresuid(0, 0, 0) == 0))
		rc = sbx_fail(err, EPERM, "become %s: not done", who->name);
	return rc;
}

static int place_stdio(const struct sbx_run_inside *inside, int slave_fd, struct sbx_err *err)
{
	if (slave_fd >= 0 && ioctl(slave_fd, TIOCSCTTY, 0) < 0)
		return sbx_fail(err, errno, "make it the terminal: %s", strerror(errno));
	for (int fd = 0; fd < 3; fd++) {
		/* Never the same number: 0 to 2 have been open all the time. */
		if (dup2(slave_fd >= 0 ? slave_fd : inside->stdio[fd], fd) < 0)
			return sbx_fail(err, errno, "dup2: %s", strerror(errno));
	}
	/* The rest is closed by exec; until then the control socket is needed. */
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return sbx_fail(err, errno, "close_range: %s", strerror(errno));
	return 0;
}

/*
 * As the user, in the sandbox's view, and never through a link of /proc to an open
 * descriptor or another process's directory: that would be the way out of
 * CVE-2024-21626.
 */
static int enter_directory(const char *path, struct sbx_err *err)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_MAGICLINKS};
	sbx_autoclose int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0 || fchdir(fd) < 0)
		return sbx_fail(err, errno, "directory '%s': %s", path,
				errno == ELOOP ? "reached by a link that is refused"
					       : strerror(errno));
	return 0;
}

/* execve(2), and what shells do with a script that does not begin with "#!". */
static void try_exec(const char *path, char *const *argv, char *const *env)
{
	size_t n = sbx_strv_length(argv);
	char **with_shell;

	(void)execve(path, argv, env);
	if (errno != ENOEXEC)
		return;
	with_shell = calloc(n + 2, sizeof(*with_shell));
	if (with_shell == NULL)
		return;
	with_shell[0] = strdup(FALLBACK_SHELL);
	with_shell[1] = strdup(path);
	for (size_t i = 1; i < n; i++)
		with_shell[i + 1] = argv[i];
	(void)execve(FALLBACK_SHELL, with_shell, env);
}

/* As execvp(3), but by the PATH of the environment that the command will have. */
static int search_and_exec(char *const *argv, char *const *env)
{
	const char *path = sbx_session_environment_get(env, "PATH");
	int worst = ENOENT;

	if (strchr(argv[0], '/') != NULL || argv[0][0] == '\0') {
		try_exec(argv[0], argv, env);
		return errno;
	}
	while (path != NULL) {
		sbx_autostr struct sbx_str candidate = {0};
		size_t length = strcspn(path, ":");

		sbx_str_addn(&candidate, path, length);
		sbx_str_addf(&candidate, "%s%s", length == 0 ? "." : "/", length == 0 ? "/" : "");
		sbx_str_add(&candidate, argv[0]);
		if (candidate.rc < 0)
			return ENOMEM;
		try_exec(candidate.text, argv, env);
		/* "Permission denied" counts only if it is nowhere else. */
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			return errno;
		if (errno == EACCES)
			worst = EACCES;
		path = path[length] == ':' ? path + length + 1 : NULL;
	}
	return worst;
}

static void exec_shell(const struct sbx_run *run, struct sbx_err *err)
{
	char dash_c[] = "-c";
	const char *base = strrchr(run->shell, '/');
	sbx_autostr struct sbx_str name = {0};
	char *string = run->string == NULL ? NULL : strdup(run->string);
	char *argv[4] = {NULL};

	/* A login shell's name begins with a dash. */
	sbx_str_addf(&name, "%s%s", run->string == NULL ? "-" : "",
		     base == NULL ? run->shell : base + 1);
	if (name.rc < 0 || (run->string != NULL && string == NULL)) {
		(void)sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
		return;
	}
	argv[0] = name.text;
	if (string != NULL) {
		argv[1] = dash_c;
		argv[2] = string;
	}
	(void)execve(run->shell, argv, run->env);
	(void)sbx_fail(err, errno, "%s: %s", run->shell, strerror(errno));
	free(string);
}

static int exec_status(int error)
{
	return error == ENOENT || error == ENOTDIR ? SBX_RUN_NOT_FOUND : SBX_RUN_CANNOT;
}

void sbx_run_command(const struct sbx_run *run, const struct sbx_run_inside *inside, int slave_fd)
{
	struct sbx_err err = {0};
	int rc = 0;

	/* A session and process group of its own, which signals can be sent to. */
	if (setsid() < 0)
		rc = sbx_fail(&err, errno, "setsid: %s", strerror(errno));
	set_oom_score("0");
	if (rc == 0)
		rc = place_stdio(inside, slave_fd, &err);
	if (rc == 0)
		rc = become(run->user->identity, &err);
	/* After the change of the uid, which clears it: nothing runs on without its supervisor. */
	if (rc == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		rc = sbx_fail(&err, errno, "prctl: %s", strerror(errno));
	(void)umask(022); /* the admin's may be anything */
	if (rc == 0)
		rc = enter_directory(run->cwd, &err);
	if (rc < 0)
		give_up(inside, SBX_RUN_FAILED, &err);
	sbx_signals_reset();
	if (run->argv == NULL) {
		exec_shell(run, &err);
	} else {
		int error = search_and_exec(run->argv, run->env);

		(void)sbx_fail(&err, error, "%s: %s", run->argv[0], strerror(error));
	}
	give_up(inside, exec_status(err.code), &err);
}

/* ----------------------------------------------------------------------- the supervisor */

struct supervisor {
	int control_fd;
	int signal_fd;	 /* SIGCHLD */
	int children_fd; /* /proc/self/task/TID/children */
	pid_t command;
	bool command_ended;
	int status; /* of the command, as wait(2) gives it */
	bool ending;
	int64_t deadline_ms; /* when to kill all that is left; -1 = not yet */
};

/* Returns false when there is no child left. */
static bool reap(struct supervisor *supervisor)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
			return true;
		if (pid < 0)
			return errno == EINTR;
		if (pid == supervisor->command) {
			supervisor->command_ended = true;
			supervisor->status = status;
		}
	}
}

static void kill_number(const char *digits, size_t length)
{
	long pid = 0;

	/* The kernel's own text; kill(2) takes nothing that is no child's number here. */
	for (size_t i = 0; i < length && pid < INT32_MAX / 10; i++)
		pid = pid * 10 + (digits[i] - '0');
	if (pid > 1)
		(void)kill((pid_t)pid, SIGKILL);
}

/*
 * KILL to each child: to those of the command, too, since orphans become ours. They are
 * not reaped meanwhile, so that none of these numbers can mean somebody else.
 */
static void kill_children(const struct supervisor *supervisor)
{
	char text[4096];
	size_t kept = 0;
	ssize_t n;

	if (lseek(supervisor->children_fd, 0, SEEK_SET) < 0)
		return;
	while ((n = read(supervisor->children_fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t end = kept + (size_t)n;
		size_t from = 0;

		for (size_t i = 0; i < end; i++) {
			if (text[i] != ' ')
				continue;
			kill_number(text + from, i - from);
			from = i + 1;
		}
		kept = end - from; /* a number that was cut */
		memmove(text, text + from, kept);
	}
}

/*
 * Round after round, until wait(2) says that no child is left: those who lose their
 * parent in one round are our own children in the next. A process that has been sent
 * KILL forks no more, and a round is shorter than a fork.
 */
static void kill_all(struct supervisor *supervisor)
{
	const int64_t until = now_ms() + KILL_WAIT_MS;

	while (reap(supervisor) && now_ms() < until) {
		static const struct timespec pause = {.tv_nsec = PAUSE_MS * NS_PER_MS};

		kill_children(supervisor);
		if (supervisor->command > 0 && !supervisor->command_ended)
			(void)kill(supervisor->command, SIGKILL);
		if (reap(supervisor))
			kill_children(supervisor);
		(void)nanosleep(&pause, NULL); /* cut short: just an earlier round */
	}
}

static void begin_to_end(struct supervisor *supervisor, int number, uint32_t grace_ms)
{
	supervisor->ending = true;
	supervisor->deadline_ms = now_ms() + grace_ms;
	if (supervisor->command_ended || number <= 0 || number >= NSIG)
		return;
	/* Not reaped yet, so the number is its own. It may not have come to its setsid(2). */
	if (kill(-supervisor->command, number) < 0)
		(void)kill(supervisor->command, number);
	(void)kill(-supervisor->command, SIGCONT); /* one that is stopped shall hear it */
}

static void hear(struct supervisor *supervisor)
{
	struct sbx_run_order order;
	size_t n_fds;

	if (sbx_message_receive(supervisor->control_fd, &order, sizeof(order), NULL, 0, &n_fds) ==
	    0) {
		begin_to_end(supervisor, order.signal, order.grace_ms);
		return;
	}
	/* sbxctl is gone. */
	sbx_closep(&supervisor->control_fd);
	begin_to_end(supervisor, SIGHUP, DROPPED_GRACE_MS);
}

static int time_left(const struct supervisor *supervisor)
{
	int64_t left;

	if (supervisor->deadline_ms < 0)
		return -1;
	left = supervisor->deadline_ms - now_ms();
	return left < 0 ? 0 : (int)left;
}

static void watch(struct supervisor *supervisor)
{
	while (reap(supervisor) && !supervisor->command_ended) {
		struct pollfd fds[] = {
		    {.fd = supervisor->control_fd, .events = POLLIN},
		    {.fd = supervisor->signal_fd, .events = POLLIN},
		};
		struct signalfd_siginfo info;

		if (poll(fds, 2, time_left(supervisor)) < 0)
			continue;
		if (fds[0].revents != 0)
			hear(supervisor);
		if (fds[1].revents != 0) {
			while (read(supervisor->signal_fd, &info, sizeof(info)) > 0)
				;
		}
		if (supervisor->deadline_ms >= 0 && time_left(supervisor) == 0)
			break;
	}
	if (supervisor->ending)
		kill_all(supervisor);
}

/*
 * Every signal waits: the keeper sends TERM to all of a sandbox that is to end, and the
 * command's end must still be reported.
 */
static int take_signals(struct supervisor *supervisor, struct sbx_err *err)
{
	sigset_t all;
	sigset_t chld;

	(void)sigfillset(&all);
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL); /* if it was ignored, nobody could be waited for */
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return sbx_fail(err, errno, "sigprocmask: %s", strerror(errno));
	supervisor->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (supervisor->signal_fd < 0)
		return sbx_fail(err, errno, "signalfd: %s", strerror(errno));
	return 0;
}

/* The sandbox's own /proc and /dev are root's, and nobody inside can change them. */
static int prepare(struct supervisor *supervisor, struct sbx_err *err)
{
	char path[64];

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "become a subreaper: %s", strerror(errno));
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid()); /* fits */
	supervisor->children_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (supervisor->children_fd < 0)
		return sbx_fail(err, errno, "open '%s': %s%s", path, strerror(errno),
				errno == ENOENT ? " (the kernel needs CONFIG_PROC_CHILDREN)" : "");
	return take_signals(supervisor, err);
}

static int open_terminal(const struct sbx_run *run, int control_fd, int *ret_slave_fd,
			 struct sbx_err *err)
{
	const struct sbx_run_report report = {.kind = SBX_RUN_REPORT_TERMINAL};
	sbx_autoclose int master_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	sbx_autoclose int slave_fd = -EBADF;
	int locked = 0;
	int rc;

	if (master_fd < 0)
		return sbx_fail(err, errno, "open '/dev/ptmx' in the sandbox: %s", strerror(errno));
	if (ioctl(master_fd, TIOCSPTLCK, &locked) < 0)
		return sbx_fail(err, errno, "unlock the terminal: %s", strerror(errno));
	slave_fd = ioctl(master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave_fd < 0 || fchown(slave_fd, run->user->identity->uid, (gid_t)-1) < 0)
		return sbx_fail(err, errno, "make a terminal: %s", strerror(errno));
	rc = sbx_message_send(control_fd, &report, sizeof(report), &master_fd, 1);
	if (rc < 0)
		return sbx_fail(err, -rc, "hand the terminal over: %s", strerror(-rc));
	*ret_slave_fd = sbx_take_fd(&slave_fd);
	return 0;
}

static int start(const struct sbx_run *run, const struct sbx_run_inside *inside,
		 struct supervisor *supervisor, struct sbx_err *err)
{
	sbx_autoclose int slave_fd = -EBADF;
	int rc = prepare(supervisor, err);

	if (rc == 0 && run->terminal)
		rc = open_terminal(run, inside->control_fd, &slave_fd, err);
	if (rc < 0)
		return rc;
	supervisor->command = fork();
	if (supervisor->command == 0)
		sbx_run_command(run, inside, slave_fd);
	if (supervisor->command < 0)
		return sbx_fail(err, errno, "fork: %s", strerror(errno));
	set_oom_score("-999");
	for (int i = 0; i < 3; i++) {
		if (inside->stdio[i] >= 0)
			(void)close(inside->stdio[i]); /* or their ends would not be seen */
	}
	return 0;
}

void sbx_run_supervise(const struct sbx_run *run, const struct sbx_run_inside *inside)
{
	struct supervisor supervisor = {.control_fd = inside->control_fd,
					.signal_fd = -EBADF,
					.children_fd = -EBADF,
					.deadline_ms = -1};
	struct sbx_run_report report = {.kind = SBX_RUN_REPORT_ENDED};
	int rc = start(run, inside, &supervisor, &report.err);

	sbx_session_environment_free(run->env); /* the command has its own copy of the secrets */
	/* From here on it does what the keeper does, and may do no more. */
	if (rc == 0)
		rc = sbx_confine_keeper(&report.err);
	if (rc < 0) {
		sbx_run_report_failure(inside->control_fd, SBX_RUN_FAILED, &report.err);
		supervisor.ending = true;
		if (supervisor.command > 0)
			kill_all(&supervisor);
		_exit(1);
	}
	watch(&supervisor);
	report.status = supervisor.command_ended ? supervisor.status : SIGKILL;
	if (supervisor.control_fd >= 0)
		(void)sbx_message_send(supervisor.control_fd, &report, sizeof(report), NULL, 0);
	_exit(0);
}
