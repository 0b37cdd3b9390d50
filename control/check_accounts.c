/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "base/paths.h"
#include "config/policy_file.h"
#include "control/check.h"
#include "sandbox/facts.h"
#include "sandbox/identity.h"
#include "sandbox/path.h"
#include "sandbox/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_string(char *const *strings, const char *text)
{
	for (size_t i = 0; strings != NULL && strings[i] != NULL; i++) {
		if (strcmp(strings[i], text) == 0)
			return true;
	}
	return false;
}

static int add_once(char ***strings, const char *text)
{
	return has_string(*strings, text) ? 0 : sbx_strv_append(strings, text);
}

/* --- who is enrolled ------------------------------------------------------------------------- */

/* Members as the group's entry lists them. *ret_gid is (gid_t)-1 when there is no such group. */
static int collect_members(struct sbx_check *check, gid_t *ret_gid)
{
	const struct group *group = getgrnam(check->paths.group);
	int rc = 0;

	*ret_gid = (gid_t)-1;
	if (group == NULL) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, check->paths.group,
				 "there is no such group, so nobody can be enrolled by it");
		sbx_findings_remedy(&check->findings, "groupadd -r %s", check->paths.group);
		return 0;
	}
	*ret_gid = group->gr_gid;
	for (size_t i = 0; group->gr_mem[i] != NULL && rc == 0; i++)
		rc = add_once(&check->enrolled, group->gr_mem[i]);
	return rc;
}

static bool is_sbxsh(const char *shell)
{
	const char *slash = strrchr(shell, '/');

	return strcmp(slash == NULL ? shell : slash + 1, SBX_SHELL_NAME) == 0;
}

static void check_login_shell(struct sbx_check *check, const struct passwd *passwd)
{
	if (access(passwd->pw_shell, X_OK) == 0)
		return;
	sbx_findings_add(&check->findings, SBX_FINDING_ERROR, passwd->pw_name,
			 "cannot log in: the login shell %s is missing", passwd->pw_shell);
	sbx_findings_remedy(&check->findings, "usermod -s %s %s", check->paths.shell,
			    passwd->pw_name);
}

/* Those whom the group's entry does not list: by primary group, and by shell. */
static int collect_others(struct sbx_check *check, gid_t gid)
{
	const struct passwd *passwd;
	int rc = 0;

	setpwent();
	while (rc == 0 && (passwd = getpwent()) != NULL) {
		const bool by_shell = is_sbxsh(passwd->pw_shell);

		if (by_shell || (gid != (gid_t)-1 && passwd->pw_gid == gid))
			rc = add_once(&check->enrolled, passwd->pw_name);
		if (by_shell)
			check_login_shell(check, passwd);
	}
	endpwent();
	return rc;
}

/* --- what they get --------------------------------------------------------------------------- */

/*
 * Programs outside any sandbox act on these files in a passwd home. They matter when the
 * workspace is that home, because then the sandboxed user can write them.
 */
static const char *const host_side_files[] = {
    ".ssh",	   ".forward",		".pam_environment", ".config/systemd/user",
    ".procmailrc", ".config/autostart",
};

static void check_exposed_home(struct sbx_check *check, const struct sbx_identity *who)
{
	sbx_autostr struct sbx_str list = {0};

	for (size_t i = 0; i < sizeof(host_side_files) / sizeof(host_side_files[0]); i++)
		sbx_str_addf(&list, " ~/%s", host_side_files[i]);
	if (list.rc < 0) {
		check->findings.rc = list.rc;
		return;
	}
	sbx_findings_add(&check->findings, SBX_FINDING_WARNING, who->name,
			 "the workspace is the passwd home: programs outside the sandbox act on "
			 "what the user writes to%s",
			 list.text);
	sbx_findings_remedy(&check->findings, "use another workspace, for instance %s/%%u",
			    SBX_WORKSPACE_ROOT);
}

static void check_workspace_of(struct sbx_check *check, const struct sbx_identity *who, int fd,
			       const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, who->name,
				 "workspace '%s': %s", path, strerror(errno));
	} else if (!S_ISDIR(st.st_mode)) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, who->name,
				 "workspace '%s' is not a directory: logins are refused", path);
		sbx_findings_remedy(&check->findings,
				    "move it away; the next login makes a new one");
	} else if (st.st_uid != who->uid) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, who->name,
				 "workspace '%s' belongs to uid %u, not to uid %u: logins are "
				 "refused",
				 path, st.st_uid, who->uid);
		sbx_findings_remedy(&check->findings, "chown -R %u:%u '%s'", who->uid, who->gid,
				    path);
	} else if ((st.st_mode & 0002) != 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, who->name,
				 "workspace '%s' can be written by everybody", path);
		sbx_findings_remedy(&check->findings, "chmod o-w '%s'", path);
	}
}

static void check_workspace(struct sbx_check *check, const struct sbx_identity *who,
			    const struct sbx_policy *policy)
{
	sbx_autoclose int fd = -EBADF;
	sbx_autoclose int parent_fd = -EBADF;
	struct sbx_err reason = {0};
	const char *name;
	int rc = sbx_path_open(policy->workspace, 0, &fd, &reason);

	if (strcmp(policy->workspace, who->home) == 0)
		check_exposed_home(check, who);
	if (rc == 0) {
		check_workspace_of(check, who, fd, policy->workspace);
		return;
	}
	/* Absent is fine: the first login makes it, if there is a place to make it in. */
	if (rc == -ENOENT &&
	    strncmp(policy->workspace, SBX_WORKSPACE_ROOT "/", strlen(SBX_WORKSPACE_ROOT) + 1) == 0)
		return;
	if (rc == -ENOENT)
		rc = sbx_path_open_parent(policy->workspace, 0, &parent_fd, &name, &reason);
	if (rc < 0)
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, who->name,
				 "workspace: logins are refused: %s", reason.msg);
}

/* The same steps as at a login, up to where something would be made or started. */
static void check_login(struct sbx_check *check, const struct sbx_identity *who)
{
	__attribute__((cleanup(sbx_policy_freep))) struct sbx_policy *policy = NULL;
	__attribute__((cleanup(sbx_facts_freep))) struct sbx_facts *facts = NULL;
	__attribute__((cleanup(sbx_plan_freep))) struct sbx_plan *plan = NULL;
	struct sbx_err reason = {0};
	int rc = sbx_policy_load(check->paths.policy_file, who, &policy, &reason);

	if (rc == 0)
		rc = sbx_facts_probe(policy->root, &facts, &reason);
	if (rc == 0)
		rc = sbx_plan_make(policy, who, facts, &plan, &reason);
	if (rc < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, who->name,
				 "logins are refused: %s", reason.msg);
		return;
	}
	check_workspace(check, who, policy);
}

static void check_user(struct sbx_check *check, const char *user)
{
	__attribute__((cleanup(sbx_identity_freep))) struct sbx_identity *who = NULL;
	struct sbx_err reason = {0};
	int rc = sbx_identity_lookup(user, &who, &reason);

	if (rc == -EPERM) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, user,
				 "is to be sandboxed, but has uid 0, which never is");
		sbx_findings_remedy(&check->findings, "gpasswd -d %s %s", user, check->paths.group);
	} else if (rc == -ENOENT) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, user,
				 "is a member of group '%s', but no such user exists",
				 check->paths.group);
		sbx_findings_remedy(&check->findings, "gpasswd -d %s %s", user, check->paths.group);
	} else if (rc < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_ERROR, user,
				 "logins are refused: %s", reason.msg);
	} else if (!check->policy_refused) {
		check_login(check, who);
	}
}

int sbx_check_accounts(struct sbx_check *check, struct sbx_err *err)
{
	gid_t gid;
	int rc = collect_members(check, &gid);

	if (rc == 0)
		rc = collect_others(check, gid);
	if (rc < 0)
		return sbx_fail(err, -rc, "list the enrolled users: %s", strerror(-rc));
	for (size_t i = 0; check->enrolled != NULL && check->enrolled[i] != NULL; i++)
		check_user(check, check->enrolled[i]);
	return 0;
}
