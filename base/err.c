/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef sbx_fail /* base/err.h wraps it for the analyzer */

static void make_printable(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
}

int sbx_fail(struct sbx_err *err, int code, const char *fmt, ...)
{
	if (code <= 0)
		code = EIO;
	if (err != NULL) {
		va_list ap;

		va_start(ap, fmt);
		/* A message that does not fit is cut, which is better than lost. */
		(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
		make_printable(err->msg);
		err->code = code;
	}
	return -code;
}

int sbx_wrap(struct sbx_err *err, int rc, const char *fmt, ...)
{
	if (err != NULL) {
		char inner[sizeof(err->msg)];
		char outer[sizeof(err->msg)];
		va_list ap;

		memcpy(inner, err->msg, sizeof(inner));
		va_start(ap, fmt);
		(void)vsnprintf(outer, sizeof(outer), fmt, ap); /* cut, not lost */
		va_end(ap);
		(void)sbx_fail(err, -rc, "%s: %s", outer, inner);
	}
	return rc;
}
