/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static int parse_digits(const char *text, uint64_t *ret, const char **ret_rest)
{
	uint64_t value = 0;
	const char *p = text;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	*ret = value;
	*ret_rest = p;
	return 0;
}

int sbx_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *rest;
	uint64_t value;
	int rc = parse_digits(text, &value, &rest);

	if (rc < 0)
		return rc;
	if (*rest != '\0')
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int sbx_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	const char *rest;
	const char *unit;
	uint64_t value;
	int rc = parse_digits(text, &value, &rest);

	if (rc < 0)
		return rc;
	if (*rest != '\0') {
		unit = strchr(units, *rest);
		if (unit == NULL || rest[1] != '\0')
			return -EINVAL;
		for (ptrdiff_t i = 0; i <= unit - units; i++) {
			if (__builtin_mul_overflow(value, (uint64_t)1024, &value))
				return -ERANGE;
		}
	}
	if (value < min || value > max)
		return -ERANGE;
	*ret_bytes = value;
	return 0;
}
