/* SPDX-License-Identifier: MIT */
#include "control/json_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

void sbx_base64_add(struct sbx_str *out, const char *bytes, size_t n_bytes)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)bytes;

	for (size_t i = 0; i < n_bytes; i += 3) {
		const size_t left = n_bytes - i;
		const uint32_t three = (uint32_t)in[i] << 16 |
				       (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
				       (left > 2 ? (uint32_t)in[i + 2] : 0);
		char four[] = {digits[three >> 18], digits[three >> 12 & 63], '=', '='};

		if (left > 1)
			four[2] = digits[three >> 6 & 63];
		if (left > 2)
			four[3] = digits[three & 63];

		sbx_str_addn(out, four, sizeof(four));
	}
}

/* Bytes of the character that starts here, or 0 if none does (RFC 3629: no surrogates, shortest
 * form). */
static size_t character(const unsigned char *in, size_t left)
{
	uint32_t code;
	size_t length;

	if (in[0] < 0x80)
		return 1;
	if ((in[0] & 0xE0) == 0xC0) {
		length = 2;
		code = in[0] & 0x1FU;
	} else if ((in[0] & 0xF0) == 0xE0) {
		length = 3;
		code = in[0] & 0x0FU;
	} else if ((in[0] & 0xF8) == 0xF0) {
		length = 4;
		code = in[0] & 0x07U;
	} else {
		return 0;
	}
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((in[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (in[i] & 0x3FU);
	}
	if ((length == 2 && code < 0x80) || (length == 3 && code < 0x800) ||
	    (length == 4 && (code < 0x10000 || code > 0x10FFFF)) ||
	    (code >= 0xD800 && code <= 0xDFFF))
		return 0;
	return length;
}

size_t sbx_utf8_add(struct sbx_str *out, const char *bytes, size_t n_bytes)
{
	size_t replaced = 0;
	size_t good = 0; /* start of what is to be copied as it is */

	for (size_t i = 0; i < n_bytes;) {
		const size_t length = character((const unsigned char *)bytes + i, n_bytes - i);

		if (length > 0) {
			i += length;
			continue;
		}
		sbx_str_addn(out, bytes + good, i - good);
		sbx_str_add(out, REPLACEMENT);
		replaced++;
		good = ++i;
	}
	sbx_str_addn(out, bytes + good, n_bytes - good);
	return replaced;
}

static int set(json_t *object, const char *key, const struct sbx_str *text)
{
	json_t *value = text->rc < 0 ? NULL : json_stringn(text->text, text->length);

	return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

int sbx_json_text_set(json_t *object, const char *key, const char *bytes, size_t n_bytes)
{
	sbx_autostr struct sbx_str text = {0};
	sbx_autostr struct sbx_str exact = {0};
	sbx_autostr struct sbx_str exact_key = {0};

	if (sbx_utf8_add(&text, bytes, n_bytes) == 0)
		return set(object, key, &text);
	sbx_base64_add(&exact, bytes, n_bytes);
	sbx_str_addf(&exact_key, "%sBase64", key);
	if (exact_key.rc < 0 || set(object, key, &text) < 0)
		return -ENOMEM;
	return set(object, exact_key.text, &exact);
}
