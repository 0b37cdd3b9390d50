/* SPDX-License-Identifier: MIT */
/* The store as lines: see environment_edit.h. */
#include "config/environment_edit.h"
#include "config/environment_file.h"

#include <string.h>

#define SECRET_SECTION "secret"
#define PLAIN_SECTION "env"
#define DATE_MARK "# sbxctl: "
#define DATE_LENGTH (SBX_ENVIRONMENT_DATE_BYTES - 1)

/* One line of a text. The text is known to be right, so what is no comment is what it looks like.
 */
struct line {
	const char *start;
	size_t length;	    /* with the newline */
	const char *word;   /* the section's name, or the variable's */
	size_t word_length; /* 0: blank or comment */
	bool header;
};

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Take the line at '*text' and move behind it; false at the end. */
static bool next_line(const char **text, const char *end, struct line *ret)
{
	const char *newline;
	const char *p = *text;

	if (p == end)
		return false;
	newline = memchr(p, '\n', (size_t)(end - p));
	*text = newline == NULL ? end : newline + 1;
	*ret = (struct line){.start = p, .length = (size_t)(*text - p), .word = p};
	while (p < *text && is_blank(*p))
		p++;
	if (p == *text || *p == '\n' || *p == '#' || *p == ';')
		return true;
	ret->header = *p == '[';
	ret->word = ret->header ? p + 1 : p;
	for (p = ret->word; p < *text && strchr("]=. \t\n", *p) == NULL;)
		p++;
	ret->word_length = (size_t)(p - ret->word);
	return true;
}

static bool word_is(const struct line *line, const char *word)
{
	return line->word_length == strlen(word) &&
	       strncmp(line->word, word, line->word_length) == 0;
}

static bool is_entry_of(const struct line *line, const char *name)
{
	return !line->header && word_is(line, name);
}

/* The date in the comment that belongs to 'name', or NULL if the line is something else. */
static const char *date_in(const struct line *line, const char *name)
{
	size_t mark = strlen(DATE_MARK);
	size_t length = strlen(name);

	if (line->length != mark + length + 1 + DATE_LENGTH + 1 ||
	    strncmp(line->start, DATE_MARK, mark) != 0 ||
	    strncmp(line->start + mark, name, length) != 0 || line->start[mark + length] != ' ')
		return NULL;
	return line->start + mark + length + 1;
}

bool sbx_environment_text_date(const char *text, size_t length, const char *name,
			       char ret[SBX_ENVIRONMENT_DATE_BYTES])
{
	const char *end = text + length;
	struct line line;

	while (next_line(&text, end, &line)) {
		const char *date = date_in(&line, name);

		if (date == NULL)
			continue;
		memcpy(ret, date, DATE_LENGTH);
		ret[DATE_LENGTH] = '\0';
		return true;
	}
	return false;
}

/* Where a new entry of the section goes: behind its last entry, or its header. NULL: no section. */
static const char *place_in(const char *text, size_t length, const char *section)
{
	const char *end = text + length;
	const char *place = NULL;
	bool inside = false;
	struct line line;

	while (next_line(&text, end, &line)) {
		if (line.header)
			inside = word_is(&line, section);
		if (inside && line.word_length > 0)
			place = text;
	}
	return place;
}

/* Where the entry 'name' begins if it stands in this section, else NULL. */
static const char *place_of(const char *text, size_t length, const char *section, const char *name)
{
	const char *end = text + length;
	bool inside = false;
	struct line line;

	while (next_line(&text, end, &line)) {
		if (line.header)
			inside = word_is(&line, section);
		else if (inside && is_entry_of(&line, name))
			return line.start;
	}
	return NULL;
}

/* Copy what stands from 'text' to 'end' without the entry 'name' and its date. */
static void copy_without(const char *text, const char *end, const char *name, struct sbx_str *out)
{
	struct line line;

	while (next_line(&text, end, &line)) {
		if (!is_entry_of(&line, name) && date_in(&line, name) == NULL)
			sbx_str_addn(out, line.start, line.length);
	}
}

void sbx_environment_text_remove(const char *text, size_t length, const char *name,
				 struct sbx_str *out)
{
	copy_without(text, text + length, name, out);
}

int sbx_environment_text_set(const char *text, size_t length,
			     const struct sbx_environment_change *change, struct sbx_str *out,
			     struct sbx_err *err)
{
	const char *section = change->secret ? SECRET_SECTION : PLAIN_SECTION;
	const char *end = text + length;
	const char *place = place_of(text, length, section, change->name);
	int rc;

	if (place == NULL)
		place = place_in(text, length, section);
	copy_without(text, place == NULL ? end : place, change->name, out);
	if (place == NULL)
		sbx_str_addf(out, "%s[%s]\n", length == 0 ? "" : "\n", section);
	if (change->date != NULL)
		sbx_str_addf(out, DATE_MARK "%s %s\n", change->name, change->date);
	rc = sbx_environment_entry_add(out, change->name, change->value, err);
	if (rc == 0 && place != NULL)
		copy_without(place, end, change->name, out);
	return rc;
}
