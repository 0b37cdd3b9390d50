/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int str_reserve(struct sbx_str *str, size_t extra)
{
	size_t room = str->room == 0 ? 128 : str->room;
	char *text;

	if (str->rc < 0)
		return str->rc;
	if (extra > (size_t)-1 / 4 || str->length > (size_t)-1 / 4)
		return str->rc = -EOVERFLOW;
	while (room < str->length + extra + 1)
		room *= 2;
	if (room == str->room)
		return 0;
	text = realloc(str->text, room);
	if (text == NULL)
		return str->rc = -ENOMEM;
	str->text = text;
	str->room = room;
	return 0;
}

void sbx_str_addn(struct sbx_str *str, const char *bytes, size_t n_bytes)
{
	if (str_reserve(str, n_bytes) < 0)
		return;
	memcpy(str->text + str->length, bytes, n_bytes);
	str->length += n_bytes;
	str->text[str->length] = '\0';
}

void sbx_str_add(struct sbx_str *str, const char *text) { sbx_str_addn(str, text, strlen(text)); }

void sbx_str_addf(struct sbx_str *str, const char *fmt, ...)
{
	va_list ap;
	int length;

	va_start(ap, fmt);
	length = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (length < 0) {
		if (str->rc == 0)
			str->rc = -EINVAL;
		return;
	}
	if (str_reserve(str, (size_t)length) < 0)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(str->text + str->length, (size_t)length + 1, fmt, ap); /* sized above */
	va_end(ap);
	str->length += (size_t)length;
}

int sbx_str_take(struct sbx_str *str, char **ret_text)
{
	if (str_reserve(str, 0) < 0) {
		int rc = str->rc;

		sbx_str_done(str);
		return rc;
	}
	str->text[str->length] = '\0';
	*ret_text = str->text;
	*str = (struct sbx_str){0};
	return 0;
}

void sbx_str_done(struct sbx_str *str)
{
	if (str == NULL)
		return;
	free(str->text);
	*str = (struct sbx_str){0};
}

void sbx_secret_free(char *text)
{
	if (text == NULL)
		return;
	explicit_bzero(text, strlen(text));
	free(text);
}

size_t sbx_strv_length(char *const *strv)
{
	size_t n = 0;

	while (strv != NULL && strv[n] != NULL)
		n++;
	return n;
}

int sbx_strv_append(char ***strv, const char *text)
{
	size_t n = sbx_strv_length(*strv);
	char *copy = strdup(text);
	char **grown;

	if (copy == NULL)
		return -ENOMEM;
	grown = reallocarray(*strv, n + 2, sizeof(*grown));
	if (grown == NULL) {
		free(copy);
		return -ENOMEM;
	}
	grown[n] = copy;
	grown[n + 1] = NULL;
	*strv = grown;
	return 0;
}

void sbx_strv_free(char **strv)
{
	for (size_t i = 0; strv != NULL && strv[i] != NULL; i++)
		free(strv[i]);
	free(strv);
}

void sbx_freep(void *pointer_to_pointer) { free(*(void **)pointer_to_pointer); }

void sbx_strv_freep(char ***pointer_to_strv) { sbx_strv_free(*pointer_to_strv); }
