/* SPDX-License-Identifier: MIT */
#include "pam_module/variables.h"

#include "base/str.h"
#include "config/session_environment.h"

#include <errno.h>
#include <security/pam_appl.h>
#include <string.h>
#include <unistd.h>

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
		if (!sbx_session_environment_passes(policy, name))
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
		if (name == NULL || (!sbx_session_environment_passes(policy, name) &&
				     pam_putenv(pamh, name) != PAM_SUCCESS))
			rc = -ENOMEM;
		sbx_secret_free(list[i]);
	}
	free(list);
	return rc;
}

int sbx_variables_apply(pam_handle_t *pamh, const struct sbx_policy *policy,
			const struct sbx_identity *identity, const char *shell,
			const struct sbx_environment *environment, struct sbx_err *err)
{
	sbx_autoenv char **session = NULL;
	int rc = scrub_environ(policy);

	if (rc == 0)
		rc = scrub_pam(pamh, policy);
	if (rc < 0)
		return sbx_fail(err, -rc, "session environment: %s", strerror(-rc));
	/* What was brought along and may pass stands in both lists already. */
	rc =
	    sbx_session_environment_make(policy, identity, shell, environment, NULL, &session, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; session[i] != NULL; i++) {
		if (pam_putenv(pamh, session[i]) != PAM_SUCCESS)
			return sbx_fail(err, ENOMEM, "session environment: %s", strerror(ENOMEM));
	}
	return 0;
}
