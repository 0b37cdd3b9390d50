/* SPDX-License-Identifier: MIT */
#ifndef SBX_FINDINGS_H
#define SBX_FINDINGS_H

#include "base/str.h"

#include <jansson.h>
#include <stddef.h>

enum sbx_severity {
	SBX_FINDING_ERROR,   /* logins fail, or somebody who should be in a sandbox is not */
	SBX_FINDING_WARNING, /* worth a look */
};

struct sbx_finding {
	enum sbx_severity severity;
	char *subject; /* the file, user or service it is about */
	char *what;
	char *remedy; /* a command, or what to do; NULL if there is nothing to say */
};

/* A list whose error sticks, like struct sbx_str's. Start from {0}. */
struct sbx_findings {
	struct sbx_finding *entries;
	size_t n_entries;
	int rc;
};

void sbx_findings_add(struct sbx_findings *findings, enum sbx_severity severity,
		      const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Say how the finding that was added last is mended. */
void sbx_findings_remedy(struct sbx_findings *findings, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

size_t sbx_findings_count(const struct sbx_findings *findings, enum sbx_severity severity);
void sbx_findings_print(const struct sbx_findings *findings, struct sbx_str *out);
/* {"findings": [...], "errors": N, "warnings": N}; NULL without memory. The caller's. */
json_t *sbx_findings_json(const struct sbx_findings *findings);
void sbx_findings_done(struct sbx_findings *findings);

#define sbx_autofindings __attribute__((cleanup(sbx_findings_done)))

#endif
