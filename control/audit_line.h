/* SPDX-License-Identifier: MIT */
#ifndef SBX_AUDIT_LINE_H
#define SBX_AUDIT_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define SBX_AUDIT_WORDS_MAX 12
#define SBX_AUDIT_TEXT_MAX 1024

struct sbx_audit_word {
	const char *name;
	const char *value;
};

/* A line of ours in a system log, taken apart. The texts are in 'text'. */
struct sbx_audit_line {
	char text[SBX_AUDIT_TEXT_MAX];
	const char *user;
	struct sbx_audit_word words[SBX_AUDIT_WORDS_MAX]; /* "event" first; then as in the line */
	size_t n_words;
};

/*
 * Is this line one of those that sbx_origin_line(), or the PAM module when it refuses a
 * session, has written by way of syslog? In front may stand whatever a syslog daemon
 * puts there. Pure.
 * line  'length' bytes, without the newline
 */
bool sbx_audit_line_parse(const char *line, size_t length, struct sbx_audit_line *ret);

#endif
