/* SPDX-License-Identifier: MIT */
#ifndef SBX_SOURCES_H
#define SBX_SOURCES_H

#include "base/err.h"
#include "sandbox/plan.h"

#include <sys/types.h>

/*
 * What a plan takes from the host, found before a user namespace is entered. In there
 * root's files seem to belong to "nobody", as everybody else's do, so a walk along a
 * path could not tell any more whose link it meets. And the mounts are copies by then,
 * so descriptors do not help either. Therefore: walk here, remember where it ended, and
 * check in there that the same file is still at that place.
 */

struct sbx_source {
	char *path; /* without any link in it; NULL: nothing is there, or nothing to mount */
	dev_t device;
	ino_t inode;
	char *text; /* of SBX_OP_COPY; NULL: do not copy */
	size_t length;
};

struct sbx_sources {
	struct sbx_source image_root;
	struct sbx_source *ops; /* one for each op of the plan */
	size_t n_ops;
};

/*
 * Look for them, in the host's view and as the user. A workspace that is absent is made.
 * ret_sources  caller frees with sbx_sources_free()
 */
int sbx_sources_find(const struct sbx_plan *plan, struct sbx_sources **ret_sources,
		     struct sbx_err *err);
void sbx_sources_free(struct sbx_sources *sources);
void sbx_sources_freep(struct sbx_sources **sources);

/*
 * Open one again, as O_PATH.
 * Returns 0 or -errno: -ENOENT nothing was there, -ESTALE something else is there now.
 */
int sbx_source_open(const struct sbx_source *source, int *ret_fd, struct sbx_err *err);

#endif
