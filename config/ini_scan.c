/* SPDX-License-Identifier: MIT */
/* The strict scan: what may stand in a file, and where. Rules: ini_file.h. */
#include "config/ini_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX                                                                             \
	200 /* section, key and all capitals escaped still fit a look-up of 1,024 bytes */
#define KEY_MARKS "_.-"
#define SECTION_MARKS "_.-@$"
#define BLANKS " \t"

struct scan {
	struct sbx_ini *ini;
	struct sbx_str *canonical;
	struct sbx_err *err;
	unsigned int line;
};

/* A piece of the text, not terminated. */
struct span {
	const char *start;
	size_t length;
};

static int refuse(const struct scan *scan, const char *reason)
{
	return sbx_fail(scan->err, EINVAL, "%s:%u: %s", scan->ini->file, scan->line, reason);
}

static int no_memory(const struct scan *scan)
{
	return sbx_fail(scan->err, ENOMEM, "read '%s': %s", scan->ini->file, strerror(ENOMEM));
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static struct span trim(struct span span)
{
	while (span.length > 0 && is_blank(span.start[0])) {
		span.start++;
		span.length--;
	}
	while (span.length > 0 && is_blank(span.start[span.length - 1]))
		span.length--;
	return span;
}

/*
 * Length of the UTF-8 character at 'p' (n > 0 bytes left), or 0 if it is none: a stray
 * or missing continuation, an overlong form, a surrogate, or beyond U+10FFFF.
 */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	unsigned char low = 0x80; /* limits of the second byte */
	unsigned char high = 0xbf;
	size_t length;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n < length)
		return 0;
	if (p[0] == 0xc2 || p[0] == 0xe0)
		low = 0xa0; /* U+0080..U+009F are control characters; E0 80 would be overlong */
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

static int check_bytes(const struct scan *scan, struct span line)
{
	const unsigned char *p = (const unsigned char *)line.start;

	if (scan->line == 1 && line.length >= 3 && memcmp(line.start, "\xef\xbb\xbf", 3) == 0)
		return refuse(scan, "begins with a byte order mark; save the file as plain UTF-8");
	for (size_t i = 0; i < line.length;) {
		size_t n = utf8_length(p + i, line.length - i);

		if (n == 0)
			return refuse(scan, "not valid UTF-8 text");
		if (p[i] == '\r')
			return refuse(scan, "carriage return; save the file with Unix line ends");
		if ((p[i] < 0x20 && p[i] != '\t') || p[i] == 0x7f)
			return refuse(scan, "control character");
		i += n;
	}
	if (line.length > 0 && line.start[line.length - 1] == '\\')
		return refuse(scan, "backslash at the end of the line; lines cannot be continued");
	return 0;
}

/* A copy of a name of ASCII letters, digits and 'marks'; NULL with errno EINVAL or ENOMEM. */
static char *copy_name(struct span name, const char *marks)
{
	if (name.length == 0 || name.length > NAME_BYTES_MAX) {
		errno = EINVAL;
		return NULL;
	}
	for (size_t i = 0; i < name.length; i++) {
		char c = name.start[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c != '\0' && strchr(marks, c) != NULL))) {
			errno = EINVAL;
			return NULL;
		}
	}
	return strndup(name.start, name.length);
}

/* Room for one more element of a list that has doubled its size so far. */
static void *make_room(void *list, size_t n, size_t size)
{
	if (n > 0 && (n & (n - 1)) != 0)
		return list;
	return reallocarray(list, n == 0 ? 1 : n * 2, size);
}

static int scan_section(struct scan *scan, struct span line)
{
	struct sbx_ini *ini = scan->ini;
	struct sbx_ini_section *grown;
	sbx_autofree char *name = NULL;

	if (line.start[line.length - 1] != ']')
		return refuse(scan, "a section is '[name]' and nothing else in its line");
	name = copy_name((struct span){line.start + 1, line.length - 2}, SECTION_MARKS);
	if (name == NULL && errno == EINVAL)
		return refuse(scan, "a section's name is made of letters, digits, and '_.-@$'");
	if (name == NULL)
		return no_memory(scan);
	for (size_t i = 0; i < ini->n_sections; i++) {
		if (strcmp(ini->sections[i].name, name) == 0)
			return sbx_fail(scan->err, EINVAL,
					"%s:%u: the section was begun in line %u already",
					ini->file, scan->line, ini->sections[i].line);
	}
	if (ini->n_sections == SBX_INI_SECTIONS_MAX)
		return refuse(scan, "too many sections");
	grown = make_room(ini->sections, ini->n_sections, sizeof(*grown));
	if (grown == NULL)
		return no_memory(scan);
	ini->sections = grown;
	sbx_ini_add_section(scan->canonical, name);
	ini->sections[ini->n_sections++] = (struct sbx_ini_section){name, scan->line};
	name = NULL;
	return 0;
}

static const char *outside_quotes(char c)
{
	switch (c) {
	case ';':
	case '#':
		return "';' or '#' after a value; put the value in double quotes, and comments in "
		       "lines of their own";
	case '\\':
		return "backslash outside of double quotes";
	case '\'':
		return "single quote; use double quotes";
	default:
		return NULL;
	}
}

static int check_value(const struct scan *scan, struct span value)
{
	bool quoted = false;

	if (value.length == 0)
		return refuse(scan, "there is no value");
	for (size_t i = 0; i < value.length; i++) {
		char c = value.start[i];

		if (!quoted && outside_quotes(c) != NULL)
			return refuse(scan, outside_quotes(c));
		if (c == '"') {
			quoted = !quoted;
		} else if (c == '\\') {
			if (i + 1 == value.length ||
			    (value.start[i + 1] != '"' && value.start[i + 1] != '\\'))
				return refuse(scan, "in quotes a backslash is written \\\\ and a "
						    "double quote \\\"");
			i++;
		}
	}
	return quoted ? refuse(scan, "the closing double quote is missing") : 0;
}

static int check_repeated(const struct scan *scan, const char *key)
{
	const struct sbx_ini *ini = scan->ini;

	/* Entries of the current section are the last ones. */
	for (size_t i = ini->n_entries; i > 0; i--) {
		const struct sbx_ini_entry *entry = &ini->entries[i - 1];

		if (entry->section != ini->n_sections - 1)
			break;
		if (strcmp(entry->key, key) == 0)
			return sbx_fail(scan->err, EINVAL,
					"%s:%u: the key was given in line %u already", ini->file,
					scan->line, entry->line);
	}
	return 0;
}

static int scan_entry(struct scan *scan, struct span line)
{
	struct sbx_ini *ini = scan->ini;
	const char *equals = memchr(line.start, '=', line.length);
	sbx_autofree char *key = NULL;
	struct sbx_ini_entry *grown;
	struct span value;
	int rc;

	if (equals == NULL)
		return refuse(scan, "neither '[section]' nor 'key = value' nor a comment");
	if (ini->n_sections == 0)
		return refuse(scan, "stands before the first section");
	key = copy_name(trim((struct span){line.start, (size_t)(equals - line.start)}), KEY_MARKS);
	if (key == NULL && errno == EINVAL)
		return refuse(scan, "a key is made of letters, digits, and '_.-'");
	if (key == NULL)
		return no_memory(scan);
	value.start = equals + 1;
	value.length = line.length - (size_t)(value.start - line.start);
	value = trim(value);
	rc = check_value(scan, value);
	if (rc == 0)
		rc = check_repeated(scan, key);
	if (rc < 0)
		return rc;
	if (ini->n_entries == SBX_INI_ENTRIES_MAX)
		return refuse(scan, "too many lines with a value");
	grown = make_room(ini->entries, ini->n_entries, sizeof(*grown));
	if (grown == NULL)
		return no_memory(scan);
	ini->entries = grown;
	sbx_ini_add_value(scan->canonical, key, value.start, value.length);
	ini->entries[ini->n_entries++] =
	    (struct sbx_ini_entry){.section = ini->n_sections - 1, .line = scan->line, .key = key};
	key = NULL;
	return 0;
}

static int scan_line(struct scan *scan, struct span line)
{
	int rc = check_bytes(scan, line);

	if (rc < 0)
		return rc;
	line = trim(line);
	if (line.length == 0 || line.start[0] == '#' || line.start[0] == ';')
		return 0;
	return line.start[0] == '[' ? scan_section(scan, line) : scan_entry(scan, line);
}

static int scan_lines(struct scan *scan, const char *text, size_t length)
{
	const char *end = text + length;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct span line = {text, (size_t)((newline == NULL ? end : newline) - text)};
		int rc;

		scan->line++;
		if (line.length > SBX_INI_LINE_MAX)
			return refuse(scan, "the line is longer than 4095 bytes");
		if (newline == NULL)
			return refuse(scan,
				      "the last line has no newline; the file may be cut off");
		rc = scan_line(scan, line);
		if (rc < 0)
			return rc;
		text = newline + 1;
	}
	return scan->canonical->rc < 0 ? no_memory(scan) : 0;
}

int sbx_ini_scan(const char *file, const char *text, size_t length, struct sbx_ini **ret_ini,
		 struct sbx_str *canonical, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = calloc(1, sizeof(*ini));
	struct scan scan = {.ini = ini, .canonical = canonical, .err = err};
	int rc;

	if (ini != NULL)
		ini->file = strdup(file);
	if (ini == NULL || ini->file == NULL)
		return sbx_fail(err, ENOMEM, "read '%s': %s", file, strerror(ENOMEM));
	rc = scan_lines(&scan, text, length);
	if (rc < 0)
		return rc;
	*ret_ini = ini;
	ini = NULL;
	return 0;
}

void sbx_ini_free(struct sbx_ini *ini)
{
	if (ini == NULL)
		return;
	for (size_t i = 0; i < ini->n_sections; i++)
		free(ini->sections[i].name);
	for (size_t i = 0; i < ini->n_entries; i++) {
		free(ini->entries[i].key);
		sbx_secret_free(ini->entries[i].value);
	}
	free(ini->sections);
	free(ini->entries);
	free(ini->file);
	free(ini);
}

void sbx_ini_freep(struct sbx_ini **ini) { sbx_ini_free(*ini); }
