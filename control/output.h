/* SPDX-License-Identifier: MIT */
#ifndef SBX_OUTPUT_H
#define SBX_OUTPUT_H

#include <jansson.h>

/*
 * Standard output: what was asked for. These do not look whether writing works, because
 * main() does once at the end.
 */
void sbx_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Standard error: "sbxctl VERB: message", newline included; 'verb' may be NULL. */
void sbx_complain(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Print a JSON value and a newline to standard output.
 * root  borrowed; NULL stands for one that could not be made
 * Returns 0 or -errno: -EILSEQ for NULL, because text that is no UTF-8 is the likely reason.
 */
int sbx_print_json(const json_t *root);

#endif
