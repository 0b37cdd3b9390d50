/* SPDX-License-Identifier: MIT */
#include "shell/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void sbx_relay_prepare(struct sbx_relay *relay, bool interactive)
{
	int n_terminals = 0;
	int tty_fd = -EBADF;

	relay->tty_fd = -EBADF;
	relay->hand_over = false;
	relay->in_front = false;
	relay->own_group = getpgrp();
	for (int fd = 2; fd >= 0; fd--) {
		/* Only our controlling terminal has a foreground group that we may know. */
		if (isatty(fd) == 0 || tcgetpgrp(fd) < 0)
			continue;
		n_terminals++;
		tty_fd = fd;
	}
	if (n_terminals == 0)
		return;
	/* A copy: the command may do to descriptors 0 to 2 of its own what it likes, not to ours.
	 */
	relay->tty_fd = fcntl(tty_fd, F_DUPFD_CLOEXEC, 3);
	if (relay->tty_fd < 0 || tcgetpgrp(relay->tty_fd) != relay->own_group)
		return;
	relay->hand_over = interactive || (n_terminals == 3 && relay->own_group == getpid());
}

void sbx_relay_child(const struct sbx_relay *relay)
{
	if (!relay->hand_over)
		return;
	(void)setpgid(0, 0); /* the parent does both too: whoever comes first */
	(void)tcsetpgrp(relay->tty_fd, getpgrp());
}

/* SIGTTOU is blocked, so that it does not matter who has the foreground now. */
static void give_terminal(struct sbx_relay *relay, pid_t group)
{
	(void)tcsetpgrp(relay->tty_fd, group); /* EPERM: a group that has just ended */
	relay->in_front = group != relay->own_group;
}

static bool has_terminal(const struct sbx_relay *relay, pid_t group)
{
	return relay->tty_fd >= 0 && tcgetpgrp(relay->tty_fd) == group;
}

/*
 * A shell around us takes the foreground when it sees us stopped. Ctrl-Z comes by way of the
 * command, so that we know of it; a SIGSTOP that somebody sends to us alone does not.
 */
static bool shell_around_has_terminal(const struct sbx_relay *relay)
{
	pid_t group = tcgetpgrp(relay->tty_fd);

	return group != relay->own_group &&
	       (group == getpgid(getppid()) || group == getpgid(getsid(0)));
}

/* Stop with the signal that stopped the command. Returns whether SIGCONT has ended that. */
static bool stop_self(int signal_number)
{
	static const struct timespec now = {0};
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t set;
	sigset_t cont;

	/*
	 * SIGSTOP would also stop a process group that nobody can continue, such as that of
	 * a login's first process; SIGTSTP leaves that one alone.
	 */
	if (signal_number == SIGSTOP)
		signal_number = SIGTSTP;
	(void)sigaction(signal_number, &action, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, signal_number);
	(void)kill(getpid(), signal_number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)sigemptyset(&cont);
	(void)sigaddset(&cont, SIGCONT);
	return sigtimedwait(&cont, NULL, &now) == SIGCONT;
}

static void continue_child(struct sbx_relay *relay, pid_t child)
{
	pid_t group = getpgid(child);

	if (group < 0)
		return;
	if (group != relay->own_group && has_terminal(relay, relay->own_group))
		give_terminal(relay, group);
	(void)kill(group != relay->own_group ? -group : child, SIGCONT);
}

static void mirror_stop(struct sbx_relay *relay, pid_t child, int signal_number)
{
	pid_t group = getpgid(child);
	bool had_terminal = group > 0 && group != relay->own_group && has_terminal(relay, group);
	bool continued;

	if (had_terminal)
		give_terminal(relay, relay->own_group);
	continued = stop_self(signal_number);
	/*
	 * Not stopped: there is nobody who could continue us (a login's first process), so the
	 * command goes on as well. Who was stopped by SIGSTOP, or has no terminal to read
	 * from, waits until somebody continues it.
	 */
	if (continued || (signal_number != SIGSTOP && had_terminal))
		continue_child(relay, child);
}

/* Returns true when the child has ended. */
static bool look_after(struct sbx_relay *relay, pid_t child, int *ret_status)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(child, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			mirror_stop(relay, child, WSTOPSIG(status));
			continue;
		}
		*ret_status = status;
		return true;
	}
	if (pid < 0 && errno == ECHILD) {
		*ret_status = 0; /* cannot be: SIGCHLD is not ignored */
		return true;
	}
	return false;
}

/* What the terminal sends goes to its foreground group, and the command is in there itself. */
static bool reached_child_too(const struct sbx_relay *relay, pid_t child, const siginfo_t *info)
{
	return info->si_code == SI_KERNEL && info->si_signo != SIGHUP &&
	       getpgid(child) == relay->own_group;
}

static void pass_on(struct sbx_relay *relay, pid_t child, const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGCHLD:
	case SIGWINCH: /* the foreground group has got it from the kernel */
	case SIGURG:
	case SIGTTIN:
	case SIGTTOU:
		return;
	case SIGCONT:
		continue_child(relay, child);
		return;
	default:
		if (!reached_child_too(relay, child, info))
			(void)kill(child, info->si_signo); /* ESRCH: it has just ended */
	}
	/* A hang-up reaches who is stopped only if it goes on, as the kernel has it. */
	if (info->si_signo == SIGHUP)
		(void)kill(child, SIGCONT);
}

int sbx_relay_wait(struct sbx_relay *relay, pid_t child)
{
	sigset_t all;
	siginfo_t info;
	int status = 0;

	(void)sigfillset(&all);
	if (relay->hand_over) {
		(void)setpgid(child, child); /* EACCES: it has done so itself and exec'ed */
		give_terminal(relay, child);
	}
	while (!look_after(relay, child, &status)) {
		if (sigwaitinfo(&all, &info) > 0)
			pass_on(relay, child, &info);
	}
	/*
	 * Whoever comes next, perhaps a script around us, expects the foreground to be as it
	 * was. But put into the background meanwhile we must not take it from a shell, which
	 * would then read an end of file and exit.
	 */
	if (relay->in_front && !shell_around_has_terminal(relay))
		give_terminal(relay, relay->own_group);
	return status;
}

_Noreturn void sbx_relay_end(int status)
{
	static const struct rlimit none = {0};
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t set;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	/* Our core would say nothing about the command's. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)sigaction(WTERMSIG(status), &action, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, WTERMSIG(status));
	(void)kill(getpid(), WTERMSIG(status));
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + WTERMSIG(status)); /* not reached, unless the signal does not end anybody */
}
