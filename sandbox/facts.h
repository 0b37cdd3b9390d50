/* SPDX-License-Identifier: MIT */
#ifndef SBX_FACTS_H
#define SBX_FACTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* What a path is on this host, as far as a plan depends on it. */
enum sbx_fact_kind {
	SBX_FACT_FILE, /* regular file, socket or device node */
	SBX_FACT_DIRECTORY,
	SBX_FACT_LINK,
};

struct sbx_fact {
	char *path; /* absolute; in the image's own view for 'image' facts */
	enum sbx_fact_kind kind;
	char *link_text; /* of a link, as readlink(2) gives it; else NULL */
};

struct sbx_fact_list {
	struct sbx_fact *entries;
	size_t n_entries;
};

/*
 * All that a plan needs to know about the machine. Gathered in one place so that
 * sbx_plan_make() can stay pure and be tested with literals.
 */
struct sbx_facts {
	struct sbx_fact_list image; /* under the policy's 'root': /usr, /bin, /etc/... */
	struct sbx_fact_list host;  /* always of the host: /run/dbus, /sys/..., /etc/resolv.conf */
	/* The caller is not root, so a user namespace has to give it the right to build. */
	bool unprivileged;
};

/*
 * Look at the machine. Only names are looked at, no content is read.
 * image_root  "/" or the policy's image directory
 * ret_facts   caller frees with sbx_facts_free()
 */
int sbx_facts_probe(const char *image_root, struct sbx_facts **ret_facts, struct sbx_err *err);
void sbx_facts_free(struct sbx_facts *facts);
void sbx_facts_freep(struct sbx_facts **facts);

/* The fact about exactly that path, or NULL when it is absent. */
const struct sbx_fact *sbx_fact_find(const struct sbx_fact_list *list, const char *path);

/* Append a fact (copies its strings). link_text may be NULL. */
int sbx_fact_add(struct sbx_fact_list *list, const char *path, enum sbx_fact_kind kind,
		 const char *link_text);

#endif
