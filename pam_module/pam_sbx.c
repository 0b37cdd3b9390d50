/* SPDX-License-Identifier: MIT */
/*
 * pam_sbx: a PAM session module that moves the root process of a login into the
 * user's sandbox before it forks the user's own. What sshd, su, login, sudo or cron
 * do for the session afterwards, they do from in there.
 *
 * Whatever goes wrong once the user is known to be enrolled fails the session. There
 * is no path from "enrolled" to PAM_SUCCESS but a join that was verified.
 */
#include "base/paths.h"
#include "base/str.h"
#include "config/enrolment.h"
#include "config/environment_file.h"
#include "config/policy_file.h"
#include "pam_module/arguments.h"
#include "pam_module/preload.h"
#include "pam_module/variables.h"
#include "sandbox/plan.h"
#include "sandbox/refresh.h"
#include "sandbox/sandbox.h"
#include "sandbox/terminal.h"
#include "sandbox/view.h"

#include <errno.h>
#include <limits.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <syslog.h>
#include <unistd.h>

#define DATA_NAME "sbx_session"

/*
 * Not PAM_SESSION_ERR, which says the same but which sudo takes for a flaw of no
 * importance: it would go on and run the command, outside. Any other failure is final
 * for sudo, su, sshd, login and cron alike.
 */
#define REFUSED PAM_PERM_DENIED

/* What is kept in the PAM handle from open to close. */
struct login {
	bool joined; /* false while a join is under way, and for ever after it failed */
	struct sbx_session *session;
	bool started; /* by this login */
	struct sbx_origin origin;
	char *user;
};

/*
 * Also runs in processes that were forked after the session was opened, so it must
 * not tell the keeper anything; it only closes this process's descriptors.
 */
static void login_cleanup(pam_handle_t *pamh, void *data, int status)
{
	struct login *login = data;

	(void)pamh;
	(void)status;
	sbx_session_free(login->session);
	free(login->user);
	free(login);
}

static const char *item(const pam_handle_t *pamh, int which)
{
	const void *value = NULL;

	if (pam_get_item(pamh, which, &value) != PAM_SUCCESS || value == NULL)
		return "";
	return value;
}

static int refuse(pam_handle_t *pamh, const char *user, const struct sbx_err *err)
{
	pam_syslog(pamh, LOG_ERR, "session of '%s' refused: %s", user, err->msg);
	/* A conversation that shows nothing is the application's choice, not a reason to go on. */
	(void)pam_error(pamh, "sbx: session refused: %s", err->msg);
	return REFUSED;
}

static bool is_root(pam_handle_t *pamh, const char *user)
{
	const struct passwd *passwd = pam_modutil_getpwnam(pamh, user);

	return passwd != NULL && passwd->pw_uid == 0;
}

/* One line at the beginning and one at the end; `sbxctl logs` shows them. */
static void audit(pam_handle_t *pamh, const char *event, const struct login *login,
		  const char *last_word)
{
	sbx_autostr struct sbx_str line = {0};

	sbx_origin_line(&line, event, login->user, &login->origin);
	if (line.rc == 0)
		pam_syslog(pamh, LOG_INFO, "%s %s", line.text, last_word);
}

static void take_origin(pam_handle_t *pamh, struct sbx_origin *origin)
{
	sbx_origin_set(origin->service, sizeof(origin->service), item(pamh, PAM_SERVICE));
	sbx_origin_set(origin->tty, sizeof(origin->tty), item(pamh, PAM_TTY));
	sbx_origin_set(origin->remote, sizeof(origin->remote), item(pamh, PAM_RHOST));
	sbx_origin_set(origin->by, sizeof(origin->by), item(pamh, PAM_RUSER));
}

/* ------------------------------------------------------------ during the join */

/* What must be done in the sandbox's view but before the filters. */
struct arrival {
	const struct sbx_refresh *refresh; /* NULL: the sandbox is new, so everything is fresh */
	const struct sbx_terminal *terminal;
	const struct sbx_identity *identity;
	const char *directory; /* where the caller was; NULL unknown */
	const char *home;
};

/*
 * setns(2) leaves a process in "/". Go where it was, or home. As the user: a root
 * process must not follow the user's links into what only root may enter.
 */
static void change_directory(const struct arrival *arrival)
{
	(void)setfsgid(arrival->identity->gid);
	(void)setfsuid(arrival->identity->uid);
	if ((arrival->directory == NULL || chdir(arrival->directory) < 0) &&
	    chdir(arrival->home) < 0) {
		/* Then it stays in "/". */
	}
	(void)setfsuid(0);
	(void)setfsgid(0);
}

static int arrive(void *data, struct sbx_err *err)
{
	const struct arrival *arrival = data;
	int rc = 0;

	if (arrival->refresh != NULL)
		rc = sbx_refresh_put(arrival->refresh, err);
	if (rc == 0)
		rc = sbx_terminal_put(arrival->terminal, err);
	if (rc == 0)
		change_directory(arrival);
	return rc;
}

/* ------------------------------------------------------------------- opening */

struct opening {
	pam_handle_t *pamh;
	const struct sbx_arguments *arguments;
	const struct sbx_identity *identity;
	struct sbx_policy *policy;
	struct sbx_environment *environment;
	struct sbx_refresh *refresh;
	struct sbx_terminal terminal;
};

static void opening_done(struct opening *opening)
{
	sbx_policy_free(opening->policy);
	sbx_environment_free(opening->environment);
	sbx_refresh_free(opening->refresh);
	sbx_terminal_done(&opening->terminal);
}

static int load(struct opening *opening, struct sbx_err *err)
{
	int rc = sbx_policy_load(opening->arguments->policy_file, opening->identity,
				 &opening->policy, err);

	if (rc == 0)
		rc = sbx_environment_load(SBX_ENV_DIR, opening->identity, &opening->environment,
					  err);
	if (rc == 0 && strcmp(opening->policy->root, "/") != 0)
		rc = sbx_preload_nss(err);
	return rc;
}

static int join(struct opening *opening, struct login *login, struct sbx_err *err)
{
	const struct sbx_policy *policy = opening->policy;
	const struct sbx_confinement confinement = {
	    .user_namespaces = policy->user_namespaces,
	    .landlock = policy->landlock,
	};
	sbx_autofree char *directory = getcwd(NULL, 0);
	struct arrival arrival = {
	    .identity = opening->identity,
	    .terminal = &opening->terminal,
	    .directory = directory,
	    .home = policy->home,
	};
	const char *shell;
	bool started;
	int rc = sbx_sandbox_open(policy, opening->identity, SBX_RUN_DIR, SBX_KEEPER,
				  &login->session, &started, err);

	if (rc < 0)
		return rc;
	login->started = started;
	if (!started) {
		rc = sbx_refresh_take(policy, opening->identity, &opening->refresh, err);
		if (rc < 0)
			return rc;
		arrival.refresh = opening->refresh;
	}
	sbx_terminal_take(&opening->terminal);
	if (opening->arguments->debug)
		pam_syslog(opening->pamh, LOG_DEBUG, "joining the %s sandbox of '%s'",
			   started ? "new" : "running", opening->identity->name);
	rc = sbx_session_join(login->session, &confinement, arrive, &arrival, err);
	if (rc < 0)
		return rc;
	shell = sbx_plan_shell(policy, access(SBX_SHELL_DEFAULT, X_OK) == 0);
	return sbx_variables_apply(opening->pamh, policy, opening->identity, shell,
				   opening->environment, err);
}

static int open_session(pam_handle_t *pamh, const struct sbx_arguments *arguments,
			const struct sbx_identity *identity, struct login *login,
			struct sbx_err *err)
{
	__attribute__((cleanup(opening_done))) struct opening opening = {
	    .pamh = pamh,
	    .arguments = arguments,
	    .identity = identity,
	    .terminal = SBX_TERMINAL_NONE,
	};
	int rc;

	/* A user manager would run the user's units outside every sandbox. */
	if (strcmp(item(pamh, PAM_SERVICE), "systemd-user") == 0)
		return sbx_fail(err, EPERM, "an enrolled user gets no systemd user manager");
	rc = load(&opening, err);
	if (rc == 0)
		rc = join(&opening, login, err);
	return rc;
}

/* The first of our entries in a stack does the work; any other repeats its result. */
static int open_once(pam_handle_t *pamh, const struct sbx_arguments *arguments,
		     const struct sbx_identity *identity)
{
	struct sbx_err err = {0};
	const void *data = NULL;
	struct login *login;

	if (pam_get_data(pamh, DATA_NAME, &data) == PAM_SUCCESS && data != NULL) {
		const struct login *earlier = data;

		return earlier->joined ? PAM_SUCCESS : REFUSED;
	}
	login = calloc(1, sizeof(*login));
	if (login != NULL)
		login->user = strdup(identity->name);
	if (login == NULL || login->user == NULL ||
	    pam_set_data(pamh, DATA_NAME, login, login_cleanup) != PAM_SUCCESS) {
		if (login != NULL)
			free(login->user);
		free(login);
		(void)sbx_fail(&err, ENOMEM, "%s", strerror(ENOMEM));
		return refuse(pamh, identity->name, &err);
	}
	if (open_session(pamh, arguments, identity, login, &err) < 0) {
		sbx_session_free(login->session);
		login->session = NULL;
		return refuse(pamh, identity->name, &err);
	}
	login->joined = true;
	take_origin(pamh, &login->origin);
	sbx_session_describe(login->session, &login->origin);
	audit(pamh, "session opened", login, login->started ? "sandbox=started" : "sandbox=joined");
	return PAM_SUCCESS;
}

int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	__attribute__((cleanup(sbx_identity_freep))) struct sbx_identity *identity = NULL;
	struct sbx_arguments arguments;
	struct sbx_err argument_err = {0};
	struct sbx_err err = {0};
	enum sbx_enrolment enrolment;
	const char *user = NULL;
	int argument_rc;
	int rc;

	(void)flags;
	if (pam_get_user(pamh, &user, NULL) != PAM_SUCCESS || user == NULL)
		return REFUSED;
	argument_rc = sbx_arguments_parse(argc, argv, &arguments, &argument_err);
	/* "grop=agents" does not tell who is enrolled, so nobody gets in but root, to mend it. */
	if (argument_rc < 0)
		return is_root(pamh, user) ? PAM_IGNORE : refuse(pamh, user, &argument_err);
	rc = sbx_enrolment_lookup(user, arguments.group, &enrolment, &err);
	if (rc < 0)
		return refuse(pamh, user, &err);
	if (enrolment == SBX_NOT_ENROLLED)
		return PAM_IGNORE;
	rc = sbx_identity_lookup(user, &identity, &err);
	if (rc < 0)
		return refuse(pamh, user, &err);
	return open_once(pamh, &arguments, identity);
}

int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	const void *data = NULL;
	const struct login *login;

	(void)flags;
	(void)argc;
	(void)argv;
	if (pam_get_data(pamh, DATA_NAME, &data) != PAM_SUCCESS || data == NULL)
		return PAM_IGNORE;
	login = data;
	/* Once, however often the module stands in the stack. */
	if (login->session != NULL && login->session->control_fd >= 0) {
		audit(pamh, "session closed", login,
		      sbx_session_ended(login->session) ? "why=sandbox-ended" : "why=logout");
		sbx_session_leave(login->session);
	}
	return PAM_SUCCESS;
}
