/* SPDX-License-Identifier: MIT */
#ifndef SBX_OPTIONS_H
#define SBX_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The command line, which has to serve two masters. What starts login shells hands over
 * whatever it likes ("-c STRING", "-l", a script), to be passed on to the real shell as it
 * stands. And a person names options of sbxsh's own. So:
 *
 *   - the own options are few, long, and come first; they are recognised by their whole
 *     names, not abbreviated
 *   - "--" ends them and what follows is a command with its arguments, run without a shell
 *   - the first word that is anything else, and all after it, belong to the real shell
 *
 * getopt_long(3) cannot do that: it would take "--log" for "--login", and complain about
 * "-c" instead of leaving it alone.
 */
struct sbx_options {
	struct sbx_option_folder {
		const char *text; /* SRC[:DST] as given */
		bool read_only;
	} * folders;
	size_t n_folders;
	uint64_t memory_max_bytes; /* 0: not given */
	bool no_network;
	bool dry_run;
	bool help;
	bool version;
	bool own;	    /* one of those that change the sandbox was given */
	bool command;	    /* 'rest' is a command, not arguments of the real shell */
	bool login;	    /* argv[0] has the leading dash */
	bool dashless_path; /* argv[0] is a path, not just a name */
	bool interactive;   /* the real shell will ask a terminal for commands, if there is one */
	char **rest;	    /* NULL-terminated, borrowed from argv */
};

/*
 * argv  borrowed, and has to outlive the options
 * Returns 0 or -EINVAL with a message that says what would be right.
 */
int sbx_options_parse(int argc, char **argv, struct sbx_options *ret_options, struct sbx_err *err);
void sbx_options_done(struct sbx_options *options);

void sbx_options_help(void);

/*
 * The argument list for the real shell 'path': its name in the way sbxsh was called by its
 * own ("-bash", "bash" or "/bin/bash"), then what was given, verbatim.
 * ret_argv  the caller frees the array, not the strings, and *ret_name
 */
int sbx_options_shell_argv(const struct sbx_options *options, const char *path, char ***ret_argv,
			   char **ret_name, struct sbx_err *err);

#endif
