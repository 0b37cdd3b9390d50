/* SPDX-License-Identifier: MIT */
/*
 * The text that libiniparser gets to see. An alphabet is used in which no release
 * finds anything to interpret:
 *
 *   [section]
 *   key="value"
 *   key~1="more of the same value"
 *
 * Names: libiniparser folds capitals, so 'A' is written "+a". Values: every byte but
 * those of is_plain() is written %XX. Long values are cut: one line must stay below
 * the 1,023 bytes of libiniparser's line buffer.
 */
#include "config/ini_file.h"

#include <errno.h>
#include <string.h>

/* Of one line's value. Leaves room for a key of 2 * 200 bytes, a chunk number and punctuation. */
#define CHUNK_MAX 480

static bool is_alnum(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_plain(unsigned char c)
{
	return is_alnum(c) || (c != '\0' && strchr("_-./:*?,@~", c) != NULL);
}

static void add_name(struct sbx_str *out, const char *name)
{
	for (const char *p = name; *p != '\0'; p++) {
		if (*p >= 'A' && *p <= 'Z') {
			char folded[2] = {'+', (char)(*p - 'A' + 'a')};

			sbx_str_addn(out, folded, sizeof(folded));
		} else {
			sbx_str_addn(out, p, 1);
		}
	}
}

static void add_key(struct sbx_str *out, const char *key, unsigned int chunk)
{
	add_name(out, key);
	if (chunk > 0)
		sbx_str_addf(out, "~%u", chunk);
}

void sbx_ini_add_section(struct sbx_str *canonical, const char *name)
{
	sbx_str_add(canonical, "[");
	add_name(canonical, name);
	sbx_str_add(canonical, "]\n");
}

void sbx_ini_add_value(struct sbx_str *canonical, const char *key, const char *value, size_t length)
{
	static const char hex[] = "0123456789ABCDEF";
	unsigned int chunk = 0;
	size_t i = 0;

	do {
		size_t used = 0;

		add_key(canonical, key, chunk++);
		sbx_str_add(canonical, "=\"");
		for (; i < length && used < CHUNK_MAX; i++) {
			unsigned char c = (unsigned char)value[i];
			char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};
			size_t n = is_plain(c) ? 1 : sizeof(escaped);

			sbx_str_addn(canonical, n == 1 ? &value[i] : escaped, n);
			used += n;
		}
		sbx_str_add(canonical, "\"\n");
	} while (i < length);
}

void sbx_ini_add_lookup(struct sbx_str *lookup, const char *section, const char *key,
			unsigned int chunk)
{
	add_name(lookup, section);
	sbx_str_add(lookup, ":");
	add_key(lookup, key, chunk);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int sbx_ini_add_decoded(struct sbx_str *text, const char *value)
{
	for (const char *p = value; *p != '\0'; p++) {
		int high;
		int low;
		char c = *p;

		if (c == '%') {
			high = hex_digit(p[1]);
			low = high < 0 ? -1 : hex_digit(p[2]);
			if (low < 0)
				return -EINVAL;
			c = (char)(high * 16 + low);
			p += 2;
		} else if (!is_plain((unsigned char)c)) {
			return -EINVAL;
		}
		sbx_str_addn(text, &c, 1);
	}
	return 0;
}
