/* SPDX-License-Identifier: MIT */
#include "sandbox/origin.h"

#include <string.h>

static char harmless(char byte)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-:/@%+[],";

	if (memchr(allowed, byte, sizeof(allowed) - 1) == NULL)
		return '?';
	return byte;
}

void sbx_origin_set(char *field, size_t size, const char *text)
{
	size_t length = text == NULL ? 0 : strnlen(text, size - 1);

	for (size_t i = 0; i < length; i++)
		field[i] = harmless(text[i]);
	memset(field + length, 0, size - length);
}

static void clean(char *field, size_t size)
{
	field[size - 1] = '\0';
	for (size_t i = 0; field[i] != '\0'; i++)
		field[i] = harmless(field[i]);
}

void sbx_origin_clean(struct sbx_origin *origin)
{
	clean(origin->service, sizeof(origin->service));
	clean(origin->tty, sizeof(origin->tty));
	clean(origin->remote, sizeof(origin->remote));
	clean(origin->by, sizeof(origin->by));
}

static void add_word(struct sbx_str *out, const char *name, const char *value)
{
	if (value[0] != '\0')
		sbx_str_addf(out, " %s=%s", name, value);
}

void sbx_origin_line(struct sbx_str *out, const char *event, const char *user,
		     const struct sbx_origin *origin)
{
	sbx_str_addf(out, "%s: user=%s", event, user);
	add_word(out, "service", origin->service);
	add_word(out, "tty", origin->tty);
	add_word(out, "from", origin->remote);
	add_word(out, "by", origin->by);
}
