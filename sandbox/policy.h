/* SPDX-License-Identifier: MIT */
#ifndef SBX_POLICY_H
#define SBX_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The validated settings of one user. The core takes them as they stand; config/
 * fills them from files, sbxsh from its command line.
 */

#define SBX_UNLIMITED UINT64_MAX
#define SBX_LINGER_FOREVER UINT64_MAX

enum sbx_network {
	SBX_NETWORK_HOST, /* the host's network namespace is shared */
	SBX_NETWORK_NONE, /* an own one with nothing but loopback */
};

enum sbx_landlock {
	SBX_LANDLOCK_OFF,
	SBX_LANDLOCK_PREFER,  /* use what the kernel has */
	SBX_LANDLOCK_REQUIRE, /* refuse without it */
};

/* One more path that is visible inside. */
struct sbx_folder {
	char *source; /* absolute host path */
	char *target; /* absolute path inside; equal to source unless SRC:DST was given */
	bool read_only;
	bool optional; /* leading '?': skipped when the source does not exist */
};

struct sbx_policy {
	char *workspace;	    /* absolute host path, %u already expanded */
	char *home;		    /* where the workspace appears inside; absolute */
	char *root;		    /* "/" or the image directory that provides /usr, /etc, ... */
	char *shell;		    /* real shell; absolute */
	struct sbx_folder *folders; /* in the order of the file */
	size_t n_folders;
	uint64_t memory_max_bytes;
	uint64_t memory_high_bytes; /* SBX_UNLIMITED = not set */
	uint64_t swap_max_bytes;
	uint64_t tasks_max;
	uint64_t cpu_max_percent; /* of one CPU; SBX_UNLIMITED = not set */
	uint64_t tmp_size_bytes;  /* each tmpfs */
	enum sbx_network network;
	bool user_namespaces; /* true = allowed inside */
	uint64_t linger_s;    /* SBX_LINGER_FOREVER = until stopped */
	char **env_pass;      /* fnmatch(3) patterns, NULL-terminated */
	char *path;	      /* $PATH inside, "~" already expanded to home */
	enum sbx_landlock landlock;
	bool git_credentials; /* sessions get git configured for a token of the store */
};

void sbx_policy_free(struct sbx_policy *policy);
void sbx_policy_freep(struct sbx_policy **policy);

#endif
