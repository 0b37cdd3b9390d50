/* SPDX-License-Identifier: MIT */
#ifndef SBX_PUBLIC_KEY_H
#define SBX_PUBLIC_KEY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SBX_PUBLIC_KEYS_MAX_BYTES ((size_t)64 << 10)

/*
 * Pure: is this what may stand in an authorized_keys file: lines with a public key each
 * (options before it are allowed), blank ones and comments?
 * file  its name, for messages
 * Returns 0, or -EINVAL; the message quotes nothing of the text, which may be a private key.
 */
int sbx_public_keys_check(const char *file, const char *text, size_t length, struct sbx_err *err);

/*
 * Add the keys of 'text' that are not there yet to a file that root owns and all can
 * read, as sshd reads it with the user's rights. The directory is made if absent.
 * Nothing is written while sbx_public_keys_check() has not accepted the text.
 * ret_added  how many
 * dry_run    only count
 */
int sbx_public_keys_install(const char *dir, const char *user, const char *text, bool dry_run,
			    size_t *ret_added, struct sbx_err *err);

#endif
