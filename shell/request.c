/* SPDX-License-Identifier: MIT */
#include "shell/request.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"
#include "config/policy_file.h"
#include "config/policy_keys.h"
#include "sandbox/path.h"
#include "shell/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORE_BELOW_HOME ".local/share/sbx"
#define HOME_BELOW_STORE "/home"
#define STATE_BELOW_STORE "/run"

void sbx_request_done(struct sbx_request_made *request)
{
	sbx_policy_free(request->policy);
	free(request->directory);
	free(request->state_base);
	free(request->name);
	*request = (struct sbx_request_made){0};
}

static int no_memory(struct sbx_err *err) { return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM)); }

/* Replace a string of the policy. */
static int set(char **member, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	free(*member);
	*member = copy;
	return 0;
}

static int join(char **ret, const char *directory, const char *below)
{
	sbx_autostr struct sbx_str path = {0};

	sbx_str_addf(&path, "%s%s%s", strcmp(directory, "/") == 0 ? "" : directory,
		     below[0] == '/' ? "" : "/", below);
	return sbx_str_take(&path, ret);
}

/* ------------------------------------------------- directories in the user's home */

/* Make STORE_BELOW_HOME step by step; what is there already stays as it is. */
static int make_store(const char *home, struct sbx_err *err)
{
	sbx_autofree char *path = NULL;
	size_t step;

	if (join(&path, home, STORE_BELOW_HOME) < 0)
		return no_memory(err);
	for (step = strlen(home) + 1;; step++) {
		step += strcspn(path + step, "/");
		bool last = path[step] == '\0';

		path[step] = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return sbx_fail(err, errno, "make '%s': %s", path, strerror(errno));
		if (last)
			return 0;
		path[step] = '/';
	}
}

/*
 * Where the keeper's socket is. In the home, which no other user can fill or claim, and
 * not in /run/user/UID, which is absent in logins that pass by logind and is taken away
 * with the last of the others although the sandbox may go on (linger). Not inside the
 * sandbox either: the home in there is another one. Only a home that cannot be written
 * leaves /run/user/UID.
 */
static int choose_state_base(const struct sbx_identity *identity, bool make,
			     struct sbx_request_made *request, struct sbx_err *err)
{
	sbx_autostr struct sbx_str runtime = {0};
	struct sbx_err reason = {0};
	struct stat st;
	int rc = make ? make_store(identity->home, &reason) : 0;

	if (rc == 0) {
		rc = join(&request->state_base, identity->home, STORE_BELOW_HOME STATE_BELOW_STORE);
		return rc < 0 ? no_memory(err) : 0;
	}
	sbx_str_addf(&runtime, "/run/user/%u", identity->uid);
	if (runtime.rc < 0)
		return no_memory(err);
	if (lstat(runtime.text, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != identity->uid ||
	    (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return sbx_fail(err, -rc,
				"there is no place for the sandbox's socket: %s, and '%s' is not "
				"there either",
				reason.msg, runtime.text);
	rc = join(&request->state_base, runtime.text, "sbx");
	return rc < 0 ? no_memory(err) : 0;
}

/* ------------------------------------------------------------------- the directory */

/* The path of '.', provided that it really leads back here. */
static int current_directory(char **ret_path, struct sbx_err *err)
{
	sbx_autofree char *path = getcwd(NULL, 0);
	sbx_autoclose int fd = -EBADF;
	struct stat here;
	struct stat there;
	int rc;

	if (path == NULL)
		return sbx_fail(err, errno,
				errno == ENOENT
				    ? "the current directory has been deleted; cd to another one"
				    : "the current directory cannot be found: %s",
				strerror(errno));
	rc = sbx_path_open(path, geteuid(), &fd, err);
	if (rc < 0)
		return sbx_wrap(err, rc, "the current directory");
	if (stat(".", &here) < 0 || fstat(fd, &there) < 0)
		return sbx_fail(err, errno, "look at the current directory: %s", strerror(errno));
	if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
		return sbx_fail(err, ESTALE, "'%s' was replaced while we looked at it", path);
	*ret_path = path;
	path = NULL;
	return 0;
}

const char *sbx_request_directory_refused(const char *directory, const char *home)
{
	/* Programs outside do what the files in these say. */
	static const char *const obeyed[] = {".config", ".gnupg", ".local", ".ssh"};

	if (sbx_policy_path_covers(directory, home))
		return "it holds your home, whose files programs outside of the sandbox obey";
	if (sbx_policy_system_path(directory))
		return "it is a directory of the system";
	if (!sbx_policy_path_covers(home, directory))
		return NULL;
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
		const char *below = directory + strlen(home) + 1;
		size_t length = strlen(obeyed[i]);

		if (strncmp(below, obeyed[i], length) == 0 &&
		    (below[length] == '\0' || below[length] == '/'))
			return "programs outside of the sandbox obey the files in it";
	}
	return NULL;
}

static int add_folder(struct sbx_policy *policy, const char *source, const char *target,
		      bool read_only)
{
	struct sbx_folder folder = {.read_only = read_only};
	struct sbx_folder *grown =
	    reallocarray(policy->folders, policy->n_folders + 1, sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	policy->folders = grown;
	folder.source = strdup(source);
	folder.target = strdup(target);
	if (folder.source == NULL || folder.target == NULL) {
		free(folder.source);
		free(folder.target);
		return -ENOMEM;
	}
	policy->folders[policy->n_folders++] = folder;
	return 0;
}

static int add_directory(struct sbx_request_made *request, struct sbx_err *err)
{
	sbx_autofree char *path = NULL;
	const char *why;
	int rc = current_directory(&path, err);

	if (rc < 0)
		return rc;
	if (path == NULL)
		return no_memory(err);
	why = sbx_request_directory_refused(path, request->identity.home);
	if (why == NULL)
		why = sbx_policy_target_refused(path);
	if (why != NULL)
		return sbx_fail(err, EPERM,
				"the sandbox may write to the directory it is started in, and '%s' "
				"cannot be that: %s; cd to the directory of a project",
				path, why);
	if (add_folder(request->policy, path, path, false) < 0)
		return no_memory(err);
	request->directory = path;
	request->must_be_there = true;
	path = NULL;
	return 0;
}

/* -------------------------------------------------------------- --bind and --ro-bind */

/* "/a/b": absolute, and no component is empty, "." or "..". */
static bool is_plain(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return false;
	for (const char *p = path; *p == '/';) {
		size_t length = strcspn(++p, "/");

		if (length == 0 || (length == 1 && p[0] == '.') ||
		    (length == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += length;
	}
	return true;
}

/* Follow the links of 'text' now, so that what is checked is what is bound. */
static int resolve(const char *text, char **ret_given, char **ret_real, struct sbx_err *err)
{
	sbx_autofree char *given = NULL;
	sbx_autoclose int fd = -EBADF;
	char fd_path[64];
	char real[PATH_MAX];
	ssize_t length;
	int rc;

	if (text[0] == '/') {
		given = strdup(text);
	} else {
		sbx_autofree char *here = NULL;

		rc = current_directory(&here, err);
		if (rc < 0)
			return rc;
		(void)join(&given, here, text); /* NULL is looked at below */
	}
	if (given == NULL)
		return no_memory(err);
	rc = sbx_path_open(given, geteuid(), &fd, err);
	if (rc < 0)
		return rc;
	(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd); /* fits */
	length = readlink(fd_path, real, sizeof(real) - 1);
	if (length < 0)
		return sbx_fail(err, errno, "look at '%s': %s", given, strerror(errno));
	real[length] = '\0';
	*ret_real = strdup(real);
	if (*ret_real == NULL)
		return no_memory(err);
	*ret_given = given;
	given = NULL;
	return 0;
}

static const char *source_refused(const struct sbx_request_made *request, const char *source,
				  bool read_only)
{
	static const char *const kernels[] = {"/proc", "/sys", "/dev"};
	sbx_autofree char *store = NULL;
	char runtime[64];

	if (join(&store, request->identity.home, STORE_BELOW_HOME) < 0)
		return strerror(ENOMEM);
	(void)snprintf(runtime, sizeof(runtime), "/run/user/%u", request->identity.uid); /* fits */
	if (sbx_policy_path_covers(source, store) || sbx_policy_path_covers(store, source))
		return "sockets and homes of sandboxes are in there, which must stay outside; name "
		       "single directories instead";
	if (sbx_policy_path_covers(source, runtime))
		return "your session's sockets are in there, and a way out with them";
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (sbx_policy_path_covers(kernels[i], source))
			return "it shows processes and devices of the host";
	}
	if (!read_only && sbx_policy_system_path(source))
		return "it is a directory of the system; --ro-bind may do";
	return NULL;
}

static const char *target_refused(const struct sbx_request_made *request, const char *target)
{
	if (!is_plain(target))
		return "inside it takes an absolute path without '.', '..' and '//'";
	if (sbx_policy_path_covers(target, request->policy->home))
		return "it would hide the home inside";
	return sbx_policy_target_refused(target);
}

static int add_option_folder(struct sbx_request_made *request,
			     const struct sbx_option_folder *option, struct sbx_err *err)
{
	const char *name = option->read_only ? "--ro-bind" : "--bind";
	const char *colon = strchr(option->text, ':');
	sbx_autofree char *text = NULL;
	sbx_autofree char *given = NULL;
	sbx_autofree char *real = NULL;
	const char *target;
	const char *why;
	int rc;

	text = strndup(option->text, strcspn(option->text, ":"));
	if (text == NULL)
		return no_memory(err);
	if (text[0] == '\0' || (colon != NULL && strchr(colon + 1, ':') != NULL))
		return sbx_fail(err, EINVAL, "%s takes SRC or SRC:DST, not '%s'", name,
				option->text);
	rc = resolve(text, &given, &real, err);
	if (rc < 0)
		return sbx_wrap(err, rc, "%s %s", name, option->text);
	if (real == NULL)
		return no_memory(err);
	if (colon != NULL)
		target = colon + 1;
	else
		target = is_plain(given) ? given : real;
	why = source_refused(request, real, option->read_only);
	if (why == NULL)
		why = target_refused(request, target);
	if (why != NULL)
		return sbx_fail(err, EPERM, "%s %s: %s", name, option->text, why);
	if (add_folder(request->policy, real, target, option->read_only) < 0)
		return no_memory(err);
	return 0;
}

/* -------------------------------------------------------------- an enrolled user's login */

/*
 * Only root can make the default workspace, and the PAM module does. Where neither that
 * nor an administrator has made it yet, the one in the home serves.
 */
static int choose_login_workspace(struct sbx_request_made *request, struct sbx_err *err)
{
	const struct sbx_identity *identity = &request->identity;
	sbx_autofree char *usual = NULL;
	sbx_autofree char *own = NULL;
	struct stat st;

	if (join(&usual, SBX_WORKSPACE_ROOT, identity->name) < 0 ||
	    join(&own, identity->home, STORE_BELOW_HOME HOME_BELOW_STORE) < 0)
		return no_memory(err);
	if (strcmp(request->policy->workspace, usual) != 0 || lstat(usual, &st) == 0 ||
	    errno != ENOENT)
		return 0;
	return set(&request->policy->workspace, own) < 0 ? no_memory(err) : 0;
}

static int make_login(const struct sbx_options *options, struct sbx_request_made *request,
		      struct sbx_err *err)
{
	if (options->own)
		return sbx_fail(err, EPERM,
				"your sandbox is described in " SBX_POLICY_FILE
				" by the administrator; options cannot change it");
	request->directory = getcwd(NULL, 0); /* gone or out of reach: home */
	return choose_login_workspace(request, err);
}

/* ------------------------------------------------------------------ anybody's command */

static void drop_folders(struct sbx_policy *policy)
{
	for (size_t i = 0; i < policy->n_folders; i++) {
		free(policy->folders[i].source);
		free(policy->folders[i].target);
	}
	policy->n_folders = 0;
}

static int make_command(const struct sbx_options *options, struct sbx_request_made *request,
			struct sbx_err *err)
{
	struct sbx_policy *policy = request->policy;
	sbx_autofree char *workspace = NULL;
	int rc;

	/* What the policy says about limits holds; the places it names are for agents. */
	drop_folders(policy);
	policy->linger_s = 0; /* nothing that was started may outlive its caller's wait */
	if (options->no_network)
		policy->network = SBX_NETWORK_NONE;
	if (options->memory_max_bytes != 0)
		policy->memory_max_bytes = options->memory_max_bytes;
	if (join(&workspace, request->identity.home, STORE_BELOW_HOME HOME_BELOW_STORE) < 0 ||
	    set(&policy->workspace, workspace) < 0 || set(&policy->root, "/") < 0)
		return no_memory(err);
	rc = add_directory(request, err);
	for (size_t i = 0; rc == 0 && i < options->n_folders; i++)
		rc = add_option_folder(request, &options->folders[i], err);
	return rc;
}

/* A text that is the same for the same sandbox and for no other. */
static void describe(const struct sbx_request_made *request, struct sbx_str *out)
{
	const struct sbx_policy *policy = request->policy;

	sbx_str_addf(out, "%s\n%u %u\n%s\n%s\n%s\n%s\n", request->identity.name,
		     request->identity.uid, request->identity.gid, policy->workspace, policy->home,
		     policy->root, policy->shell);
	sbx_str_addf(out,
		     "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		     " %d %d %d\n",
		     policy->memory_max_bytes, policy->memory_high_bytes, policy->swap_max_bytes,
		     policy->tasks_max, policy->cpu_max_percent, policy->tmp_size_bytes,
		     (int)policy->network, (int)policy->user_namespaces, (int)policy->landlock);
	/* Lengths, because a path may hold any byte. */
	for (size_t i = 0; i < policy->n_folders; i++) {
		const struct sbx_folder *folder = &policy->folders[i];

		sbx_str_addf(out, "%d %zu:%s %zu:%s\n", (int)folder->read_only,
			     strlen(folder->source), folder->source, strlen(folder->target),
			     folder->target);
	}
}

static int name_command(struct sbx_request_made *request, struct sbx_err *err)
{
	sbx_autostr struct sbx_str text = {0};
	char hex[SBX_SHA256_HEX_SIZE];

	describe(request, &text);
	if (text.rc < 0)
		return no_memory(err);
	sbx_sha256_hex(text.text, text.length, hex);
	request->name = strdup(hex);
	return request->name == NULL ? no_memory(err) : 0;
}

/* One sandbox for all logins; another group (newgrp) makes other files, so it needs its own. */
static int name_login(const struct sbx_account *account, struct sbx_request_made *request,
		      struct sbx_err *err)
{
	sbx_autostr struct sbx_str name = {0};

	sbx_str_add(&name, "login");
	if (request->identity.gid != account->identity->gid)
		sbx_str_addf(&name, "-%u", request->identity.gid);
	return sbx_str_take(&name, &request->name) < 0 ? no_memory(err) : 0;
}

static int fill(const struct sbx_account *account, const struct sbx_options *options, bool make,
		struct sbx_request_made *request, struct sbx_err *err)
{
	int rc = sbx_policy_load(SBX_POLICY_FILE, account->identity, &request->policy, err);

	if (rc < 0)
		return rc;
	request->identity = *account->identity;
	request->identity.gid = getegid(); /* all that a user namespace can map */
	if (account->enrolled)
		rc = make_login(options, request, err);
	else
		rc = make_command(options, request, err);
	if (rc == 0)
		rc = choose_state_base(account->identity, make, request, err);
	if (rc < 0)
		return rc;
	return account->enrolled ? name_login(account, request, err) : name_command(request, err);
}

int sbx_request_make(const struct sbx_account *account, const struct sbx_options *options,
		     bool make, struct sbx_request_made *ret_request, struct sbx_err *err)
{
	struct sbx_request_made request = {0};
	int rc = fill(account, options, make, &request, err);

	if (rc < 0) {
		sbx_request_done(&request);
		return rc;
	}
	*ret_request = request;
	return 0;
}
