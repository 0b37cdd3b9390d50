/* SPDX-License-Identifier: MIT */
#ifndef SBX_CONFINE_COMMON_H
#define SBX_CONFINE_COMMON_H

#include "base/err.h"

/*
 * What all confined processes have in common: locked securebits, no_new_privs, empty
 * bounding and ambient sets. The process's own permitted, effective and inheritable sets
 * stay. Private to sandbox/confine*.c.
 */
int sbx_confine_common(struct sbx_err *err);

#endif
