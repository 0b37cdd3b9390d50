/* SPDX-License-Identifier: MIT */
#ifndef SBX_NUMBER_H
#define SBX_NUMBER_H

#include <stdint.h>

/*
 * Parse a decimal number; digits only (no sign, no space, no leading "0x").
 * Returns 0, -EINVAL (no number) or -ERANGE (outside min..max).
 */
int sbx_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * Parse a size in bytes: digits, then nothing or one of K M G T (powers of 1024).
 * Returns 0, -EINVAL or -ERANGE.
 */
int sbx_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_bytes);

#endif
