/* SPDX-License-Identifier: MIT */
#ifndef SBX_VIEW_H
#define SBX_VIEW_H

#include <stdbool.h>

/*
 * What of the host may be seen inside, by name. The one place to look at, and to
 * edit, when something is missing in a sandbox or should not be there.
 */

/* Top-level directories that an image (or the host) provides, with the links of a merged /usr. */
extern const char *const sbx_view_top[];

/*
 * Entries of /etc that may appear inside, as fnmatch(3) patterns below /etc. An
 * allow-list: what is not named does not exist inside. Files are copied,
 * directories are mounted, links are repeated. Patterns never match a '/'.
 */
extern const char *const sbx_view_etc[];

/* The same for entries further down, as plain paths below /etc. */
extern const char *const sbx_view_etc_nested[];

/* Is "/etc/..." in one of the two lists above? Pure. */
bool sbx_view_etc_allows(const char *path);

/* Files that always come from the host, even with an image: where links in them lead is copied. */
extern const char *const sbx_view_etc_host[];

/* Parts of /sys that programs read to size themselves. */
extern const char *const sbx_view_sys[];

/* Device nodes. */
extern const char *const sbx_view_dev[];

/* Host paths, besides the above, on whose existence a plan depends. */
extern const char *const sbx_view_host[];

/* The host's name stays outside; this one stands in the prompt instead. */
#define SBX_HOSTNAME "sandbox"
/* Added to the copy of /etc/hosts, so that the name resolves. */
#define SBX_HOSTS_LINE "127.0.1.1 " SBX_HOSTNAME "\n"

/*
 * /etc/profile of a sandbox. The host's would set PATH anew and so undo the policy's;
 * for the rest it does what Debian's does.
 */
extern const char sbx_view_profile[];

/* The shell of a policy that names none, and what stands in where it is not installed. */
#define SBX_SHELL_DEFAULT "/bin/bash"
#define SBX_SHELL_FALLBACK "/bin/sh"

#endif
