/* SPDX-License-Identifier: MIT */
/* sbxctl enroll USER: from the next login on, USER lives in a sandbox. */
#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"
#include "config/policy_file.h"
#include "config/policy_keys.h"
#include "control/account.h"
#include "control/command_line.h"
#include "control/output.h"
#include "control/program.h"
#include "control/public_key.h"
#include "control/share.h"
#include "control/steps.h"
#include "control/verb.h"
#include "sandbox/identity.h"
#include "sandbox/view.h"
#include "sandbox/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOGIN_DEFS "/etc/login.defs"
#define USERADD "/usr/sbin/useradd"
#define USERMOD "/usr/sbin/usermod"
#define GROUPADD "/usr/sbin/groupadd"
#define GPASSWD "/usr/bin/gpasswd"
#define INSTALLED_SHELL SBX_BINDIR "/" SBX_SHELL_NAME

struct request {
	const char *user;
	const char *group;
	const char *policy_file;
	const char *shell;	 /* NULL: leave the login shell alone */
	const char *key_file;	 /* NULL: none */
	const char *share_group; /* NULL: none */
	bool dry_run;
	bool json;
};

/* What is there, and what is to be made of it. */
struct work {
	const struct request *request;
	bool exists;
	struct sbx_identity *who; /* as it is, or as it will be */
	struct sbx_policy *policy;
	char *keys;
	struct sbx_steps steps;
};

static void work_done(struct work *work)
{
	sbx_identity_free(work->who);
	sbx_policy_free(work->policy);
	free(work->keys);
	sbx_steps_done(&work->steps);
}

/* ------------------------------------------------------------------ looking, before anything */

/* What passwd will probably say of a user who is yet to be made; its policy can be read then. */
static struct sbx_identity *expected_identity(const struct request *request)
{
	struct sbx_identity *who = calloc(1, sizeof(*who));
	sbx_autostr struct sbx_str home = {0};
	bool complete;

	if (who == NULL)
		return NULL;
	sbx_str_addf(&home, "/home/%s", request->user);
	who->uid = (uid_t)-1;
	who->gid = (gid_t)-1;
	who->name = strdup(request->user);
	who->gecos = strdup("");
	who->login_shell = strdup("/bin/sh");
	who->groups = calloc(2, sizeof(*who->groups));
	complete = who->name != NULL && who->gecos != NULL && who->login_shell != NULL &&
		   who->groups != NULL && sbx_str_take(&home, &who->home) == 0;
	for (size_t i = 0; complete && i < 2; i++) {
		who->groups[i].gid = (gid_t)-1;
		who->groups[i].name = strdup(i == 0 ? request->user : request->group);
		who->n_groups++;
		complete = who->groups[i].name != NULL;
	}
	if (!complete) {
		sbx_identity_free(who);
		return NULL;
	}
	return who;
}

static int look_up_user(struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	struct sbx_account account = {0};
	int rc;

	if (!sbx_username_valid(request->user))
		return sbx_fail(err, EINVAL, "not a usable user name");
	rc = sbx_account_lookup(request->user, &account, err);
	if (rc == -ENOENT) {
		work->who = expected_identity(request);
		return work->who == NULL ? sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM)) : 0;
	}
	if (rc == 0) {
		work->exists = true;
		rc = sbx_account_check(request->user, account.uid, LOGIN_DEFS, err);
	}
	if (rc == 0)
		rc = sbx_identity_lookup(request->user, &work->who, err);
	sbx_account_done(&account);
	return rc;
}

static int check_shell(const char *shell, struct sbx_err *err)
{
	if (shell == NULL)
		return 0;
	if (strcmp(shell, SBX_SHELL_NAME) != 0 && strcmp(shell, INSTALLED_SHELL) != 0)
		return sbx_fail(err, EINVAL,
				"--shell takes '" SBX_SHELL_NAME
				"' only; the shell inside is 'shell' in the policy");
	if (access(INSTALLED_SHELL, X_OK) < 0)
		return sbx_fail(err, errno, "'" INSTALLED_SHELL "': %s", strerror(errno));
	return 0;
}

static int read_keys(struct work *work, struct sbx_err *err)
{
	const char *file = work->request->key_file;
	size_t length = 0;
	int rc;

	if (file == NULL)
		return 0;
	rc = sbx_file_read(AT_FDCWD, file, 0, SBX_PUBLIC_KEYS_MAX_BYTES, &work->keys, &length, NULL,
			   err);
	return rc < 0 ? rc : sbx_public_keys_check(file, work->keys, length, err);
}

static int check_shared_folder(const char *path, struct sbx_err *err)
{
	const struct passwd *account;
	int rc = 0;

	if (sbx_policy_system_path(path))
		return sbx_fail(err, EPERM, "'%s' is a directory of the system", path);
	/* sshd and others trust nothing in a home that a group can write to. */
	setpwent();
	while (rc == 0 && (account = getpwent()) != NULL) {
		if (sbx_policy_path_covers(path, account->pw_dir))
			rc = sbx_fail(err, EPERM,
				      "'%s' is not to be shared: the home of '%s' is '%s', and "
				      "with that open to a group no ssh login works any more",
				      path, account->pw_name, account->pw_dir);
	}
	endpwent();
	return rc;
}

/*
 * Membership gives more than the folders: groups of the system (docker, disk, sudo) give the
 * machine, and the one of enrolled users would share them among all agents.
 */
static int check_share_group(const struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	const char *group = request->share_group;
	struct sbx_group_facts facts;
	bool shares = false;
	int rc;

	if (group == NULL)
		return 0;
	if (!sbx_username_valid(group))
		return sbx_fail(err, EINVAL, "'%s' is not a usable group name", group);
	rc = sbx_group_lookup(group, request->user, &facts, err);
	if (rc < 0)
		return rc;
	if (strcmp(group, request->group) == 0)
		return sbx_fail(err, EPERM,
				"every enrolled user is in '%s'; name a group for this folder",
				group);
	if (facts.exists)
		rc = sbx_group_check(group, facts.gid, LOGIN_DEFS, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < work->policy->n_folders; i++) {
		const struct sbx_folder *folder = &work->policy->folders[i];

		if (folder->read_only)
			continue;
		shares = true;
		rc = check_shared_folder(folder->source, err);
		if (rc < 0)
			return rc;
	}
	if (!shares)
		return sbx_fail(err, ENOENT,
				"there is nothing to share: 'read_write' in the policy names no "
				"folder for '%s'",
				request->user);
	return 0;
}

/* Everything that can be refused is refused here, so that nothing is left half done. */
static int look(struct work *work, struct sbx_err *err)
{
	int rc = look_up_user(work, err);

	if (rc == 0)
		rc = check_shell(work->request->shell, err);
	if (rc == 0)
		rc = read_keys(work, err);
	if (rc == 0)
		rc = sbx_policy_load(work->request->policy_file, work->who, &work->policy, err);
	if (rc == 0)
		rc = check_share_group(work, err);
	return rc;
}

/* ------------------------------------------------------------------ the steps */

/* Words of a command line. execve(2) does not change them, whatever its prototype says. */
static char *word(const char *text) { return (char *)(uintptr_t)text; }

static int run(const struct work *work, const char *path, const char *const words[], size_t n,
	       struct sbx_err *err)
{
	char *argv[8] = {word(path)};

	for (size_t i = 0; i < n; i++)
		argv[i + 1] = word(words[i]);
	return work->request->dry_run ? 0 : sbx_program_run(path, argv, err);
}

#define RUN(work, path, err, ...)                                                                  \
	run(work, path, (const char *const[]){__VA_ARGS__},                                        \
	    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), err)

static int make_share_group(struct work *work, gid_t *ret_gid, struct sbx_err *err)
{
	const struct request *request = work->request;
	const char *group = request->share_group;
	struct sbx_group_facts facts;
	int rc = sbx_group_lookup(group, request->user, &facts, err);

	if (rc == 0 && !facts.exists) {
		rc = RUN(work, GROUPADD, err, "--", group);
		if (rc == 0)
			sbx_steps_add(&work->steps, "share-group", true, "group '%s' made", group);
	}
	if (rc == 0 && !facts.listed) {
		rc = RUN(work, GPASSWD, err, "--add", request->user, group);
		if (rc == 0)
			sbx_steps_add(&work->steps, "share-member", true, "in group '%s'", group);
	}
	if (rc == 0 && !request->dry_run)
		rc = sbx_group_lookup(group, request->user, &facts, err);
	*ret_gid = facts.gid;
	return rc;
}

/* The folders that the policy lets the user write to, for a group of people and the user. */
static int share_folders(struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	gid_t gid = (gid_t)-1;
	int rc;

	if (request->share_group == NULL)
		return 0;
	rc = make_share_group(work, &gid, err);
	for (size_t i = 0; rc == 0 && i < work->policy->n_folders; i++) {
		const struct sbx_folder *folder = &work->policy->folders[i];
		struct sbx_share_report report = {0};

		if (folder->read_only)
			continue;
		rc = sbx_share_folder(folder->source, gid, request->dry_run, &report, err);
		if (rc == -ENOENT && folder->optional) {
			rc = 0;
			sbx_steps_add(&work->steps, "share", false, "%s does not exist",
				      folder->source);
		} else if (rc == 0) {
			sbx_steps_add(&work->steps, "share", report.n_changed > 0,
				      "%s: %zu entries given to the group, %zu left alone",
				      folder->source, report.n_changed, report.n_skipped);
		}
	}
	if (rc == 0)
		sbx_steps_add_next(&work->steps,
				   "gpasswd --add PERSON %s     for each who works in there too",
				   request->share_group);
	return rc;
}

static int make_group(struct work *work, struct sbx_err *err)
{
	const char *group = work->request->group;
	struct sbx_group_facts facts;
	int rc = sbx_group_lookup(group, work->request->user, &facts, err);

	if (rc < 0 || facts.exists)
		return rc;
	rc = RUN(work, GROUPADD, err, "--system", "--", group);
	if (rc == 0)
		sbx_steps_add(&work->steps, "group", true, "group '%s' made", group);
	return rc;
}

static int make_user(struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	const char *shell = request->shell != NULL		   ? INSTALLED_SHELL
			    : access(SBX_SHELL_DEFAULT, X_OK) == 0 ? SBX_SHELL_DEFAULT
								   : SBX_SHELL_FALLBACK;
	struct sbx_identity *made = NULL;
	int rc;

	if (work->exists) {
		sbx_steps_add(&work->steps, "user", false, "'%s' exists, uid %u", request->user,
			      work->who->uid);
		return 0;
	}
	rc = RUN(work, USERADD, err, "--create-home", "--shell", shell, "--", request->user);
	if (rc < 0)
		return rc;
	sbx_steps_add(&work->steps, "user", true, "'%s' made, with shell %s and no password",
		      request->user, shell);
	if (request->dry_run)
		return 0;
	rc = sbx_identity_lookup(request->user, &made, err);
	if (rc == 0) {
		sbx_identity_free(work->who);
		work->who = made;
	}
	return rc;
}

static int set_shell(struct work *work, struct sbx_err *err)
{
	const char *present = work->who->login_shell;
	int rc;

	if (work->request->shell == NULL)
		return 0;
	if (!work->exists || strcmp(present, INSTALLED_SHELL) == 0) {
		if (work->exists)
			sbx_steps_add(&work->steps, "shell", false, "login shell %s", present);
		return 0;
	}
	rc = RUN(work, USERMOD, err, "--shell", INSTALLED_SHELL, "--", work->request->user);
	if (rc == 0)
		sbx_steps_add(&work->steps, "shell", true, "login shell %s (was %s)",
			      INSTALLED_SHELL, present);
	return rc;
}

static int make_workspace(struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	const char *path;
	sbx_autoclose int fd = -EBADF;
	bool present;
	int rc = 0;

	if (!work->exists && !request->dry_run) { /* now its real home is known */
		sbx_policy_free(work->policy);
		work->policy = NULL;
		rc = sbx_policy_load(request->policy_file, work->who, &work->policy, err);
	}
	if (rc < 0)
		return rc;
	path = work->policy->workspace;
	present = access(path, F_OK) == 0;
	if (!request->dry_run)
		rc = sbx_workspace_open(path, SBX_SKEL_DIR, work->who->uid, work->who->gid, &fd,
					err);
	if (rc == 0)
		sbx_steps_add(&work->steps, "workspace", !present, "%s, inside as %s", path,
			      work->policy->home);
	return rc;
}

static int install_keys(struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	size_t added = 0;
	int rc;

	if (work->keys == NULL)
		return 0;
	rc = sbx_public_keys_install(SBX_KEYS_DIR, request->user, work->keys, request->dry_run,
				     &added, err);
	if (rc < 0)
		return rc;
	sbx_steps_add(&work->steps, "keys", added > 0, "%zu added to " SBX_KEYS_DIR "/%s", added,
		      request->user);
	sbx_steps_add_next(
	    &work->steps,
	    "sshd finds the key by this in sshd_config, below 'Match Group %s':", request->group);
	sbx_steps_add_next(&work->steps,
			   "    AuthorizedKeysFile " SBX_KEYS_DIR "/%%u .ssh/authorized_keys");
	return 0;
}

/* Last: the user is let in when all is in place. */
static int join_group(struct work *work, struct sbx_err *err)
{
	const struct request *request = work->request;
	int rc;

	if (work->exists && sbx_identity_in_group(work->who, request->group)) {
		sbx_steps_add(&work->steps, "member", false, "in group '%s'", request->group);
		return 0;
	}
	rc = RUN(work, GPASSWD, err, "--add", request->user, request->group);
	if (rc < 0)
		return rc;
	sbx_steps_add(&work->steps, "member", true,
		      "in group '%s': in a sandbox from the next "
		      "login on",
		      request->group);
	return 0;
}

static int act(struct work *work, struct sbx_err *err)
{
	static int (*const actions[])(struct work *, struct sbx_err *) = {
	    make_group,	   make_user,  make_workspace, install_keys,
	    share_folders, join_group, set_shell,
	};
	/* useradd and mkdir must not depend on the caller's. */
	mode_t saved_umask = umask(022);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(actions) / sizeof(actions[0]); i++)
		rc = actions[i](work, err);
	(void)umask(saved_umask);
	if (rc == 0) {
		sbx_steps_add_next(&work->steps, "su - %s              look around in the sandbox",
				   work->request->user);
		sbx_steps_add_next(&work->steps,
				   "sbxctl secret add %s GITHUB_TOKEN     give it a token",
				   work->request->user);
		sbx_steps_add_next(&work->steps,
				   "sbxctl check         does every login go through it?");
	}
	return rc;
}

/* ------------------------------------------------------------------ the command line */

static const struct sbx_option own_options[] = {
    {"shell", 0, "sbxsh", "make sbxsh the login shell: sandboxed where PAM is not asked, too"},
    {"key", 0, "FILE", "add the public keys in FILE to " SBX_KEYS_DIR "/USER"},
    {"share-group", 0, "GROUP",
     "let GROUP and USER work together in the policy's read_write folders"},
    {"dry-run", 'n', NULL, "only say what would be done"},
    {0},
};

static int enroll(int argc, char **argv)
{
	sbx_autocommandline struct sbx_command_line line = {0};
	struct request request;
	__attribute__((cleanup(work_done))) struct work work = {.request = &request};
	struct sbx_err err = {0};
	int rc =
	    sbx_command_line_read(&sbx_verb_enroll, own_options, 1, 1, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	request = (struct request){
	    .user = line.operands[0],
	    .group = line.common.group,
	    .policy_file = line.common.policy_file,
	    .shell = sbx_command_line_value(&line, "shell"),
	    .key_file = sbx_command_line_value(&line, "key"),
	    .share_group = sbx_command_line_value(&line, "share-group"),
	    .dry_run = sbx_command_line_value(&line, "dry-run") != NULL,
	    .json = line.common.json,
	};
	if (geteuid() != 0) {
		sbx_complain("enroll", "only root can do that");
		return SBX_EXIT_FAILED;
	}
	rc = look(&work, &err);
	if (rc != 0) {
		sbx_complain("enroll", "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	rc = act(&work, &err);
	/* After a failure, too: what was done before it. */
	if (sbx_steps_print(&work.steps, request.user, request.dry_run, request.json) < 0 &&
	    rc == 0)
		rc = sbx_fail(&err, ENOMEM, "%s", strerror(ENOMEM));
	if (rc < 0)
		sbx_complain("enroll", "%s", err.msg);
	return rc < 0 ? SBX_EXIT_FAILED : SBX_EXIT_OK;
}

const struct sbx_verb sbx_verb_enroll = {
    .name = "enroll",
    .operands = "USER",
    .summary = "put USER into a sandbox from the next login on; made if need be",
    .help =
	"Makes what is not there yet: the user (by useradd, without a password), the group, the\n"
	"workspace; then adds USER to the group. Says what was done and what comes next. Doing\n"
	"it twice changes nothing more. Root, users of the system and you yourself are refused.\n"
	"Keys are put where USER cannot change them. The login shell is not changed unless "
	"asked.\n"
	"With --share-group the folders that 'read_write' in the policy names become the\n"
	"group's, with all in them, and so does what is made there later.\n",
    .run_own = enroll,
};
