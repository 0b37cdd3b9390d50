/* SPDX-License-Identifier: MIT */
#ifndef SBX_SHA256_H
#define SBX_SHA256_H

#include <stddef.h>

#define SBX_SHA256_HEX_SIZE 65

/* SHA-256 (FIPS 180-4) of 'n' bytes, as 64 hexadecimal digits and a NUL. */
void sbx_sha256_hex(const void *bytes, size_t n, char ret_hex[SBX_SHA256_HEX_SIZE]);

#endif
