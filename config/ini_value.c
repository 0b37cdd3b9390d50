/* SPDX-License-Identifier: MIT */
/* Values: quotes and words. The scan has checked that quotes and escapes are complete. */
#include "config/ini_file.h"

#include <errno.h>
#include <string.h>

#define BLANKS " \t"

/* Append what the quotes at '*p' enclose and move behind the closing one. */
static void add_quoted(struct sbx_str *text, const char **p)
{
	const char *c = *p + 1;

	while (*c != '\0' && *c != '"') {
		if (c[0] == '\\' && c[1] != '\0')
			c++;
		sbx_str_addn(text, c++, 1);
	}
	*p = *c == '"' ? c + 1 : c;
}

static int take_word(const char **p, char ***words)
{
	sbx_autostr struct sbx_str word = {0};
	sbx_autofree char *text = NULL;
	int rc;

	if (**p == '"') {
		add_quoted(&word, p);
	} else {
		size_t length = strcspn(*p, BLANKS "\"");

		sbx_str_addn(&word, *p, length);
		*p += length;
	}
	if (**p != '\0' && strchr(BLANKS, **p) == NULL)
		return -EINVAL;
	rc = sbx_str_take(&word, &text);
	return rc < 0 ? rc : sbx_strv_append(words, text);
}

int sbx_ini_words(const char *value, char ***ret_words)
{
	sbx_autostrv char **words = NULL;
	const char *p = value;

	while (*(p += strspn(p, BLANKS)) != '\0') {
		int rc = take_word(&p, &words);

		if (rc < 0)
			return rc;
	}
	*ret_words = words;
	words = NULL;
	return 0;
}

int sbx_ini_unquote(const char *value, char **ret_text)
{
	sbx_autostr struct sbx_str text = {0};
	const char *p = value;

	if (*p == '"') {
		add_quoted(&text, &p);
	} else {
		size_t length = strcspn(p, "\"");

		sbx_str_addn(&text, p, length);
		p += length;
	}
	if (*p != '\0') {
		if (text.text != NULL)
			explicit_bzero(text.text, text.length);
		return -EINVAL;
	}
	return sbx_str_take(&text, ret_text);
}
