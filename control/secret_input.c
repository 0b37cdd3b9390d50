/* SPDX-License-Identifier: MIT */
#include "control/secret_input.h"

#include "base/fd.h"
#include "base/str.h"
#include "config/environment_file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4095 /* longer ones a terminal cuts off without a word, termios(3) */
#define PASTE_PAUSE_MS 50
#define BUFFER_BYTES (SBX_ENVIRONMENT_VALUE_MAX + 2) /* room to notice that it is too long */

int sbx_secret_protect(struct sbx_err *err)
{
	const struct rlimit none = {0};

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return sbx_fail(err, errno, "forbid core dumps: %s", strerror(errno));
	return 0;
}

size_t sbx_secret_length(const char *text, size_t length, bool raw)
{
	const char *newline = memchr(text, '\n', length);

	if (raw || newline == NULL || newline != text + length - 1)
		return length;
	length--;
	return length > 0 && text[length - 1] == '\r' ? length - 1 : length;
}

/* A buffer of fixed size: one that grows leaves copies behind. */
static int read_all(char *buffer, size_t *ret_length, struct sbx_err *err)
{
	size_t length = 0;

	while (length < BUFFER_BYTES) {
		ssize_t n = read(STDIN_FILENO, buffer + length, BUFFER_BYTES - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail(err, errno, "standard input: %s", strerror(errno));
		if (n == 0)
			break;
		length += (size_t)n;
	}
	*ret_length = length;
	return 0;
}

/* ------------------------------------------------------------------ the terminal */

/*
 * While echo is off, signals come through a descriptor: a terminal whose echo stays off
 * after Ctrl-C is a nuisance, and after Ctrl-Z and fg the question has to be asked again.
 */
struct asking {
	struct termios saved;
	sigset_t signals;
	sigset_t saved_mask;
	int signal_fd;
	const char *prompt;
};

static int hide(struct asking *asking)
{
	struct termios hidden;

	if (sigprocmask(SIG_BLOCK, &asking->signals, &asking->saved_mask) < 0 ||
	    tcgetattr(STDIN_FILENO, &asking->saved) < 0)
		return -errno;
	hidden = asking->saved;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	hidden.c_lflag |= ICANON | ECHONL;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) < 0)
		return -errno;
	return sbx_write_all(STDERR_FILENO, asking->prompt, strlen(asking->prompt));
}

/* With TCSAFLUSH what was typed and not read is dropped: it must not reach a shell. */
static void show(const struct asking *asking)
{
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &asking->saved); /* nothing else can be tried */
	(void)sigprocmask(SIG_SETMASK, &asking->saved_mask, NULL);
}

/* 1: a line can be read, 0: stopped and continued, ask again; or it does not return. */
static int wait_for_line(struct asking *asking)
{
	struct pollfd fds[] = {
	    {.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = asking->signal_fd, .events = POLLIN},
	};
	struct signalfd_siginfo info;

	while (poll(fds, 2, -1) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if ((fds[1].revents & POLLIN) == 0)
		return 1;
	if (read(asking->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return -EIO;
	show(asking);
	(void)sbx_write_all(STDERR_FILENO, "\n", 1); /* for looks only */
	(void)raise((int)info.ssi_signo);
	/* Continued, or the signal is ignored. */
	return 0;
}

static int read_line(struct asking *asking, char *buffer, size_t *ret_length, struct sbx_err *err)
{
	struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;
	int rc;

	do {
		rc = hide(asking);
		if (rc == 0)
			rc = wait_for_line(asking);
	} while (rc == 0);
	if (rc < 0) {
		show(asking);
		return sbx_fail(err, -rc, "terminal: %s", strerror(-rc));
	}
	n = read(STDIN_FILENO, buffer, LINE_MAX_BYTES + 1);
	rc = n < 0 ? -errno : poll(&more, 1, PASTE_PAUSE_MS);
	show(asking);
	if (rc < 0)
		return sbx_fail(err, -rc, "terminal: %s", strerror(-rc));
	if (rc > 0)
		return sbx_fail(err, EINVAL,
				"that was more than one line; give such a value by '<FILE'");
	if (n >= LINE_MAX_BYTES)
		return sbx_fail(err, EINVAL,
				"a terminal passes on no line that long; give it by '<FILE'");
	*ret_length = (size_t)n;
	return 0;
}

static int ask(const char *prompt, char *buffer, size_t *ret_length, struct sbx_err *err)
{
	struct asking asking = {.prompt = prompt, .signal_fd = -EBADF};
	int rc;

	if (sigemptyset(&asking.signals) < 0 || sigaddset(&asking.signals, SIGINT) < 0 ||
	    sigaddset(&asking.signals, SIGQUIT) < 0 || sigaddset(&asking.signals, SIGTERM) < 0 ||
	    sigaddset(&asking.signals, SIGHUP) < 0 || sigaddset(&asking.signals, SIGTSTP) < 0)
		return sbx_fail(err, errno, "signals: %s", strerror(errno));
	asking.signal_fd = signalfd(-1, &asking.signals, SFD_CLOEXEC);
	if (asking.signal_fd < 0)
		return sbx_fail(err, errno, "signals: %s", strerror(errno));
	rc = read_line(&asking, buffer, ret_length, err);
	sbx_closep(&asking.signal_fd);
	return rc;
}

/* ------------------------------------------------------------------ both */

static int check(const char *buffer, size_t length, bool raw, struct sbx_err *err)
{
	if (length == 0 && !raw)
		return sbx_fail(err, ENODATA, "no value came; --raw accepts an empty one");
	if (memchr(buffer, '\0', length) != NULL)
		return sbx_fail(err, EINVAL,
				"the value has a NUL byte, which no variable can hold");
	if (length > SBX_ENVIRONMENT_VALUE_MAX)
		return sbx_fail(err, E2BIG, "the value is longer than 64 KiB");
	return 0;
}

int sbx_secret_read(const char *prompt, bool raw, char **ret_value, struct sbx_err *err)
{
	char *buffer = malloc(BUFFER_BYTES + 1);
	size_t length = 0;
	int rc;

	if (buffer == NULL)
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	rc = isatty(STDIN_FILENO) == 1 ? ask(prompt, buffer, &length, err)
				       : read_all(buffer, &length, err);
	if (rc == 0) {
		/* A terminal's line end is never meant. */
		length = sbx_secret_length(buffer, length, raw && isatty(STDIN_FILENO) != 1);
		rc = check(buffer, length, raw, err);
	}
	if (rc < 0) {
		explicit_bzero(buffer, BUFFER_BYTES);
		free(buffer);
		return rc;
	}
	/* Behind a shorter value there may be the rest of its line end only. */
	buffer[length] = '\0';
	*ret_value = buffer;
	return 0;
}
