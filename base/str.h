/* SPDX-License-Identifier: MIT */
#ifndef SBX_STR_H
#define SBX_STR_H

#include <stddef.h>
#include <stdlib.h>

/*
 * A growing string whose error sticks: append as often as you like and look at
 * 'rc' once, at the end. Start from {0}; 'text' is NULL until the first append.
 */
struct sbx_str {
	char *text;    /* NUL-terminated, owned */
	size_t length; /* without the NUL */
	size_t room;   /* bytes allocated */
	int rc;	       /* 0, or the first -errno; later appends are then no-ops */
};

void sbx_str_addf(struct sbx_str *str, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sbx_str_add(struct sbx_str *str, const char *text);
void sbx_str_addn(struct sbx_str *str, const char *bytes, size_t n_bytes);

/*
 * Hand the text over to the caller, who frees it; an empty builder gives "".
 * Returns 0, or the sticky -errno with *ret_text untouched. 'str' is empty afterwards.
 */
int sbx_str_take(struct sbx_str *str, char **ret_text);
void sbx_str_done(struct sbx_str *str);

/* Overwrite before freeing: for values that are secret. Accepts NULL. */
void sbx_secret_free(char *text);

/* A NULL-terminated list of strings that owns its elements. NULL is an empty list. */
int sbx_strv_append(char ***strv, const char *text);
size_t sbx_strv_length(char *const *strv);
void sbx_strv_free(char **strv);

void sbx_freep(void *pointer_to_pointer);
void sbx_strv_freep(char ***pointer_to_strv);

#define sbx_autofree __attribute__((cleanup(sbx_freep)))
#define sbx_autostr __attribute__((cleanup(sbx_str_done)))
#define sbx_autostrv __attribute__((cleanup(sbx_strv_freep)))

#endif
