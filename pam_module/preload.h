/* SPDX-License-Identifier: MIT */
#ifndef SBX_PAM_PRELOAD_H
#define SBX_PAM_PRELOAD_H

#include "base/err.h"

/*
 * Load every NSS module that the host's nsswitch.conf names into this process. After
 * the join, /usr may be an image's: a look-up by sshd or su would then load the
 * image's library into a root process (the CVE-2019-14271 kind). What is loaded is
 * found by its name and not opened again. A module that is not installed is skipped,
 * as the C library does.
 */
int sbx_preload_nss(struct sbx_err *err);

#endif
