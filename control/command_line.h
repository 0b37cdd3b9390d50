/* SPDX-License-Identifier: MIT */
#ifndef SBX_COMMAND_LINE_H
#define SBX_COMMAND_LINE_H

#include "control/verb.h"

#include <stdbool.h>

/* An option of one verb, besides --json, --policy, --group and --help, which all have. */
struct sbx_option {
	const char *name;     /* long, without the dashes; NULL ends a table */
	char letter;	      /* short form, or '\0' */
	const char *argument; /* what it is called in the help; NULL: takes none */
	const char *help;
};

struct sbx_option_given {
	const struct sbx_option *option;
	const char *value; /* borrowed from argv; NULL if it takes none */
};

/* A command line, read. All strings are borrowed from argv. */
struct sbx_command_line {
	struct sbx_verb_options common;
	struct sbx_option_given *given; /* in the order of the command line */
	int n_given;
	char **operands;
	int n_operands;
	char **command; /* what follows the operands, up to argv's NULL */
};

/*
 * Read the command line of a verb that has options of its own.
 * own              its options
 * min, max         how many operands it takes
 * command_follows  what comes after 'max' operands, or after "--", is a command, whose
 *                  options are its own business
 * ret              caller frees with sbx_command_line_done(), whatever is returned
 * Returns -1 when the verb is to go on, else the exit status: --help was answered, or
 * the mistake complained about.
 */
int sbx_command_line_read(const struct sbx_verb *verb, const struct sbx_option *own, int min,
			  int max, bool command_follows, int argc, char **argv,
			  struct sbx_command_line *ret);
void sbx_command_line_done(struct sbx_command_line *line);

#define sbx_autocommandline __attribute__((cleanup(sbx_command_line_done)))

/* The value given last ("" for an option without), or NULL if it was not given. */
const char *sbx_command_line_value(const struct sbx_command_line *line, const char *name);

/*
 * Seconds as "90", "2.5" or "0.001", at most three decimals, to milliseconds.
 * Returns 0, -EINVAL or -ERANGE (more than a year; 0 is allowed).
 */
int sbx_parse_seconds(const char *text, unsigned long long *ret_ms);

#endif
