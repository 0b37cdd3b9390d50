/* SPDX-License-Identifier: MIT */
#ifndef SBX_STEPS_H
#define SBX_STEPS_H

#include <stdbool.h>
#include <stddef.h>

/* What a verb did, or would do, one after the other; for people and as JSON. */
struct sbx_step {
	const char *what; /* a word: "user", "group", ...; static */
	bool changed;	  /* false: it was so already */
	char *text;
};

/* A list whose error sticks, like struct sbx_str's. Start from {0}. */
struct sbx_steps {
	struct sbx_step *entries;
	size_t n_entries;
	char **next; /* what to do then */
	int rc;
};

void sbx_steps_add(struct sbx_steps *steps, const char *what, bool changed, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void sbx_steps_add_next(struct sbx_steps *steps, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Print them to standard output. Returns 0 or -errno, the sticky one included. */
int sbx_steps_print(const struct sbx_steps *steps, const char *user, bool dry_run, bool json);
void sbx_steps_done(struct sbx_steps *steps);

#define sbx_autosteps __attribute__((cleanup(sbx_steps_done)))

#endif
