/* SPDX-License-Identifier: MIT */
#include "control/user.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/paths.h"
#include "base/str.h"
#include "config/policy_file.h"
#include "control/output.h"
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define NSS_BYTES 4096

void sbx_user_done(struct sbx_user *user)
{
	sbx_policy_free(user->policy);
	sbx_identity_free(user->identity);
	*user = (struct sbx_user){0};
}

int sbx_user_need_root(const char *verb)
{
	if (geteuid() == 0)
		return 0;
	sbx_complain(verb, "only root can do that");
	return -EPERM;
}

int sbx_user_load(const char *name, const struct sbx_verb_options *options,
		  struct sbx_user *ret_user, struct sbx_err *err)
{
	sbx_autouser struct sbx_user user = {0};
	enum sbx_enrolment enrolment = SBX_NOT_ENROLLED;
	int rc;

	if (geteuid() != 0)
		return sbx_fail(err, EPERM, "only root can do that");
	rc = sbx_identity_lookup(name, &user.identity, err);
	if (rc == 0)
		rc = sbx_enrolment_lookup(name, options->group, &enrolment, err);
	if (rc < 0)
		return rc;
	if (enrolment == SBX_NOT_ENROLLED)
		return sbx_fail(err, EPERM,
				"%s is not enrolled: neither in group '%s' nor with %s as login "
				"shell; 'sbxctl enroll %s' mends that",
				name, options->group, SBX_SHELL_NAME, name);
	rc = sbx_policy_load(options->policy_file, user.identity, &user.policy, err);
	if (rc < 0)
		return rc;
	*ret_user = user;
	user = (struct sbx_user){0};
	return 0;
}

int sbx_user_status(const char *name, struct sbx_state **ret_state, struct sbx_status **ret_status,
		    struct sbx_err *err)
{
	__attribute__((cleanup(sbx_state_freep))) struct sbx_state *state = NULL;
	sbx_autostr struct sbx_str path = {0};
	int rc;

	if (!sbx_username_valid(name))
		return sbx_fail(err, EINVAL, "'%s' cannot be a user name", name);
	/* Looking must not make the directory that sbx_state_open() would make. */
	sbx_str_addf(&path, SBX_RUN_DIR "/%s/" SBX_CONTROL_NAME, name);
	if (path.rc < 0)
		return sbx_fail(err, ENOMEM, "status: %s", strerror(ENOMEM));
	if (faccessat(AT_FDCWD, path.text, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return sbx_fail(err, errno, "'%s': %s", path.text, strerror(errno));
	rc = sbx_state_open(SBX_RUN_DIR, name, geteuid(), &state, err);
	if (rc == 0)
		rc = sbx_status_ask(state, ret_status, err);
	if (rc < 0)
		return rc;
	if (ret_state != NULL) {
		*ret_state = state;
		state = NULL;
	}
	return 0;
}

/* The kernel remembers who logged in, through su and sudo; the environment could lie. */
void sbx_user_caller(char *ret_name, size_t size)
{
	sbx_autofree char *text = NULL;
	struct passwd entry;
	struct passwd *found = NULL;
	char buffer[NSS_BYTES];
	uint64_t uid;

	ret_name[0] = '\0';
	if (sbx_file_read(AT_FDCWD, "/proc/self/loginuid", 0, 64, &text, NULL, NULL, NULL) < 0 ||
	    sbx_parse_u64(text, 0, UINT32_MAX - 1, &uid) < 0)
		return; /* not set, or no audit in this kernel */
	if (getpwuid_r((uid_t)uid, &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL)
		(void)snprintf(ret_name, size, "%s", entry.pw_name); /* a long name is cut */
}

void sbx_user_log(const char *event, const char *user, const char *more)
{
	struct sbx_origin origin = {0};
	sbx_autostr struct sbx_str line = {0};
	char caller[sizeof(origin.by)];

	sbx_user_caller(caller, sizeof(caller));
	sbx_origin_set(origin.by, sizeof(origin.by), caller);
	sbx_origin_line(&line, event, user, &origin);
	if (more[0] != '\0')
		sbx_str_addf(&line, " %s", more);
	if (line.rc < 0)
		return; /* not worth failing for */
	openlog("sbxctl", LOG_PID, LOG_AUTHPRIV);
	syslog(LOG_INFO, "%s", line.text);
	closelog();
}
