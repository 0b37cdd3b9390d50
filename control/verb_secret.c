/* SPDX-License-Identifier: MIT */
/* sbxctl secret: the variables of a user's environment store, never shown. */
#include "base/paths.h"
#include "base/str.h"
#include "config/enrolment.h"
#include "config/environment_edit.h"
#include "config/environment_file.h"
#include "config/git_credentials.h"
#include "control/command_line.h"
#include "control/github.h"
#include "control/output.h"
#include "control/secret_input.h"
#include "control/verb.h"
#include "sandbox/identity.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct request {
	const char *user;
	const char *name; /* of the variable; NULL for list */
	const char *group;
	const char *api_url;
	bool json;
	bool raw;
	bool lookup;
};

static bool is_token(const char *name)
{
	return strcmp(name, "GH_TOKEN") == 0 || strcmp(name, "GITHUB_TOKEN") == 0;
}

/* ------------------------------------------------------------------ whose token is it? */

/* What adding a token changes besides. */
struct token_facts {
	char *server_url; /* to be stored; NULL: leave as it is */
	struct sbx_github_account account;
	bool known;	/* 'account' is filled */
	bool overruled; /* another token of the store is the one that git uses */
};

static void token_facts_done(struct token_facts *facts)
{
	free(facts->server_url);
	sbx_github_account_done(&facts->account);
}

static const char *stored(const struct sbx_environment *store, const char *name,
			  const char *otherwise)
{
	for (size_t i = 0; i < store->n_variables; i++) {
		if (strcmp(store->variables[i].name, name) == 0)
			return store->variables[i].value;
	}
	return otherwise;
}

/* A look-up that fails costs the author's name, not the secret: it is a warning. */
static void ask_server(const struct request *request, const struct sbx_environment *store,
		       const char *token, struct token_facts *facts)
{
	const char *api_url = stored(store, SBX_GITHUB_API_VARIABLE, SBX_GITHUB_API_URL);
	const char *server = stored(store, SBX_GITHUB_SERVER_VARIABLE, SBX_GITHUB_SERVER_URL);
	sbx_autofree char *host = NULL;
	struct sbx_err err = {0};

	if (request->api_url != NULL)
		api_url = request->api_url;
	if (facts->server_url != NULL)
		server = facts->server_url;
	host = sbx_url_host(server);
	if (host == NULL) {
		sbx_complain("secret", "warning: the store's " SBX_GITHUB_SERVER_VARIABLE
				       " is not a URL: git is left alone");
		return;
	}
	if (sbx_github_account_lookup(api_url, host, token, &facts->account, &err) < 0)
		sbx_complain("secret", "warning: whose token this is could not be found out: %s",
			     err.msg);
	else
		facts->known = true;
}

/* Before the store is locked: a server that does not answer must hold up nobody else. */
static int find_token_facts(const struct request *request, const struct sbx_identity *who,
			    const char *value, struct token_facts *facts, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_environment_freep))) struct sbx_environment *store = NULL;
	const char *used;
	int rc;

	if (!is_token(request->name))
		return 0;
	rc = sbx_environment_load(SBX_ENV_DIR, who, &store, err);
	if (rc < 0)
		return rc;
	used = sbx_git_token_variable(store);
	facts->overruled = strcmp(request->name, "GITHUB_TOKEN") == 0 && used != NULL &&
			   strcmp(used, "GH_TOKEN") == 0;
	if (request->api_url != NULL)
		facts->server_url = sbx_github_server_url(request->api_url);
	if (request->lookup && !facts->overruled)
		ask_server(request, store, value, facts);
	return 0;
}

static int set_token_facts(const struct request *request, const struct token_facts *facts,
			   struct sbx_environment_edit *edit, struct sbx_err *err)
{
	const struct {
		const char *name;
		const char *value;
	} settings[] = {
	    {SBX_GITHUB_API_VARIABLE, request->api_url},
	    {SBX_GITHUB_SERVER_VARIABLE, facts->server_url},
	    {SBX_GIT_NAME_VARIABLE, facts->known ? facts->account.name : NULL},
	    {SBX_GIT_EMAIL_VARIABLE, facts->known ? facts->account.email : NULL},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (settings[i].value != NULL)
			rc = sbx_environment_edit_set(edit, settings[i].name, settings[i].value,
						      false, err);
	}
	return rc;
}

static void report_token(const struct token_facts *facts, const struct sbx_environment *store)
{
	const char *name = stored(store, SBX_GIT_NAME_VARIABLE, NULL);
	const char *email = stored(store, SBX_GIT_EMAIL_VARIABLE, NULL);

	if (facts->overruled)
		sbx_print("git uses GH_TOKEN, which is stored, too\n");
	else if (name != NULL && email != NULL)
		sbx_print("commits are authored as %s <%s>%s\n", name, email,
			  facts->known ? "" : ", as found out earlier");
	else
		sbx_print("git has no author for commits until it is known whose token this is; "
			  "add it again\n");
}

/* ------------------------------------------------------------------ the three */

static int store(const struct request *request, const struct sbx_identity *who, const char *value,
		 struct sbx_err *err)
{
	__attribute__((cleanup(token_facts_done))) struct token_facts facts = {0};
	__attribute__((cleanup(sbx_environment_edit_freep))) struct sbx_environment_edit *edit =
	    NULL;
	enum sbx_enrolment enrolment = SBX_NOT_ENROLLED;
	int rc = find_token_facts(request, who, value, &facts, err);

	if (rc == 0)
		rc = sbx_environment_edit_open(SBX_ENV_DIR, who, &edit, err);
	if (rc == 0)
		rc = sbx_environment_edit_set(edit, request->name, value, true, err);
	if (rc == 0)
		rc = set_token_facts(request, &facts, edit, err);
	if (rc == 0)
		rc = sbx_environment_edit_commit(edit, err);
	if (rc < 0)
		return rc;
	sbx_print("%s of %s is stored (%zu bytes); sessions have it from the next login on\n",
		  request->name, who->name, strlen(value));
	if (is_token(request->name))
		report_token(&facts, edit->environment);
	if (sbx_enrolment_lookup(who->name, request->group, &enrolment, err) == 0 &&
	    enrolment == SBX_NOT_ENROLLED)
		sbx_print("%s is not enrolled yet: sbxctl enroll %s\n", who->name, who->name);
	return 0;
}

static int add(const struct request *request, const struct sbx_identity *who, struct sbx_err *err)
{
	sbx_autostr struct sbx_str scratch = {0};
	sbx_autostr struct sbx_str prompt = {0};
	char *value = NULL;
	int rc;

	if (request->api_url != NULL && !is_token(request->name))
		return sbx_fail(err, EINVAL, "--api goes with GH_TOKEN and GITHUB_TOKEN only");
	/* Before the value is asked for: it would have been typed in vain. */
	rc = sbx_environment_entry_add(&scratch, request->name, "", err);
	sbx_str_addf(&prompt, "%s for %s: ", request->name, who->name);
	if (rc == 0 && prompt.rc < 0)
		rc = sbx_fail(err, -prompt.rc, "%s", strerror(-prompt.rc));
	if (rc == 0)
		rc = sbx_secret_read(prompt.text, request->raw, &value, err);
	if (rc == 0)
		rc = store(request, who, value, err);
	sbx_secret_free(value);
	return rc;
}

static int remove_variable(const struct request *request, const struct sbx_identity *who,
			   struct sbx_err *err)
{
	__attribute__((cleanup(sbx_environment_edit_freep))) struct sbx_environment_edit *edit =
	    NULL;
	sbx_autofree char *used = NULL;
	int rc = sbx_environment_edit_open(SBX_ENV_DIR, who, &edit, err);

	if (rc < 0)
		return rc;
	if (stored(edit->environment, request->name, NULL) == NULL)
		return sbx_fail(err, ENOENT, "%s has no %s", who->name, request->name);
	if (sbx_git_token_variable(edit->environment) != NULL)
		used = strdup(sbx_git_token_variable(edit->environment));
	rc = sbx_environment_edit_remove(edit, request->name, err);
	/* The author was that token's account. */
	if (rc == 0 && used != NULL && strcmp(used, request->name) == 0) {
		rc = sbx_environment_edit_remove(edit, SBX_GIT_NAME_VARIABLE, err);
		if (rc == 0)
			rc = sbx_environment_edit_remove(edit, SBX_GIT_EMAIL_VARIABLE, err);
	}
	if (rc == 0)
		rc = sbx_environment_edit_commit(edit, err);
	if (rc == 0)
		sbx_print("%s of %s is removed; sessions that run keep it until they end\n",
			  request->name, who->name);
	return rc;
}

static int list_json(const struct sbx_environment_edit *edit, const struct sbx_identity *who)
{
	json_t *variables = json_array();
	json_auto_t *root = NULL;

	for (size_t i = 0; i < edit->environment->n_variables; i++) {
		const struct sbx_variable *variable = &edit->environment->variables[i];
		char date[SBX_ENVIRONMENT_DATE_BYTES];
		bool dated = edit->text.text != NULL &&
			     sbx_environment_text_date(edit->text.text, edit->text.length,
						       variable->name, date);

		(void)json_array_append_new(/* a NULL list fails in the final check */
					    variables,
					    json_pack("{s:s, s:b, s:I, s:s?}", "name",
						      variable->name, "secret", variable->secret,
						      "bytes", (json_int_t)strlen(variable->value),
						      "date", dated ? date : NULL));
	}
	root = json_pack("{s:s, s:o}", "user", who->name, "variables", variables);
	return sbx_print_json(root);
}

static void list_text(const struct sbx_environment_edit *edit)
{
	for (size_t i = 0; i < edit->environment->n_variables; i++) {
		const struct sbx_variable *variable = &edit->environment->variables[i];
		char date[SBX_ENVIRONMENT_DATE_BYTES] = "-";

		if (edit->text.text != NULL)
			(void)sbx_environment_text_date(edit->text.text, edit->text.length,
							variable->name, date); /* else the "-" */
		sbx_print("%-32s %-6s %6zu bytes  %s\n", variable->name,
			  variable->secret ? "secret" : "env", strlen(variable->value), date);
	}
}

static int list(const struct request *request, const struct sbx_identity *who, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_environment_edit_freep))) struct sbx_environment_edit *edit =
	    NULL;
	int rc = sbx_environment_edit_open(SBX_ENV_DIR, who, &edit, err);

	if (rc < 0)
		return rc;
	if (!request->json) {
		list_text(edit);
		return 0;
	}
	rc = list_json(edit, who);
	return rc < 0 ? sbx_fail(err, -rc, "JSON: %s", strerror(-rc)) : 0;
}

/* ------------------------------------------------------------------ the command line */

struct command {
	const char *word;
	int n_operands; /* the word included */
	int (*run)(const struct request *request, const struct sbx_identity *who,
		   struct sbx_err *err);
};

static const struct command commands[] = {
    {"add", 3, add},
    {"list", 2, list},
    {"remove", 3, remove_variable},
};

static const struct command *find_command(const char *word)
{
	for (size_t i = 0; word != NULL && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].word, word) == 0)
			return &commands[i];
	}
	return NULL;
}

static const struct sbx_option own_options[] = {
    {"raw", 0, NULL, "add: store what comes as it is, also if it is empty"},
    {"api", 0, "URL", "add: GitHub Enterprise, https://HOST/api/v3; stored as GITHUB_API_URL"},
    {"no-lookup", 0, NULL, "add: do not ask the server whose token it is"},
    {0},
};

/* A value on the command line would show in ps. It is not repeated here, where it would be logged.
 */
static int check_operands(const struct sbx_command_line *line, const struct command *command)
{
	if (command == NULL)
		sbx_complain("secret", "the first word must be add, list or remove");
	else if (line->n_operands < command->n_operands)
		sbx_complain("secret", "what is missing is USER%s",
			     command->n_operands > 2 ? " NAME" : "");
	else if (line->n_operands > command->n_operands)
		sbx_complain("secret", "too many words; a value comes by standard input");
	else
		return SBX_EXIT_OK;
	return sbx_verb_usage_error(&sbx_verb_secret);
}

static int secret(int argc, char **argv)
{
	sbx_autocommandline struct sbx_command_line line = {0};
	__attribute__((cleanup(sbx_identity_freep))) struct sbx_identity *who = NULL;
	const struct command *command;
	struct request request;
	struct sbx_err err = {0};
	int rc =
	    sbx_command_line_read(&sbx_verb_secret, own_options, 0, argc, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	command = find_command(line.operands[0]);
	if (check_operands(&line, command) != SBX_EXIT_OK)
		return SBX_EXIT_USAGE;
	request = (struct request){
	    .user = line.operands[1],
	    .name = command->n_operands > 2 ? line.operands[2] : NULL,
	    .group = line.common.group,
	    .api_url = sbx_command_line_value(&line, "api"),
	    .json = line.common.json,
	    .raw = sbx_command_line_value(&line, "raw") != NULL,
	    .lookup = sbx_command_line_value(&line, "no-lookup") == NULL,
	};
	if (geteuid() != 0) {
		sbx_complain("secret", "only root can look into the environment stores");
		return SBX_EXIT_FAILED;
	}
	rc = sbx_secret_protect(&err);
	if (rc == 0)
		rc = sbx_identity_lookup(request.user, &who, &err);
	if (rc == 0)
		rc = command->run(&request, who, &err);
	if (rc < 0)
		sbx_complain("secret", "%s", err.msg);
	if (rc == -ENOENT && who != NULL && command->run == remove_variable)
		return SBX_EXIT_NO;
	return rc < 0 ? SBX_EXIT_FAILED : SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_secret = {
    .name = "secret",
    .operands = "add|list|remove USER [NAME]",
    .summary = "variables that only USER's sessions have, such as tokens",
    .help =
	"  add USER NAME      store a value; asked for without echo on a terminal, else read\n"
	"                     from standard input, never from the command line\n"
	"  list USER          names, sizes and dates of what is stored; never values\n"
	"  remove USER NAME\n"
	"\n"
	"The store is " SBX_ENV_DIR "/USER.ini; it may be edited by hand as well. Sessions have\n"
	"a change from the next login on. Of a single line the line end is dropped, of several\n"
	"lines every byte is kept. Dates are those of the last 'add'; '-' is unknown.\n"
	"\n"
	"For GH_TOKEN and GITHUB_TOKEN, 'add' asks the server whose token it is, and stores as\n"
	"SBX_GIT_NAME and SBX_GIT_EMAIL who the author of commits will be. See 'git_credentials'\n"
	"in " SBX_POLICY_FILE ". With --api, GITHUB_SERVER_URL is stored as well.\n"
	"\n"
	"exit status: 0 done; 1 remove: there is no such variable; 2 wrong usage; 3 could not be\n"
	"done, and the store is as it was.\n",
    .run_own = secret,
};
