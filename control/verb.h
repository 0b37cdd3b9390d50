/* SPDX-License-Identifier: MIT */
#ifndef SBX_VERB_H
#define SBX_VERB_H

#include <stdbool.h>

/* What sbxctl ends with; documented in its --help. */
enum {
	SBX_EXIT_OK = 0,
	SBX_EXIT_NO = 1,     /* the answer is no, or something was found */
	SBX_EXIT_USAGE = 2,  /* the command line makes no sense */
	SBX_EXIT_FAILED = 3, /* could not be done */
};

/* The options that verbs share. Strings are borrowed from argv. */
struct sbx_verb_options {
	bool json;
	const char *policy_file;
	const char *group;
};

/* One word after "sbxctl". */
struct sbx_verb {
	const char *name;
	const char *operands; /* for the usage line; "" for none */
	const char *summary;  /* one line, in the list of verbs */
	const char *help;     /* what --help says below the usage line */
	int n_operands;	      /* exactly that many are taken */
	/*
	 * Do it. operands has n_operands entries. Errors go to stderr.
	 * Returns one of SBX_EXIT_*.
	 */
	int (*run)(char **operands, const struct sbx_verb_options *options);
};

extern const struct sbx_verb sbx_verb_check;
extern const struct sbx_verb sbx_verb_explain;

/*
 * Read the options behind a verb and run it.
 * argc, argv  as main() has them, from the verb on
 * Returns one of SBX_EXIT_*.
 */
int sbx_verb_dispatch(const struct sbx_verb *verb, int argc, char **argv);

#endif
