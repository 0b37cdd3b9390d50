/* SPDX-License-Identifier: MIT */
#ifndef SBX_JSON_TEXT_H
#define SBX_JSON_TEXT_H

#include "base/str.h"

#include <jansson.h>
#include <stddef.h>

/*
 * JSON strings are UTF-8; what programs print and files are called is any bytes. The
 * convention of all of sbxctl: member KEY holds the text, with U+FFFD for what is no
 * UTF-8; where that happened, and only then, member KEYBase64 holds the exact bytes.
 */

/*
 * Set both members. bytes may hold NULs.
 * object  borrowed; NULL is a failure, so that what json_pack() returned can be passed on
 * Returns 0 or -ENOMEM.
 */
int sbx_json_text_set(json_t *object, const char *key, const char *bytes, size_t n_bytes);

/* Append the text with what is no UTF-8 replaced. Returns how many times it was. Pure. */
size_t sbx_utf8_add(struct sbx_str *out, const char *bytes, size_t n_bytes);

/* Append RFC 4648 base64 with padding. Pure. */
void sbx_base64_add(struct sbx_str *out, const char *bytes, size_t n_bytes);

#endif
