/* SPDX-License-Identifier: MIT */
#ifndef SBX_ORIGIN_H
#define SBX_ORIGIN_H

#include "base/str.h"

/*
 * Where a session comes from: for `sbxctl status` and for the audit lines in the system
 * log. Most of it was chosen by whoever logged in (a host name, a user name), so it is
 * cut to length and to harmless bytes when it is put in. "" = not known.
 */
struct sbx_origin {
	char service[32]; /* PAM's name: sshd, su, ...; "exec" for sbxctl exec */
	char tty[32];
	char remote[64]; /* host */
	char by[32];	 /* who asked for it: the caller of su, of sbxctl */
};

/*
 * Put a text in. Bytes other than letters, digits and "._-:/@%+[]," become '?', so that a
 * line of NAME=VALUE words has no more words than were meant.
 * field, size  one of the arrays above
 * text         NULL is ""
 */
void sbx_origin_set(char *field, size_t size, const char *text);

/* What came over a socket: end each field, and clean it again. */
void sbx_origin_clean(struct sbx_origin *origin);

/*
 * Append an audit line: "EVENT: user=NAME service=... tty=... from=... by=...".
 * Fields that are not known are left out. The format is stable: `sbxctl logs` and
 * others read it.
 * event  for instance "session opened"
 */
void sbx_origin_line(struct sbx_str *out, const char *event, const char *user,
		     const struct sbx_origin *origin);

#endif
