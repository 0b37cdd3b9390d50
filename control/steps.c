/* SPDX-License-Identifier: MIT */
#include "control/steps.h"

#include "base/str.h"
#include "control/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sbx_steps_add(struct sbx_steps *steps, const char *what, bool changed, const char *fmt, ...)
{
	struct sbx_step *grown;
	va_list arguments;
	char *text;
	int n;

	va_start(arguments, fmt);
	n = vasprintf(&text, fmt, arguments);
	va_end(arguments);
	if (n < 0) {
		steps->rc = -ENOMEM;
		return;
	}
	grown = reallocarray(steps->entries, steps->n_entries + 1, sizeof(*grown));
	if (grown == NULL) {
		free(text);
		steps->rc = -ENOMEM;
		return;
	}
	steps->entries = grown;
	grown[steps->n_entries++] = (struct sbx_step){what, changed, text};
}

void sbx_steps_add_next(struct sbx_steps *steps, const char *fmt, ...)
{
	sbx_autofree char *text = NULL;
	va_list arguments;
	int n;

	va_start(arguments, fmt);
	n = vasprintf(&text, fmt, arguments);
	va_end(arguments);
	if (n < 0)
		text = NULL; /* undefined then */
	if (text == NULL || sbx_strv_append(&steps->next, text) < 0)
		steps->rc = -ENOMEM;
}

static int print_json(const struct sbx_steps *steps, const char *user, bool dry_run)
{
	json_t *list = json_array();
	json_t *next = json_array();
	json_auto_t *root = NULL;
	bool changed = false;

	for (size_t i = 0; i < steps->n_entries; i++) {
		const struct sbx_step *step = &steps->entries[i];

		changed = changed || step->changed;
		(void)json_array_append_new(list, /* a NULL list fails in the final check */
					    json_pack("{s:s, s:b, s:s}", "step", step->what,
						      "changed", step->changed, "text",
						      step->text));
	}
	for (size_t i = 0; steps->next != NULL && steps->next[i] != NULL; i++)
		(void)json_array_append_new(next, json_string(steps->next[i])); /* as above */
	root = json_pack("{s:s, s:b, s:b, s:o, s:o}", "user", user, "dry_run", dry_run, "changed",
			 changed, "steps", list, "next", next);
	return sbx_print_json(root);
}

int sbx_steps_print(const struct sbx_steps *steps, const char *user, bool dry_run, bool json)
{
	if (steps->rc < 0)
		return steps->rc;
	if (json)
		return print_json(steps, user, dry_run);
	for (size_t i = 0; i < steps->n_entries; i++) {
		const struct sbx_step *step = &steps->entries[i];
		const char *how = !step->changed ? "is so" : dry_run ? "would be" : "done";

		sbx_print("%-9s %-8s  %s\n", step->what, how, step->text);
	}
	for (size_t i = 0; steps->next != NULL && steps->next[i] != NULL; i++)
		sbx_print("%s%s\n", i == 0 ? "next:\n  " : "  ", steps->next[i]);
	return 0;
}

void sbx_steps_done(struct sbx_steps *steps)
{
	for (size_t i = 0; i < steps->n_entries; i++)
		free(steps->entries[i].text);
	free(steps->entries);
	sbx_strv_free(steps->next);
	*steps = (struct sbx_steps){0};
}
