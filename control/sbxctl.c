/* SPDX-License-Identifier: MIT */
/* The admin's command: finds the verb and hands over. One file a verb: verb_*.c */
#include "base/paths.h"
#include "control/output.h"
#include "control/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct sbx_verb *const verbs[] = {
    &sbx_verb_enroll, &sbx_verb_unenroll, &sbx_verb_secret, &sbx_verb_exec,   &sbx_verb_status,
    &sbx_verb_ps,     &sbx_verb_logs,	  &sbx_verb_start,  &sbx_verb_stop,   &sbx_verb_kill,
    &sbx_verb_read,   &sbx_verb_write,	  &sbx_verb_ls,	    &sbx_verb_exists, &sbx_verb_access,
    &sbx_verb_path,   &sbx_verb_explain,  &sbx_verb_check,
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void print_help(void)
{
	sbx_print("usage: sbxctl VERB [OPTION...] [OPERAND...]\n"
		  "\n"
		  "Users in the group '" SBX_GROUP
		  "' live in a sandbox of their own from login to logout.\n"
		  "Put one in with 'sbxctl enroll USER'; the policy is in " SBX_POLICY_FILE ".\n"
		  "\n"
		  "verbs:\n");
	for (size_t i = 0; i < N_VERBS; i++)
		sbx_print("  %-10s %-24s %s\n", verbs[i]->name, verbs[i]->operands,
			  verbs[i]->summary);
	sbx_print(
	    "\n"
	    "  sbxctl VERB --help   more about one of them\n"
	    "  sbxctl --version\n"
	    "\n"
	    "exit status: 0 done, or the answer is yes; 1 the answer is no, or something was\n"
	    "found; 2 wrong usage; 3 could not be done.\n");
}

/*
 * A standard stream that the caller has closed: the next file that is opened would take its
 * number, and be read or written in its place. What is put there fails when it is used.
 */
static void guard_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

/* A closed pipe or a full disk must not read as success: output is what was asked for. */
static int finish(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		sbx_complain(NULL, "standard output: %s", strerror(errno));
		return SBX_EXIT_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	guard_standard_streams();
	if (word == NULL) {
		sbx_complain(NULL, "which verb? 'sbxctl --help' lists them");
		return SBX_EXIT_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_help();
		return finish(SBX_EXIT_OK);
	}
	if (strcmp(word, "--version") == 0) {
		sbx_print("sbxctl %s\n", SBX_VERSION);
		return finish(SBX_EXIT_OK);
	}
	for (size_t i = 0; i < N_VERBS; i++) {
		if (strcmp(word, verbs[i]->name) == 0)
			return finish(sbx_verb_dispatch(verbs[i], argc - 1, argv + 1));
	}
	sbx_complain(NULL, "no %s '%s'; 'sbxctl --help' lists what there is",
		     word[0] == '-' ? "option" : "verb", word);
	return SBX_EXIT_USAGE;
}
