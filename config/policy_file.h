/* SPDX-License-Identifier: MIT */
#ifndef SBX_POLICY_FILE_H
#define SBX_POLICY_FILE_H

#include "base/err.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"

#include <stddef.h>

/*
 * The policy file, usually /etc/sbx/policy.ini: sections [default], [@group] and
 * [user], format as in config/ini_file.h, keys as in the table in config/policy_keys.c.
 *
 * For one user the settings of [default] count first, then those of [@group] for each
 * group of the user in the order of the file, then those of [user]. A key that is
 * given again replaces the earlier value as a whole, lists (read_only, read_write,
 * env_pass) included. A key that is given nowhere has its built-in default, and so
 * has everything when there is no file. A section is for a user or group whether or
 * not that exists; a user called "default" has no section of his own.
 *
 * A value is one word, or for lists several, separated by blanks. A word with blanks
 * in it is put in double quotes as a whole: read_only = "/srv/my data" ?/srv/more
 * In every path %u stands for the user's name; no other '%' is allowed.
 */

#define SBX_POLICY_BYTES_MAX ((size_t)64 << 10)

/*
 * The settings of one user. The whole file is checked, not just what concerns the
 * user: with one mistake anywhere nobody gets in by a policy that was not meant.
 * file        absolute path; it and the directories above must be root's, changeable
 *             by nobody else, and no links; at most 64 KiB. Absent: built-in defaults.
 * who         borrowed
 * ret_policy  caller frees with sbx_policy_free()
 * Returns 0 or -errno; the message is "file:line: reason" and quotes nothing of the file.
 */
int sbx_policy_load(const char *file, const struct sbx_identity *who,
		    struct sbx_policy **ret_policy, struct sbx_err *err);

/* The same for a file that is in memory already; 'file' is for messages only. */
int sbx_policy_parse(const char *file, const char *text, size_t length,
		     const struct sbx_identity *who, struct sbx_policy **ret_policy,
		     struct sbx_err *err);

/*
 * Check the whole file as sbx_policy_load() would, for nobody in particular. What
 * depends on a user (say, a folder that would cover that user's home) shows only in
 * sbx_policy_load(). A file that is absent is right.
 */
int sbx_policy_check(const char *file, struct sbx_err *err);

enum sbx_policy_scope {
	SBX_POLICY_DEFAULT, /* [default] */
	SBX_POLICY_GROUP,   /* [@group] */
	SBX_POLICY_USER,    /* [user] */
};

struct sbx_policy_section {
	enum sbx_policy_scope scope;
	char *name; /* of the user or group, without the '@' */
	unsigned int line;
};

struct sbx_policy_sections {
	struct sbx_policy_section *sections;
	size_t n_sections;
};

/*
 * List the sections of a file, which is checked as by sbx_policy_check().
 * ret_sections  in the order of the file, none if there is no file; caller frees with
 *               sbx_policy_sections_free()
 */
int sbx_policy_sections_list(const char *file, struct sbx_policy_sections **ret_sections,
			     struct sbx_err *err);
/* The same for a file that is in memory already; 'file' is for messages only. */
int sbx_policy_sections_parse(const char *file, const char *text, size_t length,
			      struct sbx_policy_sections **ret_sections, struct sbx_err *err);
void sbx_policy_sections_free(struct sbx_policy_sections *sections);
void sbx_policy_sections_freep(struct sbx_policy_sections **sections);

#endif
