/* SPDX-License-Identifier: MIT */
#include "pam_module/variables.h"

#include "base/str.h"

#include <errno.h>
#include <fnmatch.h>
#include <security/pam_appl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool may_pass(const struct sbx_policy *policy, const char *name)
{
	for (size_t i = 0; policy->env_pass != NULL && policy->env_pass[i] != NULL; i++) {
		if (fnmatch(policy->env_pass[i], name, 0) == 0)
			return true;
	}
	return false;
}

/* The name before '='; NULL when memory is out or there is none. */
static char *name_of(const char *entry)
{
	size_t length = strcspn(entry, "=");

	return length == 0 ? NULL : strndup(entry, length);
}

/* Names first, removal after: unsetenv(3) moves the entries of environ. */
static int scrub_environ(const struct sbx_policy *policy)
{
	sbx_autostrv char **doomed = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && environ != NULL && environ[i] != NULL; i++) {
		sbx_autofree char *name = name_of(environ[i]);

		if (name == NULL) {
			/* "=value" cannot be unset by name, only with all the rest. */
			return clearenv() == 0 ? 0 : -ENOMEM;
		}
		if (!may_pass(policy, name))
			rc = sbx_strv_append(&doomed, name);
	}
	for (size_t i = 0; rc == 0 && doomed != NULL && doomed[i] != NULL; i++) {
		if (unsetenv(doomed[i]) < 0)
			rc = -errno;
	}
	return rc;
}

static int scrub_pam(pam_handle_t *pamh, const struct sbx_policy *policy)
{
	char **list = pam_getenvlist(pamh);
	int rc = 0;

	if (list == NULL)
		return -ENOMEM;
	for (size_t i = 0; list[i] != NULL; i++) {
		sbx_autofree char *name = name_of(list[i]);

		/* A name without '=' removes the variable, pam_putenv(3). */
		if (name == NULL ||
		    (!may_pass(policy, name) && pam_putenv(pamh, name) != PAM_SUCCESS))
			rc = -ENOMEM;
		sbx_secret_free(list[i]);
	}
	free(list);
	return rc;
}

static int put(pam_handle_t *pamh, const char *name, const char *value)
{
	struct sbx_str entry = {0};
	int rc;

	sbx_str_addf(&entry, "%s=%s", name, value);
	rc = entry.rc;
	if (rc == 0 && pam_putenv(pamh, entry.text) != PAM_SUCCESS)
		rc = -ENOMEM;
	sbx_secret_free(entry.text);
	return rc;
}

static int put_basics(pam_handle_t *pamh, const struct sbx_policy *policy,
		      const struct sbx_identity *identity, const char *shell)
{
	sbx_autostr struct sbx_str runtime_dir = {0};
	int rc;

	sbx_str_addf(&runtime_dir, "/run/user/%u", identity->uid);
	rc = runtime_dir.rc;
	if (rc == 0)
		rc = put(pamh, "HOME", policy->home);
	if (rc == 0)
		rc = put(pamh, "USER", identity->name);
	if (rc == 0)
		rc = put(pamh, "LOGNAME", identity->name);
	if (rc == 0)
		rc = put(pamh, "SHELL", shell);
	if (rc == 0)
		rc = put(pamh, "PATH", policy->path);
	if (rc == 0)
		rc = put(pamh, "XDG_RUNTIME_DIR", runtime_dir.text);
	return rc;
}

int sbx_variables_apply(pam_handle_t *pamh, const struct sbx_policy *policy,
			const struct sbx_identity *identity, const char *shell,
			const struct sbx_environment *environment, struct sbx_err *err)
{
	int rc = scrub_environ(policy);

	if (rc == 0)
		rc = scrub_pam(pamh, policy);
	if (rc == 0)
		rc = put_basics(pamh, policy, identity, shell);
	for (size_t i = 0; rc == 0 && i < environment->n_variables; i++)
		rc = put(pamh, environment->variables[i].name, environment->variables[i].value);
	return rc < 0 ? sbx_fail(err, -rc, "session environment: %s", strerror(-rc)) : 0;
}
