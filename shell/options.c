/* SPDX-License-Identifier: MIT */
#include "shell/options.h"

#include "base/number.h"
#include "base/paths.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_MIN_BYTES ((uint64_t)1 << 20)
#define MEMORY_MAX_BYTES ((uint64_t)1 << 60)

struct option {
	const char *name;
	bool has_value;
	int (*take)(struct sbx_options *options, const char *value, struct sbx_err *err);
};

static int add_folder(struct sbx_options *options, const char *text, bool read_only,
		      struct sbx_err *err)
{
	struct sbx_option_folder *grown =
	    reallocarray(options->folders, options->n_folders + 1, sizeof(*grown));

	if (grown == NULL)
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	options->folders = grown;
	options->folders[options->n_folders++] =
	    (struct sbx_option_folder){.text = text, .read_only = read_only};
	options->own = true;
	return 0;
}

static int take_bind(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	return add_folder(options, value, false, err);
}

static int take_ro_bind(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	return add_folder(options, value, true, err);
}

static int take_memory(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	if (sbx_parse_size(value, MEMORY_MIN_BYTES, MEMORY_MAX_BYTES, &options->memory_max_bytes) <
	    0)
		return sbx_fail(err, EINVAL,
				"--memory takes a size of at least 1M, for instance 512M or 4G");
	options->own = true;
	return 0;
}

static int take_no_network(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	(void)value;
	(void)err;
	options->no_network = true;
	options->own = true;
	return 0;
}

static int take_dry_run(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	(void)value;
	(void)err;
	options->dry_run = true;
	return 0;
}

static int take_help(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	(void)value;
	(void)err;
	options->help = true;
	return 0;
}

static int take_version(struct sbx_options *options, const char *value, struct sbx_err *err)
{
	(void)value;
	(void)err;
	options->version = true;
	return 0;
}

static const struct option known[] = {
    {"--bind", true, take_bind},
    {"--ro-bind", true, take_ro_bind},
    {"--no-network", false, take_no_network},
    {"--memory", true, take_memory},
    {"--dry-run", false, take_dry_run},
    {"--help", false, take_help},
    {"--version", false, take_version},
};

static const struct option *find(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) == length && strncmp(known[i].name, word, length) == 0)
			return &known[i];
	}
	return NULL;
}

/* Take the option at *word, with its value, and move behind it. 1: it is none of ours. */
static int take_option(struct sbx_options *options, char ***word, struct sbx_err *err)
{
	const char *text = **word;
	size_t length = strcspn(text, "=");
	const struct option *option = find(text, length);
	const char *value = text[length] == '=' ? text + length + 1 : NULL;

	if (option == NULL)
		return 1;
	(*word)++;
	if (!option->has_value && value != NULL)
		return sbx_fail(err, EINVAL, "%s takes no value", option->name);
	if (option->has_value && value == NULL) {
		value = **word;
		if (value == NULL)
			return sbx_fail(err, EINVAL,
					"%s needs a value; see " SBX_SHELL_NAME " --help",
					option->name);
		(*word)++;
	}
	return option->take(options, value, err);
}

/* Shells' options whose value is the next word, and not a script. */
static bool takes_next_word(const char *word)
{
	static const char *const names[] = {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(word, names[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Only for deciding who gets the terminal (relay.c), so that a guess is good enough: a
 * shell is interactive if it says -i, or is given neither a command nor a script.
 */
static bool looks_interactive(char *const *rest)
{
	bool interactive = true;

	for (size_t i = 0; rest[i] != NULL; i++) {
		const char *word = rest[i];

		if ((word[0] != '-' && word[0] != '+') || word[1] == '\0')
			return strcmp(word, "-") == 0 && interactive;
		if (takes_next_word(word)) {
			if (rest[++i] == NULL)
				break;
			continue;
		}
		if (word[1] == '-' || word[0] == '+')
			continue;
		if (strchr(word, 'i') != NULL)
			return true;
		if (strchr(word, 's') != NULL)
			return interactive;
		if (strchr(word, 'c') != NULL)
			interactive = false;
	}
	return interactive;
}

int sbx_options_parse(int argc, char **argv, struct sbx_options *ret_options, struct sbx_err *err)
{
	static char *nothing[] = {NULL};
	struct sbx_options options = {.rest = nothing};
	int rc = 0;

	if (argc > 0) {
		options.login = argv[0][0] == '-';
		options.dashless_path = !options.login && strchr(argv[0], '/') != NULL;
		options.rest = argv + 1;
	}
	while (rc == 0 && options.rest[0] != NULL) {
		if (strcmp(options.rest[0], "--") == 0) {
			options.rest++;
			options.command = true;
			if (options.rest[0] == NULL)
				rc = sbx_fail(err, EINVAL,
					      "after -- there has to be a command; without both, "
					      "a shell is started");
			break;
		}
		rc = take_option(&options, &options.rest, err);
	}
	if (rc < 0) {
		sbx_options_done(&options);
		return rc;
	}
	options.interactive = !options.command && looks_interactive(options.rest);
	*ret_options = options;
	return 0;
}

void sbx_options_done(struct sbx_options *options)
{
	free(options->folders);
	options->folders = NULL;
	options->n_folders = 0;
}

int sbx_options_shell_argv(const struct sbx_options *options, const char *path, char ***ret_argv,
			   char **ret_name, struct sbx_err *err)
{
	sbx_autofree char **argv = NULL;
	sbx_autostr struct sbx_str name = {0};
	const char *base = strrchr(path, '/');
	size_t n = 0;

	base = base == NULL ? path : base + 1;
	if (options->login)
		sbx_str_addf(&name, "-%s", base);
	else
		sbx_str_add(&name, options->dashless_path ? path : base);
	while (options->rest[n] != NULL)
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (argv == NULL || sbx_str_take(&name, ret_name) < 0)
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	argv[0] = *ret_name;
	memcpy(argv + 1, options->rest, n * sizeof(*argv));
	*ret_argv = argv;
	argv = NULL;
	return 0;
}

void sbx_options_help(void)
{
	(void)fputs(
	    "Usage: " SBX_SHELL_NAME " [OPTION]... -- COMMAND [ARGUMENT]...\n"
	    "       " SBX_SHELL_NAME " [OPTION]... [SHELL-ARGUMENT]...\n"
	    "\n"
	    "Run a command, or a shell, in a sandbox. The current directory is there, at its own\n"
	    "path, and can be written; your home, other processes and most of the system are not.\n"
	    "\n"
	    "  cd ~/project\n"
	    "  " SBX_SHELL_NAME " -- npm test            run one command\n"
	    "  " SBX_SHELL_NAME " -c 'make && make test' a shell's command line\n"
	    "  " SBX_SHELL_NAME "                        a shell to work in\n"
	    "  " SBX_SHELL_NAME " --dry-run -- npm test  show what would be done, and do nothing\n"
	    "\n"
	    "Options, which come first:\n"
	    "  --bind SRC[:DST]     one more file or directory that can be written, at DST inside\n"
	    "  --ro-bind SRC[:DST]  the same, but read-only\n"
	    "  --no-network         nothing but a loopback interface\n"
	    "  --memory SIZE        at most so much memory (512M, 4G); --dry-run says whether "
	    "that\n"
	    "                       counts for all processes together or for each\n"
	    "  --dry-run            print the plan of the sandbox and what limits memory\n"
	    "  --help, --version    print this, or the version\n"
	    "  --                   what follows is a command, not arguments of a shell\n"
	    "\n"
	    "All other arguments (-c, -l, -i, -s, a script and so on) go to the real shell "
	    "inside.\n"
	    "\n"
	    "What is inside:\n"
	    "  /usr, /etc, ...      of the host, read-only; /etc without keys and passwords\n"
	    "  home                 your own for sandboxes, kept in ~/.local/share/sbx/home\n"
	    "  /tmp                 empty, gone at the end, shared by sandboxes of the same kind\n"
	    "                       started in the same directory\n"
	    "  environment          TERM, LANG and a few more; add others by: env NAME=VALUE "
	    "COMMAND\n"
	    "  network              as outside, unless --no-network\n"
	    "Descriptors other than standard input, output and error are closed.\n"
	    "\n"
	    "Users whose login shell this is, and members of the group " SBX_GROUP
	    ", get the sandbox that\n"
	    "the administrator's " SBX_POLICY_FILE " describes, and no options that change it.\n"
	    "root is never sandboxed.\n"
	    "\n"
	    "Exit status: that of the command; 125 if there is no sandbox (nothing was run then),\n"
	    "126 if the command cannot be run, 127 if it is not found, 128+N if signal N ended "
	    "it.\n",
	    stdout); /* main() looks at stdout at the end */
}
