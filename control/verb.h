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
	/*
	 * Instead of 'run', for a verb with options of its own: it reads the command line
	 * from the verb on itself, with getopt_long(3), and answers -h and --help with
	 * sbx_verb_print_help(). 'help' lists its options. argv[0] is "sbxctl".
	 */
	int (*run_own)(int argc, char **argv);
};

extern const struct sbx_verb sbx_verb_access;
extern const struct sbx_verb sbx_verb_check;
extern const struct sbx_verb sbx_verb_enroll;
extern const struct sbx_verb sbx_verb_exec;
extern const struct sbx_verb sbx_verb_exists;
extern const struct sbx_verb sbx_verb_explain;
extern const struct sbx_verb sbx_verb_kill;
extern const struct sbx_verb sbx_verb_logs;
extern const struct sbx_verb sbx_verb_ls;
extern const struct sbx_verb sbx_verb_path;
extern const struct sbx_verb sbx_verb_ps;
extern const struct sbx_verb sbx_verb_read;
extern const struct sbx_verb sbx_verb_secret;
extern const struct sbx_verb sbx_verb_start;
extern const struct sbx_verb sbx_verb_status;
extern const struct sbx_verb sbx_verb_stop;
extern const struct sbx_verb sbx_verb_unenroll;
extern const struct sbx_verb sbx_verb_write;

/*
 * Read the options behind a verb and run it.
 * argc, argv  as main() has them, from the verb on
 * Returns one of SBX_EXIT_*.
 */
int sbx_verb_dispatch(const struct sbx_verb *verb, int argc, char **argv);

/* Point to --help on stderr; returns SBX_EXIT_USAGE. */
int sbx_verb_usage_error(const struct sbx_verb *verb);
/* Usage and help on stdout; returns SBX_EXIT_OK. */
int sbx_verb_print_help(const struct sbx_verb *verb);
/*
 * Look whether exactly 'wanted' operands are left behind optind.
 * Returns SBX_EXIT_OK, or SBX_EXIT_USAGE with the reason on stderr.
 */
int sbx_verb_check_operands(const struct sbx_verb *verb, int wanted, int argc, char **argv);

#endif
