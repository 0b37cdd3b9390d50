/* SPDX-License-Identifier: MIT */
#ifndef SBX_INI_FILE_H
#define SBX_INI_FILE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Strict INI files, read through libiniparser. Internal to config/.
 *
 * libiniparser alone is no parser for security settings: it drops what follows a ';'
 * or '#' in an unquoted value, joins lines at a trailing backslash even in comments,
 * merges sections of one name, takes the last of two equal keys, folds the case of
 * keys, limits lines to 1,022 bytes, and prints the lines that it rejects, secrets
 * included, to stderr; release 4.1 and 4.2 differ in quotes and escapes. Therefore:
 *
 *  1. sbx_ini_scan() accepts only statements with one possible reading and refuses
 *     all else as "file:line: reason", never quoting what stands there;
 *  2. it writes the accepted statements anew in an alphabet that every release of
 *     libiniparser reads alike (see ini_canonical.c);
 *  3. sbx_ini_parse() lets libiniparser read that text and takes the values from it.
 *
 * The file format
 *
 *   # or ;     first in a line: a comment. Nowhere else: there is no comment after a value.
 *   [section]  alone in its line; letters, digits, '_', '.', '-', '@', '$'; each once
 *   key = value
 *              one line; blanks around the '=' and at both ends are dropped. Keys are made
 *              of letters, digits, '_', '.', '-', each once in a section, and their case counts.
 *   value      not empty. '"' encloses text in which ';', '#', and blanks stand for
 *              themselves, and \" and \\ for '"' and '\'. Outside of double quotes ';',
 *              '#', '\' and the single quote are refused.
 *
 * Text is UTF-8 without a byte order mark, with no control characters but the tab and
 * the newline, which every line has, the last one included (a file without it may have
 * been cut off). Lines do not end in a backslash, not even comments.
 */

#define SBX_INI_LINE_MAX 4095	  /* bytes without the newline */
#define SBX_INI_SECTIONS_MAX 1024 /* libiniparser's dictionary is a linear list */
#define SBX_INI_ENTRIES_MAX 4096

struct sbx_ini_section {
	char *name;
	unsigned int line;
};

struct sbx_ini_entry {
	size_t section; /* index into sections */
	unsigned int line;
	char *key;
	char *value; /* as written, quotes included; NULL after a mere scan */
};

struct sbx_ini {
	char *file; /* for messages */
	struct sbx_ini_section *sections;
	size_t n_sections;
	struct sbx_ini_entry *entries; /* in the order of the file */
	size_t n_entries;
};

/*
 * Read a whole file from memory.
 * file     its name, for messages only
 * ret_ini  caller frees with sbx_ini_free()
 * Returns 0 or -errno: -EINVAL with "file:line: reason" for what the format refuses.
 */
int sbx_ini_parse(const char *file, const char *text, size_t length, struct sbx_ini **ret_ini,
		  struct sbx_err *err);
void sbx_ini_free(struct sbx_ini *ini); /* overwrites the values first */
void sbx_ini_freep(struct sbx_ini **ini);

/* Step 1 and 2 alone: check, list, and append the canonical text to 'canonical'. */
int sbx_ini_scan(const char *file, const char *text, size_t length, struct sbx_ini **ret_ini,
		 struct sbx_str *canonical, struct sbx_err *err);

/* The three parts of a canonical statement. 'chunk' 0 is the first. */
void sbx_ini_add_section(struct sbx_str *canonical, const char *name);
void sbx_ini_add_value(struct sbx_str *canonical, const char *key, const char *value,
		       size_t length);
void sbx_ini_add_lookup(struct sbx_str *lookup, const char *section, const char *key,
			unsigned int chunk);
/* Append what the canonical 'value' stands for; -EINVAL if it is none. */
int sbx_ini_add_decoded(struct sbx_str *text, const char *value);

/*
 * Split a value into words at blanks; a word in double quotes may hold blanks.
 * ret_words  the words without quotes and escapes; caller frees with sbx_strv_free()
 * Returns 0, -ENOMEM, or -EINVAL: a quote in the middle of a word.
 */
int sbx_ini_words(const char *value, char ***ret_words);

/*
 * Take a value as one text: what the one pair of double quotes around it encloses,
 * or, without any quote, all of it.
 * Returns 0, -ENOMEM, or -EINVAL: quotes around a part of it only.
 */
int sbx_ini_unquote(const char *value, char **ret_text);

#endif
