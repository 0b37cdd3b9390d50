/* SPDX-License-Identifier: MIT */
/* Which names of variables may be stored, or brought along by a session. */
#include "config/environment_file.h"

#include <fnmatch.h>
#include <string.h>

#define NAME_BYTES_MAX 128

static const char *const reserved_names[] = {
    /* set by sbx or by login */
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "XDG_RUNTIME_DIR",
    /* orders to a shell. ENV is not here: it is a common name, and only interactive sh reads it */
    "BASHOPTS",
    "BASH_ENV",
    "IFS",
    "SHELLOPTS",
    /* what the C library itself ignores in a setuid program (ld.so(8)), but for TMPDIR */
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TZDIR",
};

static const char *const reserved_prefixes[] = {"LD_", "MALLOC_", "BASH_FUNC_"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool sbx_variable_name_valid(const char *name)
{
	size_t i = 0;

	for (; i <= NAME_BYTES_MAX && name[i] != '\0'; i++) {
		bool digit = name[i] >= '0' && name[i] <= '9';

		if (!is_letter(name[i]) && (!digit || i == 0))
			return false;
	}
	return i > 0 && i <= NAME_BYTES_MAX;
}

bool sbx_variable_name_reserved(const char *name)
{
	for (size_t i = 0; i < COUNT(reserved_names); i++) {
		if (strcmp(reserved_names[i], name) == 0)
			return true;
	}
	for (size_t i = 0; i < COUNT(reserved_prefixes); i++) {
		if (strncmp(reserved_prefixes[i], name, strlen(reserved_prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* Could the pattern match some name that begins with 'prefix'? */
static bool reaches(const char *pattern, const char *prefix)
{
	for (; *prefix != '\0'; pattern++, prefix++) {
		if (*pattern == '*')
			return true;
		if (*pattern != '?' && *pattern != *prefix)
			return false;
	}
	return true;
}

bool sbx_variable_pattern_reserved(const char *pattern)
{
	for (size_t i = 0; i < COUNT(reserved_names); i++) {
		if (fnmatch(pattern, reserved_names[i], 0) == 0)
			return true;
	}
	for (size_t i = 0; i < COUNT(reserved_prefixes); i++) {
		if (reaches(pattern, reserved_prefixes[i]))
			return true;
	}
	return false;
}
