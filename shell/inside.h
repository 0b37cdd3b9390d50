/* SPDX-License-Identifier: MIT */
#ifndef SBX_INSIDE_H
#define SBX_INSIDE_H

#include "base/err.h"
#include "shell/options.h"

/*
 * Are we in a sandbox already? Yes if /run/sbx/inside is a file that only a sandbox can
 * have there, and then it names the real shell.
 *
 * Nothing in the environment, no argument and no file that a user can make counts. On a
 * host /run is root's, so no user can put that path there. It must besides be on a
 * read-only tmpfs (no user can mount one) and belong to root, or, in a sandbox that was
 * made without root, to this user, in a user namespace in which root does not exist.
 * A user who brings a mount namespace of his own can forge all of it, for himself:
 * nobody else's sbxsh runs in there.
 *
 * ret_shell  path of the real shell, caller frees; NULL: not inside
 * Returns 0, or -errno when the file is there but not as it must be.
 */
int sbx_inside_shell(char **ret_shell, struct sbx_err *err);

/*
 * Become the real shell, or the command after "--": nothing stays in between.
 * Returns only on failure, with an exit status; a message has been printed.
 */
int sbx_inside_exec(const struct sbx_options *options, const char *shell);

#endif
