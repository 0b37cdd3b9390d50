/* SPDX-License-Identifier: MIT */
#include "config/session_environment.h"

#include "base/str.h"
#include "config/git_credentials.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool sbx_session_environment_passes(const struct sbx_policy *policy, const char *name)
{
	for (size_t i = 0; policy->env_pass != NULL && policy->env_pass[i] != NULL; i++) {
		if (fnmatch(policy->env_pass[i], name, 0) == 0)
			return true;
	}
	return false;
}

/* Index of the entry whose name is the first 'length' bytes of 'name', or of the end. */
static size_t find(char *const *env, const char *name, size_t length)
{
	size_t i = 0;

	while (env != NULL && env[i] != NULL &&
	       (strncmp(env[i], name, length) != 0 || env[i][length] != '='))
		i++;
	return i;
}

/* Takes 'entry' over on success. */
static int put(char ***env, char *entry)
{
	size_t i = find(*env, entry, strcspn(entry, "="));
	char **grown;

	if (*env != NULL && (*env)[i] != NULL) {
		sbx_secret_free((*env)[i]);
		(*env)[i] = entry;
		return 0;
	}
	grown = reallocarray(*env, i + 2, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	grown[i] = entry;
	grown[i + 1] = NULL;
	*env = grown;
	return 0;
}

int sbx_session_environment_set(char ***env, const char *name, const char *value)
{
	size_t name_length = strlen(name);
	size_t value_length = strlen(value);
	/* Not struct sbx_str: while it grows, it leaves copies of secrets behind. */
	char *entry = malloc(name_length + value_length + 2);

	if (entry == NULL)
		return -ENOMEM;
	memcpy(entry, name, name_length);
	entry[name_length] = '=';
	memcpy(entry + name_length + 1, value, value_length + 1);
	if (put(env, entry) < 0) {
		sbx_secret_free(entry);
		return -ENOMEM;
	}
	return 0;
}

const char *sbx_session_environment_get(char *const *env, const char *name)
{
	size_t length = strlen(name);
	size_t i = find(env, name, length);

	return env == NULL || env[i] == NULL ? NULL : env[i] + length + 1;
}

static int add_brought(char ***env, const struct sbx_policy *policy, char *const *brought)
{
	for (size_t i = 0; brought != NULL && brought[i] != NULL; i++) {
		size_t length = strcspn(brought[i], "=");
		sbx_autofree char *name = NULL;
		int rc = 0;

		if (length == 0 || brought[i][length] == '\0')
			continue;
		name = strndup(brought[i], length);
		if (name == NULL)
			return -ENOMEM;
		if (sbx_session_environment_passes(policy, name))
			rc = sbx_session_environment_set(env, name, brought[i] + length + 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_basics(char ***env, const struct sbx_policy *policy,
		      const struct sbx_identity *identity, const char *shell)
{
	sbx_autostr struct sbx_str runtime_dir = {0};
	const struct {
		const char *name;
		const char *value;
	} basics[] = {
	    {"HOME", policy->home}, {"USER", identity->name}, {"LOGNAME", identity->name},
	    {"SHELL", shell},	    {"PATH", policy->path},
	};
	int rc;

	sbx_str_addf(&runtime_dir, "/run/user/%u", identity->uid);
	rc = runtime_dir.rc;
	for (size_t i = 0; rc == 0 && i < sizeof(basics) / sizeof(basics[0]); i++)
		rc = sbx_session_environment_set(env, basics[i].name, basics[i].value);
	return rc < 0 ? rc : sbx_session_environment_set(env, "XDG_RUNTIME_DIR", runtime_dir.text);
}

static int compose(char ***env, const struct sbx_policy *policy,
		   const struct sbx_identity *identity, const char *shell,
		   const struct sbx_environment *store, char *const *brought)
{
	int rc = add_brought(env, policy, brought);

	if (rc == 0)
		rc = add_basics(env, policy, identity, shell);
	for (size_t i = 0; rc == 0 && store != NULL && i < store->n_variables; i++)
		rc = sbx_session_environment_set(env, store->variables[i].name,
						 store->variables[i].value);
	if (rc == 0 && policy->git_credentials)
		rc = sbx_git_credentials_add(env, store);
	return rc;
}

int sbx_session_environment_make(const struct sbx_policy *policy,
				 const struct sbx_identity *identity, const char *shell,
				 const struct sbx_environment *store, char *const *brought,
				 char ***ret_env, struct sbx_err *err)
{
	sbx_autoenv char **env = NULL;
	int rc = compose(&env, policy, identity, shell, store, brought);

	if (rc < 0)
		return sbx_fail(err, -rc, "session environment: %s", strerror(-rc));
	*ret_env = env;
	env = NULL;
	return 0;
}

void sbx_session_environment_free(char **env)
{
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		sbx_secret_free(env[i]);
	free(env);
}

void sbx_session_environment_freep(char ***env) { sbx_session_environment_free(*env); }
