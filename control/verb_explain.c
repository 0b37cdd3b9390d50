/* SPDX-License-Identifier: MIT */
/* sbxctl explain USER: what a login of that user would get. Nothing is started or changed. */
#include "base/err.h"
#include "base/paths.h"
#include "base/str.h"
#include "config/enrolment.h"
#include "config/environment_file.h"
#include "config/policy_file.h"
#include "control/output.h"
#include "control/verb.h"
#include "sandbox/facts.h"
#include "sandbox/identity.h"
#include "sandbox/plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* All that is known about the user. What is NULL could not be found out; 'err' says why. */
struct subject {
	enum sbx_enrolment enrolment;
	struct sbx_identity *identity;
	struct sbx_policy *policy;
	struct sbx_environment *environment;
	struct sbx_facts *facts;
	struct sbx_plan *plan;
	bool refused;
	struct sbx_err err; /* why logins are refused */
};

static void subject_done(struct subject *subject)
{
	sbx_plan_free(subject->plan);
	sbx_facts_free(subject->facts);
	sbx_environment_free(subject->environment);
	sbx_policy_free(subject->policy);
	sbx_identity_free(subject->identity);
}

/* The same steps as at a login, up to the point where something would be started. */
static int subject_load(const struct sbx_verb_options *options, struct subject *subject)
{
	struct sbx_err *err = &subject->err;
	int rc = sbx_policy_load(options->policy_file, subject->identity, &subject->policy, err);

	if (rc == 0)
		rc = sbx_environment_load(SBX_ENV_DIR, subject->identity, &subject->environment,
					  err);
	if (rc == 0)
		rc = sbx_facts_probe(subject->policy->root, &subject->facts, err);
	if (rc == 0)
		rc = sbx_plan_make(subject->policy, subject->identity, subject->facts,
				   &subject->plan, err);
	subject->refused = rc < 0;
	return rc;
}

static const char *enrolment_reason(enum sbx_enrolment enrolment)
{
	switch (enrolment) {
	case SBX_ENROLLED_BY_GROUP:
		return "group";
	case SBX_ENROLLED_BY_SHELL:
		return "shell";
	case SBX_NOT_ENROLLED:
		break;
	}
	return NULL;
}

static void add_enrolment(const struct subject *subject, const struct sbx_verb_options *options,
			  struct sbx_str *out)
{
	const struct sbx_identity *who = subject->identity;

	sbx_str_addf(out, "%s (uid %u): ", who->name, who->uid);
	switch (subject->enrolment) {
	case SBX_ENROLLED_BY_GROUP:
		sbx_str_addf(out, "enrolled, as a member of group '%s'\n", options->group);
		return;
	case SBX_ENROLLED_BY_SHELL:
		sbx_str_addf(out, "enrolled, because the login shell is %s\n", who->login_shell);
		return;
	case SBX_NOT_ENROLLED:
		break;
	}
	sbx_str_addf(out,
		     "not enrolled: neither in group '%s' nor with %s as login shell\n"
		     "After 'usermod -aG %s %s' each login would get this:\n",
		     options->group, SBX_SHELL_NAME, options->group, who->name);
}

static void add_environment(const struct subject *subject, struct sbx_str *out)
{
	const struct sbx_environment *store = subject->environment;
	const struct sbx_policy *policy = subject->policy;

	sbx_str_addf(out, "environment:\n  PATH=%s\n", policy->path);
	for (size_t i = 0; i < store->n_variables; i++)
		sbx_str_addf(out, "  %s%s\n", store->variables[i].name,
			     store->variables[i].secret ? " [secret]" : "");
	sbx_str_add(out, "  passed on if the login brings it:");
	for (size_t i = 0; policy->env_pass != NULL && policy->env_pass[i] != NULL; i++)
		sbx_str_addf(out, " %s", policy->env_pass[i]);
	sbx_str_add(out, "\n");
}

static const char *network_text(enum sbx_network network)
{
	switch (network) {
	case SBX_NETWORK_HOST:
		return "host";
	case SBX_NETWORK_NONE:
		return "none";
	}
	return "?";
}

static void add_details(const struct subject *subject, const struct sbx_verb_options *options,
			struct sbx_str *out)
{
	const struct sbx_policy *policy = subject->policy;

	sbx_str_addf(out, "policy: %s%s\n", options->policy_file,
		     access(options->policy_file, F_OK) < 0 ? " is absent: built-in defaults" : "");
	sbx_str_addf(out, "workspace: %s, inside as %s\n", policy->workspace, policy->home);
	sbx_str_addf(out, "network: %s\n",
		     policy->network == SBX_NETWORK_NONE
			 ? "none (an own namespace with nothing but loopback)"
			 : "host (shared with the host)");
	add_environment(subject, out);
	sbx_plan_print(subject->plan, out);
}

static int print_text(const struct subject *subject, const struct sbx_verb_options *options)
{
	sbx_autostr struct sbx_str out = {0};

	add_enrolment(subject, options, &out);
	if (subject->refused)
		sbx_str_addf(&out, "logins are refused: %s\n", subject->err.msg);
	else
		add_details(subject, options, &out);
	if (out.rc < 0)
		return out.rc;
	sbx_print("%s", out.text);
	return 0;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *json_environment(const struct sbx_environment *store)
{
	json_t *list = json_array();

	for (size_t i = 0; i < store->n_variables; i++)
		(void)json_array_append_new(list, /* a NULL list fails in the final check */
					    json_pack("{s:s, s:b}", "name",
						      store->variables[i].name, "secret",
						      store->variables[i].secret));
	return list;
}

static json_t *json_strings(char *const *strings)
{
	json_t *list = json_array();

	for (size_t i = 0; strings != NULL && strings[i] != NULL; i++)
		(void)json_array_append_new(list, json_string(strings[i]));
	return list;
}

/* The plan's own text, line by line: there is only one description of what will be done. */
static json_t *json_plan(const struct sbx_plan *plan)
{
	sbx_autostr struct sbx_str text = {0};
	json_t *list = json_array();
	char *rest;

	sbx_plan_print(plan, &text);
	rest = text.rc < 0 ? NULL : text.text;
	for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
		if (line[0] != '\0')
			(void)json_array_append_new(list, json_string(line));
	}
	return list;
}

static int print_json(const struct subject *subject, const struct sbx_verb_options *options)
{
	const struct sbx_identity *who = subject->identity;
	const struct sbx_policy *policy = subject->policy;
	json_auto_t *root =
	    json_pack("{s:s, s:I, s:b, s:s?, s:s?}", "user", who->name, "uid", (json_int_t)who->uid,
		      "enrolled", subject->enrolment != SBX_NOT_ENROLLED, "enrolled_by",
		      enrolment_reason(subject->enrolment), "refused",
		      subject->refused ? subject->err.msg : NULL);

	if (root != NULL && !subject->refused) {
		json_auto_t *rest = json_pack(
		    "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "policy_file", options->policy_file,
		    "workspace", policy->workspace, "home", policy->home, "network",
		    network_text(policy->network), "path", policy->path, "environment",
		    json_environment(subject->environment), "env_pass",
		    json_strings(policy->env_pass), "plan", json_plan(subject->plan));

		if (rest == NULL || json_object_update(root, rest) < 0)
			return sbx_print_json(NULL);
	}
	return sbx_print_json(root);
}

/* --------------------------------------------------------------------------------------------- */

static int explain(char **operands, const struct sbx_verb_options *options)
{
	__attribute__((cleanup(subject_done))) struct subject subject = {0};
	struct sbx_err err = {0};
	int rc = sbx_identity_lookup(operands[0], &subject.identity, &err);

	if (rc == -EPERM) {
		sbx_print("%s\n", err.msg);
		return SBX_EXIT_NO;
	}
	if (rc == 0)
		rc = sbx_enrolment_lookup(operands[0], options->group, &subject.enrolment, &err);
	if (rc < 0) {
		sbx_complain("explain", "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	rc = subject_load(options, &subject);
	if (rc < 0 && geteuid() != 0 && (rc == -EACCES || rc == -EPERM)) {
		sbx_complain("explain", "%s; try as root", subject.err.msg);
		return SBX_EXIT_FAILED;
	}
	rc = options->json ? print_json(&subject, options) : print_text(&subject, options);
	if (rc < 0) {
		sbx_complain("explain", "%s", strerror(-rc));
		return SBX_EXIT_FAILED;
	}
	return subject.enrolment == SBX_NOT_ENROLLED || subject.refused ? SBX_EXIT_NO : SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_explain = {
    .name = "explain",
    .operands = "USER",
    .summary = "what USER's logins get: files, limits, environment, and why",
    .help = "Prints what the next login of USER would get, in the order in which it is built:\n"
	    "whether USER is enrolled and why, the workspace, the network, the names of the\n"
	    "environment's variables (never their values; [secret] marks secrets), limits,\n"
	    "namespaces and every mount. Nothing is started or changed.\n"
	    "\n"
	    "exit status: 0 enrolled; 1 not enrolled, or logins would be refused (the reason is\n"
	    "printed); 3 could not be found out.\n",
    .n_operands = 1,
    .run = explain,
};
