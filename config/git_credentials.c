/* SPDX-License-Identifier: MIT */
#include "config/git_credentials.h"

#include "base/number.h"
#include "base/str.h"
#include "config/session_environment.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define COUNT_VARIABLE "GIT_CONFIG_COUNT"
#define COUNT_MAX 10000
#define GITHUB_HOST "github.com"

static const char *value_of(const struct sbx_environment *store, const char *name)
{
	for (size_t i = 0; store != NULL && i < store->n_variables; i++) {
		if (strcmp(store->variables[i].name, name) == 0 &&
		    store->variables[i].value[0] != '\0')
			return store->variables[i].value;
	}
	return NULL;
}

const char *sbx_git_token_variable(const struct sbx_environment *store)
{
	static const char *const names[] = {"GH_TOKEN", "GITHUB_TOKEN"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (value_of(store, names[i]) != NULL)
			return names[i];
	}
	return NULL;
}

char *sbx_url_host(const char *url)
{
	/* It becomes part of a git configuration key: one that git refuses stops every git. */
	static const char allowed[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:/[]_~";
	const char *host = NULL;
	size_t length;

	if (strncmp(url, "https://", 8) == 0)
		host = url + 8;
	else if (strncmp(url, "http://", 7) == 0)
		host = url + 7;
	if (host == NULL || url[strspn(url, allowed)] != '\0')
		return NULL;
	length = host[0] == '[' ? strcspn(host, "]/") : strcspn(host, ":/");
	if (host[0] == '[' && host[length] == ']')
		length++;
	return length == 0 ? NULL : strndup(host, length);
}

struct config {
	char ***env;
	uint64_t n;
	int rc; /* sticky */
};

static void config_add(struct config *config, const char *key, const char *value)
{
	sbx_autostr struct sbx_str key_name = {0};
	sbx_autostr struct sbx_str value_name = {0};

	sbx_str_addf(&key_name, "GIT_CONFIG_KEY_%llu", (unsigned long long)config->n);
	sbx_str_addf(&value_name, "GIT_CONFIG_VALUE_%llu", (unsigned long long)config->n);
	if (config->rc == 0 && (key_name.rc < 0 || value_name.rc < 0))
		config->rc = -ENOMEM;
	if (config->rc == 0)
		config->rc = sbx_session_environment_set(config->env, key_name.text, key);
	if (config->rc == 0)
		config->rc = sbx_session_environment_set(config->env, value_name.text, value);
	config->n++;
}

static void add_helper(struct config *config, const char *server, const char *token_variable)
{
	sbx_autostr struct sbx_str key = {0};
	sbx_autostr struct sbx_str helper = {0};

	sbx_str_addf(&key, "credential.%s.helper", server);
	/* The shell's own printf: the token is never an argument of a program. */
	sbx_str_addf(&helper,
		     "!f() { test \"$1\" != get || printf "
		     "'username=x-access-token\\npassword=%%s\\n' \"$%s\"; }; f",
		     token_variable);
	if (key.rc < 0 || helper.rc < 0) {
		config->rc = -ENOMEM;
		return;
	}
	/* The empty value drops helpers set before, such as "store", which writes to a file. */
	config_add(config, key.text, "");
	config_add(config, key.text, helper.text);
}

/* gh takes GH_TOKEN for github.com alone. */
static int add_enterprise(char ***env, const char *host, const char *token)
{
	int rc = 0;

	if (strcmp(host, GITHUB_HOST) == 0)
		return 0;
	if (sbx_session_environment_get(*env, "GH_HOST") == NULL)
		rc = sbx_session_environment_set(env, "GH_HOST", host);
	if (rc == 0 && sbx_session_environment_get(*env, "GH_ENTERPRISE_TOKEN") == NULL)
		rc = sbx_session_environment_set(env, "GH_ENTERPRISE_TOKEN", token);
	return rc;
}

int sbx_git_credentials_add(char ***env, const struct sbx_environment *store)
{
	const char *token_variable = sbx_git_token_variable(store);
	const char *server = value_of(store, SBX_GITHUB_SERVER_VARIABLE);
	const char *count = sbx_session_environment_get(*env, COUNT_VARIABLE);
	const char *name = value_of(store, SBX_GIT_NAME_VARIABLE);
	const char *email = value_of(store, SBX_GIT_EMAIL_VARIABLE);
	struct config config = {.env = env};
	sbx_autostr struct sbx_str number = {0};
	sbx_autofree char *host = NULL;

	if (token_variable == NULL)
		return 0;
	if (server == NULL)
		server = SBX_GITHUB_SERVER_URL;
	host = sbx_url_host(server);
	if (host == NULL || (count != NULL && sbx_parse_u64(count, 0, COUNT_MAX, &config.n) < 0))
		return 0; /* git would stop at it, so leave git alone */
	add_helper(&config, server, token_variable);
	if (name != NULL && email != NULL) {
		config_add(&config, "user.name", name);
		config_add(&config, "user.email", email);
	}
	sbx_str_addf(&number, "%llu", (unsigned long long)config.n);
	if (config.rc == 0)
		config.rc = number.rc;
	if (config.rc == 0)
		config.rc = sbx_session_environment_set(env, COUNT_VARIABLE, number.text);
	return config.rc < 0 ? config.rc
			     : add_enterprise(env, host, value_of(store, token_variable));
}
