/* SPDX-License-Identifier: MIT */
#ifndef SBX_RUN_H
#define SBX_RUN_H

#include "base/err.h"
#include "base/str.h"
#include "control/user.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Run a command in a user's sandbox and look after it from the host:
 *
 *   host                               │ sandbox
 *   sbxctl (root, host view) ── fork ──┼▶ joins, forks and ends
 *     │ relays, keeps time             │     └─▶ supervisor (root, no capability but KILL)
 *     │◀═══════ control socket ════════╪═════════▶ │ fork
 *     │◀─────── pipes, or pty ─────────┼───────────┼──▶ command (the user)
 *
 * The supervisor is a child subreaper: whatever the command starts, however often it
 * forks or calls setsid(2), comes to the supervisor when its parent dies, and can be
 * killed to the last one. When the control socket is closed, because sbxctl was killed,
 * it does so by itself. After a normal end it just ends, and what the command left
 * running goes on, as a child of the keeper.
 *
 * The command never gets a descriptor of sbxctl's caller: bytes are relayed. So what it
 * leaves running holds no pipe of the caller's open, and no terminal.
 */

enum sbx_run_format {
	SBX_RUN_PLAIN,	/* output to standard output and error, as it comes */
	SBX_RUN_FRAMES, /* to standard output, a JSON object a line, as it comes */
	SBX_RUN_JSON,	/* kept, for one JSON object at the end */
};

struct sbx_run {
	const struct sbx_user *user;
	char **env;	     /* of the command; overwritten where it is not needed any more */
	const char *shell;   /* absolute */
	char *const *argv;   /* NULL: a shell, see 'string' */
	const char *string;  /* for shell -c; NULL: a login shell that reads its input */
	const char *cwd;     /* absolute, inside */
	bool terminal;	     /* give it one of its own */
	uint64_t timeout_ms; /* 0: none */
	enum sbx_run_format format;
	size_t capture_max; /* JSON: bytes of each stream that are kept */
};

struct sbx_run_result {
	int failure; /* 0, or the exit status for a command that could not be run; 'err' says why */
	int code;    /* exit status, if signal is 0 */
	int signal;  /* that killed it; 0: none */
	bool timed_out;
	bool lost; /* the sandbox ended, or began to end, under it */
	bool out_of_memory;
	struct sbx_str out; /* JSON */
	struct sbx_str err_out;
	bool out_truncated;
	bool err_truncated;
	struct sbx_err err;
};

/* Run it to its end. ret_result: caller ends it with sbx_run_result_done(). */
void sbx_run(const struct sbx_run *run, struct sbx_run_result *ret_result);
void sbx_run_result_done(struct sbx_run_result *result);

/* What sbxctl exec ends with: the command's status, 128+n, 124 timed out, 125 to 127. */
int sbx_run_exit_status(const struct sbx_run_result *result);

/* "SIGKILL" for 9; "SIG40" for what has no name here. ret_name: at least 16 bytes. */
void sbx_signal_name(int number, char *ret_name, size_t size);

/* ------------------------------------------------------- between the parts of it, run_*.c */

#define SBX_RUN_FAILED 125 /* not the command's fault */
#define SBX_RUN_CANNOT 126 /* found, but cannot be run */
#define SBX_RUN_NOT_FOUND 127

/* To the supervisor. */
struct sbx_run_order {
	int32_t signal;	   /* first to the command's process group */
	uint32_t grace_ms; /* then KILL to all that it started */
};

enum sbx_run_report_kind {
	SBX_RUN_REPORT_TERMINAL = 1, /* with the master's descriptor */
	SBX_RUN_REPORT_FAILED = 2,   /* the command was not run: status, message */
	SBX_RUN_REPORT_ENDED = 3,    /* wait(2)'s status */
};

struct sbx_run_report {
	int32_t kind;
	int32_t status;
	struct sbx_err err;
};

/* Ends of the pipes that the command gets. */
struct sbx_run_inside {
	int control_fd;
	int stdio[3]; /* unused with a terminal */
};

/*
 * In a process that has just joined: become the supervisor, start the command, see it to
 * its end. Does not return.
 */
void sbx_run_supervise(const struct sbx_run *run, const struct sbx_run_inside *inside)
    __attribute__((noreturn));

/* In the process that is to become the command. Does not return. slave_fd: < 0 for none. */
void sbx_run_command(const struct sbx_run *run, const struct sbx_run_inside *inside, int slave_fd)
    __attribute__((noreturn));

/* Say over the control socket that the command could not be run. */
void sbx_run_report_failure(int control_fd, int status, const struct sbx_err *err);

/* Ends of the pipes that sbxctl keeps. Closed by sbx_run_relay(). */
struct sbx_run_outside {
	int control_fd;
	int in_fd;  /* the command's standard input */
	int out_fd; /* its output */
	int err_fd;
	int signal_fd;
};

/* Carry bytes both ways, keep time and hand on signals until the command has ended. */
void sbx_run_relay(const struct sbx_run *run, struct sbx_run_outside *outside,
		   struct sbx_run_result *result);

#endif
