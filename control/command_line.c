/* SPDX-License-Identifier: MIT */
#include "control/command_line.h"

#include "base/number.h"
#include "base/paths.h"
#include "base/str.h"
#include "control/output.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define OWN_MAX 16
#define OPERAND 1 /* what getopt_long(3) returns for a word that is no option, in order */
#define YEAR_S 31622400U
#define MS_PER_S 1000U

enum { OPTION_JSON = 256, OPTION_POLICY, OPTION_GROUP, OPTION_OWN };

static const struct option common_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"policy", required_argument, NULL, OPTION_POLICY},
    {"group", required_argument, NULL, OPTION_GROUP},
    {"help", no_argument, NULL, 'h'},
};

#define N_COMMON (sizeof(common_options) / sizeof(common_options[0]))

static void print_help(const struct sbx_verb *verb, const struct sbx_option *own)
{
	(void)sbx_verb_print_help(verb); /* always OK */
	sbx_print("options:\n");
	for (; own->name != NULL; own++) {
		char text[64];
		char letter[] = {'-', own->letter, ',', ' ', '\0'};

		(void)snprintf(text, sizeof(text), "%s--%s%s%s", own->letter == '\0' ? "" : letter,
			       own->name, own->argument == NULL ? "" : " ",
			       own->argument == NULL ? "" : own->argument); /* short, all of them */
		sbx_print("  %-19s %s\n", text, own->help);
	}
	sbx_print(
	    "  --json              print JSON, for programs\n"
	    "  --policy FILE       read this policy instead of %s\n"
	    "  --group NAME        members are enrolled (default: %s); as the module's group=\n"
	    "  -h, --help          this text\n",
	    SBX_POLICY_FILE, SBX_GROUP);
}

/* What getopt_long(3) wants to know, made from the table. */
struct grammar {
	struct option options[N_COMMON + OWN_MAX + 1];
	char letters[2 * OWN_MAX + 4];
};

static void make_grammar(const struct sbx_option *own, struct grammar *ret)
{
	size_t n = 0;
	char *letter = ret->letters;

	memset(ret, 0, sizeof(*ret));
	*letter++ = '-'; /* options and operands in the order they come */
	*letter++ = 'h';
	for (; n < N_COMMON; n++)
		ret->options[n] = common_options[n];
	for (int i = 0; i < OWN_MAX && own[i].name != NULL; i++, n++) {
		ret->options[n] = (struct option){
		    .name = own[i].name,
		    .has_arg = own[i].argument == NULL ? no_argument : required_argument,
		    .val = OPTION_OWN + i,
		};
		if (own[i].letter == '\0')
			continue;
		*letter++ = own[i].letter;
		if (own[i].argument != NULL)
			*letter++ = ':';
	}
}

static const struct sbx_option *own_option(const struct sbx_option *own, int found)
{
	if (found >= OPTION_OWN)
		return &own[found - OPTION_OWN];
	while (own->letter != (char)found)
		own++;
	return own;
}

/* Returns false when the rest of the command line is not for us. */
static bool take(struct sbx_command_line *line, const struct sbx_option *own, int max,
		 bool command_follows, int found, char **argv)
{
	switch (found) {
	case OPTION_JSON:
		line->common.json = true;
		return true;
	case OPTION_POLICY:
		line->common.policy_file = optarg;
		return true;
	case OPTION_GROUP:
		line->common.group = optarg;
		return true;
	case OPERAND:
		if (command_follows && line->n_operands == max) {
			optind--;
			return false;
		}
		line->operands[line->n_operands++] = argv[optind - 1];
		return true;
	default:
		line->given[line->n_given++] =
		    (struct sbx_option_given){.option = own_option(own, found), .value = optarg};
		return true;
	}
}

static int count_operands(const struct sbx_verb *verb, const struct sbx_command_line *line, int min,
			  int max)
{
	if (line->n_operands > max)
		sbx_complain(verb->name, "one word too many: '%s'", line->operands[max]);
	else if (line->n_operands < min)
		sbx_complain(verb->name, "what is missing is %s", verb->operands);
	else
		return -1;
	return sbx_verb_usage_error(verb);
}

int sbx_command_line_read(const struct sbx_verb *verb, const struct sbx_option *own, int min,
			  int max, bool command_follows, int argc, char **argv,
			  struct sbx_command_line *ret)
{
	struct grammar grammar;
	int found;

	*ret = (struct sbx_command_line){
	    .common = {.policy_file = SBX_POLICY_FILE, .group = SBX_GROUP},
	    .given = calloc((size_t)argc + 1, sizeof(*ret->given)),
	    .operands = calloc((size_t)argc + 1, sizeof(*ret->operands)),
	};
	if (ret->given == NULL || ret->operands == NULL) {
		sbx_complain(verb->name, "%s", strerror(ENOMEM));
		return SBX_EXIT_FAILED;
	}
	make_grammar(own, &grammar);
	optind = 0;
	while ((found = getopt_long(argc, argv, grammar.letters, grammar.options, NULL)) != -1) {
		if (found == 'h') {
			print_help(verb, own);
			return SBX_EXIT_OK;
		}
		if (found == '?')
			return sbx_verb_usage_error(verb);
		if (!take(ret, own, max, command_follows, found, argv))
			break;
	}
	while (optind < argc && (!command_follows || ret->n_operands < max))
		ret->operands[ret->n_operands++] = argv[optind++];
	ret->command = argv + optind;
	return count_operands(verb, ret, min, max);
}

void sbx_command_line_done(struct sbx_command_line *line)
{
	free(line->given);
	free(line->operands);
	line->given = NULL;
	line->operands = NULL;
}

const char *sbx_command_line_value(const struct sbx_command_line *line, const char *name)
{
	const char *value = NULL;

	for (int i = 0; i < line->n_given; i++) {
		if (strcmp(line->given[i].option->name, name) == 0)
			value = line->given[i].value == NULL ? "" : line->given[i].value;
	}
	return value;
}

int sbx_parse_seconds(const char *text, unsigned long long *ret_ms)
{
	const char *point = strchr(text, '.');
	size_t whole = point == NULL ? strlen(text) : (size_t)(point - text);
	char digits[16] = "";
	char decimals[] = "000";
	uint64_t s = 0;
	uint64_t ms = 0;
	int rc;

	if (whole == 0 || whole >= sizeof(digits))
		return whole == 0 ? -EINVAL : -ERANGE;
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)whole, text); /* fits */
	if (point != NULL) {
		const size_t n = strlen(point + 1);

		if (n == 0 || n > sizeof(decimals) - 1)
			return -EINVAL;
		memcpy(decimals, point + 1, n);
	}
	rc = sbx_parse_u64(digits, 0, YEAR_S, &s);
	if (rc == 0)
		rc = sbx_parse_u64(decimals, 0, MS_PER_S - 1, &ms);
	if (rc < 0)
		return rc;
	*ret_ms = s * MS_PER_S + ms;
	return 0;
}
