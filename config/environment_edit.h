/* SPDX-License-Identifier: MIT */
#ifndef SBX_ENVIRONMENT_EDIT_H
#define SBX_ENVIRONMENT_EDIT_H

#include "base/err.h"
#include "base/str.h"
#include "sandbox/environment.h"
#include "sandbox/identity.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Changing a user's environment store (format: config/environment_file.h) as text:
 * whatever else stands in the file stays as it is, comments and order included.
 *
 * Above an entry that was set here stands a comment with the time:
 *   # sbxctl: NAME 2025-01-31T12:00:00Z
 */
#define SBX_ENVIRONMENT_DATE_BYTES (sizeof("2025-01-31T12:00:00Z"))

/* ------------------------------------------------------------------ pure, on texts */

struct sbx_environment_change {
	const char *name;
	const char *value;
	const char *date; /* as above; NULL leaves the comment out */
	bool secret;
};

/*
 * Append to 'out' the text with a variable set. An entry of that name is replaced where
 * it stands, or moved if it stands in the other section; a new one comes behind the last
 * of its section.
 * text  must be one that sbx_environment_parse() accepts
 * Returns 0 or -errno as sbx_environment_entry_add(); look at out->rc besides.
 */
int sbx_environment_text_set(const char *text, size_t length,
			     const struct sbx_environment_change *change, struct sbx_str *out,
			     struct sbx_err *err);

/* Append to 'out' the text without the entry 'name', if there is one. */
void sbx_environment_text_remove(const char *text, size_t length, const char *name,
				 struct sbx_str *out);

/* When 'name' was set here: true and the date in 'ret', or false if that is not known. */
bool sbx_environment_text_date(const char *text, size_t length, const char *name,
			       char ret[SBX_ENVIRONMENT_DATE_BYTES]);

/* ------------------------------------------------------------------ a user's file */

/* A store that is being edited; nobody else edits it meanwhile. */
struct sbx_environment_edit {
	char *path;
	char *name; /* the last component of path */
	int dir_fd; /* locked */
	bool exists;
	mode_t mode; /* what the file has, or will have */
	gid_t gid;
	struct sbx_str text;
	struct sbx_environment *environment; /* what the text says */
};

/*
 * Lock the stores, and read and check the one of 'who'.
 * dir       as for sbx_environment_load(); made if absent
 * ret_edit  caller frees with sbx_environment_edit_free(), which also unlocks
 * Returns 0 or -errno: -EINVAL with "file:line: reason" for a file that is not right as it
 * is, -EBUSY if another keeps the lock for half a minute.
 */
int sbx_environment_edit_open(const char *dir, const struct sbx_identity *who,
			      struct sbx_environment_edit **ret_edit, struct sbx_err *err);

/* Set a variable, dated now. In memory only. */
int sbx_environment_edit_set(struct sbx_environment_edit *edit, const char *name, const char *value,
			     bool secret, struct sbx_err *err);

/* Remove a variable, if it is there. In memory only. */
int sbx_environment_edit_remove(struct sbx_environment_edit *edit, const char *name,
				struct sbx_err *err);

/*
 * Write the file: all of it or, after a failure or a crash, nothing; on disk when this
 * returns. Root's, and readable by the user's group if that has no other member.
 */
int sbx_environment_edit_commit(struct sbx_environment_edit *edit, struct sbx_err *err);

void sbx_environment_edit_free(struct sbx_environment_edit *edit);
void sbx_environment_edit_freep(struct sbx_environment_edit **edit);

#endif
