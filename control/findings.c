/* SPDX-License-Identifier: MIT */
#include "control/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *severity_name(enum sbx_severity severity)
{
	switch (severity) {
	case SBX_FINDING_ERROR:
		return "error";
	case SBX_FINDING_WARNING:
		return "warning";
	}
	return "?";
}

__attribute__((format(printf, 2, 0))) static char *format(struct sbx_findings *findings,
							  const char *fmt, va_list arguments)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, arguments) < 0) {
		findings->rc = -ENOMEM;
		return NULL;
	}
	/* Names of users and files are quoted in it, and end up on an admin's terminal. */
	for (char *c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return text;
}

void sbx_findings_add(struct sbx_findings *findings, enum sbx_severity severity,
		      const char *subject, const char *fmt, ...)
{
	struct sbx_finding *entries;
	struct sbx_finding *finding;
	va_list arguments;

	if (findings->rc < 0)
		return;
	entries = reallocarray(findings->entries, findings->n_entries + 1, sizeof(*entries));
	if (entries == NULL) {
		findings->rc = -ENOMEM;
		return;
	}
	findings->entries = entries;
	finding = &entries[findings->n_entries++];
	*finding = (struct sbx_finding){.severity = severity, .subject = strdup(subject)};
	if (finding->subject == NULL)
		findings->rc = -ENOMEM;
	va_start(arguments, fmt);
	finding->what = format(findings, fmt, arguments);
	va_end(arguments);
}

void sbx_findings_remedy(struct sbx_findings *findings, const char *fmt, ...)
{
	struct sbx_finding *last;
	va_list arguments;

	if (findings->rc < 0 || findings->n_entries == 0)
		return;
	last = &findings->entries[findings->n_entries - 1];
	free(last->remedy);
	va_start(arguments, fmt);
	last->remedy = format(findings, fmt, arguments);
	va_end(arguments);
}

size_t sbx_findings_count(const struct sbx_findings *findings, enum sbx_severity severity)
{
	size_t n = 0;

	for (size_t i = 0; i < findings->n_entries; i++)
		n += findings->entries[i].severity == severity;
	return n;
}

static void print_severity(const struct sbx_findings *findings, enum sbx_severity severity,
			   struct sbx_str *out)
{
	for (size_t i = 0; i < findings->n_entries; i++) {
		const struct sbx_finding *finding = &findings->entries[i];

		if (finding->severity != severity)
			continue;
		sbx_str_addf(out, "%s: %s: %s\n", severity_name(severity), finding->subject,
			     finding->what);
		if (finding->remedy != NULL)
			sbx_str_addf(out, "    mend: %s\n", finding->remedy);
	}
}

void sbx_findings_print(const struct sbx_findings *findings, struct sbx_str *out)
{
	const size_t n_errors = sbx_findings_count(findings, SBX_FINDING_ERROR);
	const size_t n_warnings = sbx_findings_count(findings, SBX_FINDING_WARNING);

	print_severity(findings, SBX_FINDING_ERROR, out);
	print_severity(findings, SBX_FINDING_WARNING, out);
	sbx_str_addf(out, "%zu error%s, %zu warning%s\n", n_errors, n_errors == 1 ? "" : "s",
		     n_warnings, n_warnings == 1 ? "" : "s");
}

json_t *sbx_findings_json(const struct sbx_findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->n_entries; i++) {
		const struct sbx_finding *finding = &findings->entries[i];
		json_t *entry = json_pack(
		    "{s:s, s:s, s:s, s:s?}", "severity", severity_name(finding->severity),
		    "subject", finding->subject, "what", finding->what, "remedy", finding->remedy);

		if (json_array_append_new(list, entry) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:o, s:I, s:I}", "findings", list, "errors",
			 (json_int_t)sbx_findings_count(findings, SBX_FINDING_ERROR), "warnings",
			 (json_int_t)sbx_findings_count(findings, SBX_FINDING_WARNING));
}

void sbx_findings_done(struct sbx_findings *findings)
{
	for (size_t i = 0; i < findings->n_entries; i++) {
		free(findings->entries[i].subject);
		free(findings->entries[i].what);
		free(findings->entries[i].remedy);
	}
	free(findings->entries);
	*findings = (struct sbx_findings){0};
}
