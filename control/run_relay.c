/* SPDX-License-Identifier: MIT */
/* Between the command and sbxctl's caller: bytes, time and signals. */
#include "base/fd.h"
#include "control/json_text.h"
#include "control/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_BYTES 49152 /* a multiple of 3: frames join to the base64 of the whole */
/*
 * poll(2) says of a pipe that so much can be written without waiting. More would hold up
 * everything else, the timeout among it, when the caller does not read.
 */
#define WRITE_BYTES 4096
/* What may be in a pipe or terminal when the command has ended. */
#define DRAIN_BYTES ((size_t)128 * 1024)
#define DRAIN_TERMINAL_MS 100 /* its output arrives a moment later */
#define TIMEOUT_GRACE_MS 500  /* TERM to KILL */
#define SIGNAL_GRACE_MS 2000
#define DROPPED_GRACE_MS 500
#define LOST_MS 7000 /* after the grace: the supervisor should have answered long ago */
#define MS_PER_S 1000
#define END_OF_TRANSMISSION 4

/* Bytes on their way to somebody who may be slow. */
struct sink {
	int fd; /* -EBADF: broken, or there is none */
	struct sbx_str text;
	size_t sent;
};

struct source {
	int fd; /* of the command; -EBADF at its end */
	const char *kind;
	struct sink *sink;	  /* PLAIN, FRAMES */
	struct sbx_str *captured; /* JSON */
	bool *truncated;
	size_t drained; /* bytes since the command ended */
};

enum { OUT, ERR, N_STREAMS };
enum {
	POLL_CONTROL,
	POLL_SIGNALS,
	POLL_STDIN,
	POLL_COMMAND_STDIN,
	POLL_SOURCES,
	POLL_SINKS = POLL_SOURCES + N_STREAMS,
	N_POLL = POLL_SINKS + N_STREAMS
};

struct relay {
	const struct sbx_run *run;
	struct sbx_run_outside *outside;
	struct sbx_run_result *result;
	struct source sources[N_STREAMS];
	struct sink sinks[N_STREAMS];
	struct sink input; /* to the command */
	bool input_ended;
	bool ended;
	bool ordered; /* the supervisor was told to end it */
	bool terminal_raw;
	struct termios terminal_before;
	int64_t deadline_ms; /* the timeout; -1 = none (any more) */
	int64_t lost_ms;     /* when to wait no longer; -1 = ever */
	int64_t drained_ms;  /* until when the terminal may still say something */
};

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

/* -------------------------------------------------------------------------------- ending */

static void order_end(struct relay *relay, int number, unsigned int grace_ms)
{
	const struct sbx_run_order order = {.signal = number, .grace_ms = grace_ms};

	if (relay->outside->control_fd < 0)
		return;
	/* It does not answer: then lost_ms passes. */
	(void)sbx_message_send(relay->outside->control_fd, &order, sizeof(order), NULL, 0);
	relay->ordered = true;
	relay->lost_ms = now_ms() + (int64_t)grace_ms + LOST_MS;
}

/* Nobody hears any more what it says. */
static void dropped(struct relay *relay)
{
	if (!relay->ordered && !relay->ended)
		order_end(relay, SIGHUP, DROPPED_GRACE_MS);
}

static void command_ended(struct relay *relay, int status)
{
	struct sbx_run_result *result = relay->result;

	relay->ended = true;
	relay->deadline_ms = -1;
	relay->lost_ms = -1;
	relay->drained_ms = now_ms() + (relay->run->terminal ? DRAIN_TERMINAL_MS : 0);
	if (WIFSIGNALED(status))
		result->signal = WTERMSIG(status);
	else
		result->code = WEXITSTATUS(status);
	sbx_closep(&relay->outside->control_fd);
	sbx_closep(&relay->input.fd);
}

/* The supervisor is gone without a word: killed with the whole sandbox. */
static void command_lost(struct relay *relay)
{
	relay->result->lost = relay->result->failure == 0 && !relay->result->timed_out;
	command_ended(relay, SIGKILL);
}

/* ---------------------------------------------------------------------------- terminal */

static void resize(const struct relay *relay)
{
	struct winsize size;

	if (relay->run->terminal && relay->sources[OUT].fd >= 0 &&
	    ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		(void)ioctl(relay->sources[OUT].fd, TIOCSWINSZ, &size); /* then it keeps its size */
}

/* The caller's terminal hands every key on: Ctrl-C acts in the sandbox's. */
static void make_raw(struct relay *relay)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &relay->terminal_before) < 0)
		return; /* not a terminal: bytes are carried all the same */
	raw = relay->terminal_before;
	cfmakeraw(&raw);
	relay->terminal_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void take_terminal(struct relay *relay, int master_fd)
{
	relay->input.fd = dup(master_fd);
	if (relay->input.fd >= 0)
		(void)fcntl(relay->input.fd, F_SETFD, FD_CLOEXEC); /* cannot fail */
	relay->sources[OUT].fd = master_fd;
	resize(relay);
	make_raw(relay);
}

/* -------------------------------------------------------------------- control, signals */

static void hear_supervisor(struct relay *relay)
{
	struct sbx_run_report report;
	int fd = -EBADF;
	size_t n_fds = 0;

	if (sbx_message_receive(relay->outside->control_fd, &report, sizeof(report), &fd, 1,
				&n_fds) < 0) {
		command_lost(relay);
		return;
	}
	switch (report.kind) {
	case SBX_RUN_REPORT_TERMINAL:
		if (n_fds == 1)
			take_terminal(relay, fd);
		return;
	case SBX_RUN_REPORT_FAILED:
		report.err.msg[sizeof(report.err.msg) - 1] = '\0';
		relay->result->failure = report.status;
		relay->result->err = report.err;
		return;
	case SBX_RUN_REPORT_ENDED:
		command_ended(relay, report.status);
		return;
	default:
		command_lost(relay);
		return;
	}
}

static void hear_signals(struct relay *relay)
{
	struct signalfd_siginfo info;

	while (read(relay->outside->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			resize(relay);
		else if (relay->ordered)
			order_end(relay, SIGKILL, 0); /* the second time: impatience */
		else if (!relay->ended)
			order_end(relay, (int)info.ssi_signo, SIGNAL_GRACE_MS);
	}
}

static void keep_time(struct relay *relay)
{
	const int64_t now = now_ms();

	if (relay->deadline_ms >= 0 && now >= relay->deadline_ms) {
		relay->deadline_ms = -1;
		relay->result->timed_out = true;
		order_end(relay, SIGTERM, TIMEOUT_GRACE_MS);
	}
	if (relay->lost_ms >= 0 && now >= relay->lost_ms)
		command_lost(relay);
}

/* ------------------------------------------------------------------------------- output */

static void add_frame(struct sink *sink, const char *kind, const char *bytes, size_t n_bytes)
{
	sbx_str_addf(&sink->text, "{\"kind\":\"%s\",\"data\":\"", kind);
	sbx_base64_add(&sink->text, bytes, n_bytes);
	sbx_str_add(&sink->text, "\"}\n");
}

static void capture(const struct relay *relay, struct source *source, const char *bytes,
		    size_t n_bytes)
{
	size_t room = relay->run->capture_max - source->captured->length;

	if (n_bytes > room) {
		*source->truncated = true;
		n_bytes = room;
	}
	sbx_str_addn(source->captured, bytes, n_bytes);
}

static void take_output(struct relay *relay, struct source *source)
{
	static char chunk[CHUNK_BYTES];
	ssize_t n = read(source->fd, chunk, sizeof(chunk));

	if (n < 0 && errno == EINTR)
		return;
	if (n < 0 && errno == EAGAIN) {
		/* After the end, what others that hold the pipe may write later is not waited for.
		 */
		if (relay->ended && now_ms() >= relay->drained_ms)
			sbx_closep(&source->fd);
		return;
	}
	if (n <= 0) { /* EIO is a terminal's way to say it */
		sbx_closep(&source->fd);
		return;
	}
	if (source->captured != NULL)
		capture(relay, source, chunk, (size_t)n);
	else if (source->sink->fd < 0)
		return; /* nobody reads it */
	else if (relay->run->format == SBX_RUN_FRAMES)
		add_frame(source->sink, source->kind, chunk, (size_t)n);
	else
		sbx_str_addn(&source->sink->text, chunk, (size_t)n);
	if (relay->ended) {
		source->drained += (size_t)n;
		if (source->drained >= DRAIN_BYTES)
			sbx_closep(&source->fd);
	}
}

static bool pending(const struct sink *sink) { return sink->sent < sink->text.length; }

/* Returns false when nobody reads any more. */
static bool flush_some(struct sink *sink)
{
	size_t left = sink->text.length - sink->sent;
	ssize_t n =
	    write(sink->fd, sink->text.text + sink->sent, left < WRITE_BYTES ? left : WRITE_BYTES);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	sink->sent += (size_t)n;
	if (!pending(sink))
		sink->text.length = sink->sent = 0;
	return true;
}

static void break_sink(struct sink *sink)
{
	sink->fd = -EBADF; /* 1 and 2 are not ours to close */
	sink->text.length = sink->sent = 0;
}

/*
 * Standard output or error has lost its reader. In the plain format the command sees
 * that on its own pipe, as it would without us between; when nobody hears anything any
 * more, or the frames, it ends.
 */
static void lose_sink(struct relay *relay, int which)
{
	break_sink(&relay->sinks[which]);
	if (relay->run->format == SBX_RUN_PLAIN && !relay->run->terminal)
		sbx_closep(&relay->sources[which].fd);
	if (relay->run->format != SBX_RUN_PLAIN || relay->run->terminal ||
	    (relay->sinks[OUT].fd < 0 && relay->sinks[ERR].fd < 0))
		dropped(relay);
}

/* -------------------------------------------------------------------------------- input */

static void end_input(struct relay *relay)
{
	static const char end = END_OF_TRANSMISSION;

	relay->input_ended = true;
	/* A terminal has no end of file, but a key for it. */
	if (relay->run->terminal)
		sbx_str_addn(&relay->input.text, &end, 1);
	else
		sbx_closep(&relay->input.fd);
}

static void take_input(struct relay *relay)
{
	char chunk[CHUNK_BYTES / 3];
	ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		end_input(relay);
	else
		sbx_str_addn(&relay->input.text, chunk, (size_t)n);
}

static void close_input(struct relay *relay)
{
	sbx_closep(&relay->input.fd);
	relay->input.text.length = relay->input.sent = 0;
	relay->input_ended = true;
}

/* ----------------------------------------------------------------------------- the loop */

static bool finished(const struct relay *relay)
{
	if (!relay->ended)
		return false;
	for (int i = 0; i < N_STREAMS; i++) {
		if (relay->sources[i].fd >= 0 ||
		    (relay->sinks[i].fd >= 0 && pending(&relay->sinks[i])))
			return false;
	}
	return true;
}

static bool wants_output(const struct source *source)
{
	return source->captured != NULL || !pending(source->sink);
}

static int poll_timeout(const struct relay *relay)
{
	int64_t until = -1;
	int64_t left;

	if (relay->deadline_ms >= 0)
		until = relay->deadline_ms;
	if (relay->lost_ms >= 0 && (until < 0 || relay->lost_ms < until))
		until = relay->lost_ms;
	if (relay->ended) {
		/* Is something left in the pipes? Looked at once, or for a terminal's moment. */
		for (int i = 0; i < N_STREAMS; i++) {
			if (relay->sources[i].fd >= 0 && wants_output(&relay->sources[i]))
				until = relay->drained_ms;
		}
	}
	if (until < 0)
		return -1;
	left = until - now_ms();
	if (left < 0)
		return 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

static void set(struct pollfd *poll_fd, int fd, short events)
{
	*poll_fd = (struct pollfd){.fd = fd, .events = events};
}

static void fill_poll(const struct relay *relay, struct pollfd *fds)
{
	const bool input_full = pending(&relay->input);

	set(&fds[POLL_CONTROL], relay->outside->control_fd, POLLIN);
	set(&fds[POLL_SIGNALS], relay->outside->signal_fd, POLLIN);
	set(&fds[POLL_STDIN],
	    !relay->input_ended && relay->input.fd >= 0 && !input_full ? STDIN_FILENO : -1, POLLIN);
	/* Without events: only to see that it reads no more. */
	set(&fds[POLL_COMMAND_STDIN], relay->input.fd, input_full ? POLLOUT : 0);
	for (int i = 0; i < N_STREAMS; i++) {
		const struct source *source = &relay->sources[i];
		const struct sink *sink = &relay->sinks[i];

		set(&fds[POLL_SOURCES + i],
		    source->fd >= 0 && wants_output(source) ? source->fd : -1, POLLIN);
		set(&fds[POLL_SINKS + i], sink->fd, pending(sink) ? POLLOUT : 0);
	}
}

static void serve_input(struct relay *relay, const struct pollfd *fds)
{
	const short command = fds[POLL_COMMAND_STDIN].revents;

	if (fds[POLL_STDIN].revents != 0)
		take_input(relay);
	if (relay->input.fd < 0 || command == 0)
		return;
	if ((command & POLLOUT) != 0 && pending(&relay->input)) {
		if (!flush_some(&relay->input))
			close_input(relay);
	} else if ((command & (POLLERR | POLLHUP)) != 0) {
		close_input(relay);
	}
}

static void serve_output(struct relay *relay, const struct pollfd *fds)
{
	for (int i = 0; i < N_STREAMS; i++) {
		const short sink = fds[POLL_SINKS + i].revents;
		struct source *source = &relay->sources[i];

		if (source->fd >= 0 &&
		    (fds[POLL_SOURCES + i].revents != 0 ||
		     (relay->ended && wants_output(source) && now_ms() >= relay->drained_ms)))
			take_output(relay, source);
		if (relay->sinks[i].fd < 0 || sink == 0)
			continue;
		if ((sink & (POLLERR | POLLHUP | POLLNVAL)) != 0 ||
		    ((sink & POLLOUT) != 0 && pending(&relay->sinks[i]) &&
		     !flush_some(&relay->sinks[i])))
			lose_sink(relay, i);
	}
}

static void serve(struct relay *relay)
{
	struct pollfd fds[N_POLL];

	fill_poll(relay, fds);
	if (poll(fds, N_POLL, poll_timeout(relay)) < 0)
		return; /* EINTR */
	if (fds[POLL_SIGNALS].revents != 0)
		hear_signals(relay);
	serve_input(relay, fds);
	serve_output(relay, fds);
	/* Last: what came before its end is read already, or found afterwards. */
	if (fds[POLL_CONTROL].revents != 0 && relay->outside->control_fd >= 0)
		hear_supervisor(relay);
	keep_time(relay);
}

static void set_up(struct relay *relay)
{
	const struct sbx_run *run = relay->run;
	struct sbx_run_result *result = relay->result;
	struct source *out = &relay->sources[OUT];
	struct source *err = &relay->sources[ERR];

	*out = (struct source){.fd = sbx_take_fd(&relay->outside->out_fd), .kind = "stdout"};
	*err = (struct source){.fd = sbx_take_fd(&relay->outside->err_fd), .kind = "stderr"};
	relay->input.fd = sbx_take_fd(&relay->outside->in_fd);
	/* With JSON nothing is written there before the end, but it is seen when the reader goes.
	 */
	relay->sinks[OUT].fd = STDOUT_FILENO;
	relay->sinks[ERR].fd = run->format == SBX_RUN_PLAIN ? STDERR_FILENO : -EBADF;
	out->sink = &relay->sinks[OUT];
	err->sink = &relay->sinks[run->format == SBX_RUN_FRAMES ? OUT : ERR];
	if (run->format == SBX_RUN_JSON) {
		out->captured = &result->out;
		out->truncated = &result->out_truncated;
		err->captured = &result->err_out;
		err->truncated = &result->err_truncated;
	}
}

void sbx_run_relay(const struct sbx_run *run, struct sbx_run_outside *outside,
		   struct sbx_run_result *result)
{
	struct relay relay = {
	    .run = run, .outside = outside, .result = result, .deadline_ms = -1, .lost_ms = -1};

	if (run->timeout_ms > 0)
		relay.deadline_ms = now_ms() + (int64_t)run->timeout_ms;
	set_up(&relay);
	while (!finished(&relay))
		serve(&relay);
	if (relay.terminal_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN,
				&relay.terminal_before); /* all one can do */
	for (int i = 0; i < N_STREAMS; i++) {
		if ((relay.sinks[i].text.rc < 0 ||
		     (relay.sources[i].captured != NULL && relay.sources[i].captured->rc < 0)) &&
		    result->failure == 0) {
			result->failure = SBX_RUN_FAILED;
			(void)sbx_fail(&result->err, ENOMEM, "output lost: %s", strerror(ENOMEM));
		}
		sbx_str_done(&relay.sinks[i].text);
	}
	sbx_str_done(&relay.input.text);
}
