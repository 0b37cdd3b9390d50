/* SPDX-License-Identifier: MIT */
#include "control/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void sbx_print(const char *fmt, ...)
{
	va_list arguments;

	va_start(arguments, fmt);
	(void)vprintf(fmt, arguments); /* the stream remembers, main() asks it */
	va_end(arguments);
}

void sbx_complain(const char *verb, const char *fmt, ...)
{
	va_list arguments;

	/* Where errors cannot be written there is nobody to tell; the exit status remains. */
	va_start(arguments, fmt);
	(void)fprintf(stderr, "sbxctl%s%s: ", verb == NULL ? "" : " ", verb == NULL ? "" : verb);
	(void)vfprintf(stderr, fmt, arguments);
	(void)fputc('\n', stderr);
	va_end(arguments);
}

int sbx_print_json(const json_t *root)
{
	if (root == NULL)
		return -EILSEQ;
	if (json_dumpf(root, stdout, JSON_INDENT(2)) < 0)
		return -EIO;
	sbx_print("\n");
	return 0;
}
