/* SPDX-License-Identifier: MIT */
#ifndef SBX_ENVIRONMENT_FILE_H
#define SBX_ENVIRONMENT_FILE_H

#include "base/err.h"
#include "base/str.h"
#include "sandbox/environment.h"
#include "sandbox/identity.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The environment store of one user, usually /etc/sbx/env.d/USER.ini. Format as in
 * config/ini_file.h; two sections: [secret], whose values are never shown, and [env].
 * An entry has one of three forms:
 *
 *   NAME = a simple value
 *   NAME = "a value with ; # ' \" or \\ or blanks at its ends; \"\" is the empty value"
 *   NAME.b64.0 = bGluZSBvbmUKbGluZSB0
 *   NAME.b64.1 = d28K
 *
 * The last one is for all else, line breaks above all: the value in base64url (RFC
 * 4648, section 5) without padding, cut anywhere, its pieces numbered from 0 and
 * following each other. One is made by:
 *   printf '%s.b64.0 = %s\n' NAME "$(base64 -w0 <FILE | tr '+/' '-_' | tr -d =)"
 *
 * Names are kept exactly as written and each may be given once in the whole file.
 */

#define SBX_ENVIRONMENT_BYTES_MAX ((size_t)1 << 20) /* of a file */
#define SBX_ENVIRONMENT_VALUE_MAX ((size_t)64 << 10)
#define SBX_ENVIRONMENT_VARIABLES_MAX 1000

/*
 * Load USER.ini.
 * dir              absolute; it, those above it and the file must be root's and changeable by
 *                  nobody else; the file has mode 0640 or less and the user's primary group
 *                  or root's; at most 1 MiB. Absent: no variables.
 * who              borrowed
 * ret_environment  caller frees with sbx_environment_free()
 * Returns 0 or -errno; the message is "file:line: reason" and quotes nothing of the file.
 */
int sbx_environment_load(const char *dir, const struct sbx_identity *who,
			 struct sbx_environment **ret_environment, struct sbx_err *err);

/* The same for a file that is in memory already; 'file' is for messages only. */
int sbx_environment_parse(const char *file, const char *text, size_t length,
			  struct sbx_environment **ret_environment, struct sbx_err *err);

/*
 * Append the line or lines of one entry to 'out' (look at out->rc afterwards): what
 * sbx_environment_parse() reads back as exactly this name and value. Pure.
 * Returns 0, or -EINVAL if the name is not allowed, -E2BIG if the value is too long.
 */
int sbx_environment_entry_add(struct sbx_str *out, const char *name, const char *value,
			      struct sbx_err *err);

/* True for [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes. */
bool sbx_variable_name_valid(const char *name);

/*
 * True for names that neither the store may set nor 'env_pass' let in: those that sbx
 * sets itself (HOME, PATH, USER, ...), and those by which the loader, the C library or a
 * shell takes its orders (LD_*, GCONV_PATH, BASH_ENV, ...), since the processes that a
 * session starts with run as root for a while. NODE_OPTIONS, PYTHONPATH and the like
 * are read by programs of the sandbox only and may be set.
 */
bool sbx_variable_name_reserved(const char *name);

/* True if a pattern (see fnmatch(3); of its specials only '*' and '?') matches a reserved name. */
bool sbx_variable_pattern_reserved(const char *pattern);

#endif
