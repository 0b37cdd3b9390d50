/* SPDX-License-Identifier: MIT */
#ifndef SBX_PATHS_H
#define SBX_PATHS_H

/* Where things are on this host. The Makefile sets the SBX_*DIR values from its own variables. */

#ifndef SBX_SYSCONFDIR
#define SBX_SYSCONFDIR "/etc"
#endif
#ifndef SBX_BINDIR
#define SBX_BINDIR "/usr/local/bin"
#endif
#ifndef SBX_LIBEXECDIR
#define SBX_LIBEXECDIR "/usr/local/libexec"
#endif
#ifndef SBX_VERSION
#define SBX_VERSION "0"
#endif

#define SBX_POLICY_FILE SBX_SYSCONFDIR "/sbx/policy.ini"
#define SBX_ENV_DIR SBX_SYSCONFDIR "/sbx/env.d"
#define SBX_SKEL_DIR SBX_SYSCONFDIR "/sbx/skel"
#define SBX_KEYS_DIR SBX_SYSCONFDIR "/sbx/keys" /* authorized_keys, one file a user */
#define SBX_KEEPER SBX_LIBEXECDIR "/sbx/sbx-keeper"
#define SBX_WORKSPACE_ROOT "/var/lib/sbx"
#define SBX_RUN_DIR "/run/sbx"
#define SBX_GROUP "sbx"
#define SBX_SHELL_NAME "sbxsh"

/* Inside a sandbox. */
#define SBX_INSIDE_MARKER "/run/sbx/inside" /* holds the path of the real shell */
#define SBX_INSIDE_POCKET "/run/host"	    /* root-only, see docs/ARCHITECTURE.md */

#endif
