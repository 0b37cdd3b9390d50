/* SPDX-License-Identifier: MIT */
#include "control/verb.h"

#include "base/paths.h"
#include "control/output.h"

#include <getopt.h>
#include <stddef.h>

int sbx_verb_print_help(const struct sbx_verb *verb)
{
	sbx_print("usage: sbxctl %s [OPTION...]%s%s\n\n%s\n", verb->name,
		  verb->operands[0] == '\0' ? "" : " ", verb->operands, verb->help);
	if (verb->run_own != NULL)
		return SBX_EXIT_OK;
	sbx_print("options:\n"
		  "  --json          print JSON, for programs\n"
		  "  --policy FILE   read this policy instead of %s\n"
		  "  --group NAME    members are enrolled (default: %s); as the module's group=\n"
		  "  -h, --help      this text\n",
		  SBX_POLICY_FILE, SBX_GROUP);
	return SBX_EXIT_OK;
}

int sbx_verb_usage_error(const struct sbx_verb *verb)
{
	sbx_complain(verb->name, "try 'sbxctl %s --help'", verb->name);
	return SBX_EXIT_USAGE;
}

int sbx_verb_check_operands(const struct sbx_verb *verb, int wanted, int argc, char **argv)
{
	if (argc - optind == wanted)
		return SBX_EXIT_OK;
	if (argc - optind > wanted)
		sbx_complain(verb->name, "one word too many: '%s'", argv[optind + wanted]);
	else
		sbx_complain(verb->name, "what is missing is %s", verb->operands);
	return sbx_verb_usage_error(verb);
}

int sbx_verb_dispatch(const struct sbx_verb *verb, int argc, char **argv)
{
	enum { OPTION_JSON = 256, OPTION_POLICY, OPTION_GROUP };
	static const struct option long_options[] = {
	    {"json", no_argument, NULL, OPTION_JSON},
	    {"policy", required_argument, NULL, OPTION_POLICY},
	    {"group", required_argument, NULL, OPTION_GROUP},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	struct sbx_verb_options options = {.policy_file = SBX_POLICY_FILE, .group = SBX_GROUP};
	int option;

	/* getopt prints its messages with argv[0] in front. */
	argv[0] = (char[]){"sbxctl"};
	optind = 0;
	if (verb->run_own != NULL)
		return verb->run_own(argc, argv);
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_JSON:
			options.json = true;
			break;
		case OPTION_POLICY:
			options.policy_file = optarg;
			break;
		case OPTION_GROUP:
			options.group = optarg;
			break;
		case 'h':
			return sbx_verb_print_help(verb);
		default:
			return sbx_verb_usage_error(verb);
		}
	}
	if (sbx_verb_check_operands(verb, verb->n_operands, argc, argv) != SBX_EXIT_OK)
		return SBX_EXIT_USAGE;
	return verb->run(argv + optind, &options);
}
