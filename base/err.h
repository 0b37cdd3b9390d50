/* SPDX-License-Identifier: MIT */
#ifndef SBX_ERR_H
#define SBX_ERR_H

/*
 * An error as a value. The buffer is fixed so that running out of memory can
 * still be reported, and so that the whole object can cross a socket.
 */
struct sbx_err {
	int code;      /* errno value, > 0; 0 = no error recorded */
	char msg[512]; /* one line: what, on which object, why; no newline */
};

/*
 * Record an error and return -code.
 * err   may be NULL; overwritten otherwise
 * code  errno value; 0 is turned into EIO so that a failure never reads as success
 * fmt   the message, one line; control characters are replaced by '?', because
 *       messages quote paths that a hostile user may have chosen
 */
int sbx_fail(struct sbx_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Put context in front of the message already recorded: "context: message".
 * Returns 'rc' unchanged (a negative errno) so that it can be returned at once.
 */
int sbx_wrap(struct sbx_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__
/* It cannot know that the result is negative, and would follow paths that do not exist. */
#define sbx_fail(...) ((void)sbx_fail(__VA_ARGS__), -1)
#endif

#endif
