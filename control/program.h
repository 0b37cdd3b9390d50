/* SPDX-License-Identifier: MIT */
#ifndef SBX_PROGRAM_H
#define SBX_PROGRAM_H

#include "base/err.h"

/*
 * Run a program of the system, such as useradd, and wait for it. Its environment is
 * made from empty, its input is empty, its output is dropped, its errors go to stderr.
 * path  absolute
 * argv  argv[0] included, ends with NULL
 * Returns 0 if it ended with 0, or -errno.
 */
int sbx_program_run(const char *path, char *const argv[], struct sbx_err *err);

#endif
