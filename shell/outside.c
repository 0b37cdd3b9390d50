/* SPDX-License-Identifier: MIT */
#include "shell/outside.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/str.h"
#include "config/environment_file.h"
#include "config/session_environment.h"
#include "sandbox/facts.h"
#include "sandbox/mount.h"
#include "sandbox/plan.h"
#include "sandbox/refresh.h"
#include "sandbox/sandbox.h"
#include "shell/exit_status.h"
#include "shell/inside.h"
#include "shell/limits.h"
#include "shell/refusal.h"
#include "shell/relay.h"
#include "shell/request.h"
#include "shell/run.h"
#include "shell/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is carried from the host's view into the sandbox's. */
struct entry {
	const struct sbx_account *account;
	const struct sbx_options *options;
	struct sbx_request_made request;
	struct sbx_session *session;
	struct sbx_refresh *refresh; /* NULL: the sandbox is new */
	struct sbx_terminal terminal;
	struct sbx_environment *store; /* secrets */
	bool in_cgroup;
};

static void entry_done(struct entry *entry)
{
	sbx_environment_free(entry->store);
	sbx_terminal_done(&entry->terminal);
	sbx_refresh_free(entry->refresh);
	sbx_session_free(entry->session);
	sbx_request_done(&entry->request);
}

/* /etc inside is read-only for all; with the capabilities of the joining it can be renewed. */
static int renew_etc(const struct sbx_refresh *refresh, struct sbx_err *err)
{
	sbx_autoclose int etc_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sbx_autoclose int tree_fd = -EBADF;
	sbx_autoclose int writable_fd = -EBADF;
	int rc;

	if (etc_fd < 0)
		return sbx_fail(err, errno, "open '/etc' in the sandbox: %s", strerror(errno));
	rc = sbx_refresh_put_in(refresh, etc_fd, err);
	if (rc != -EROFS)
		return rc; /* nothing had changed, as nearly always */
	rc = sbx_mount_writable(etc_fd, &tree_fd, err);
	if (rc < 0)
		return rc;
	writable_fd = openat(tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writable_fd < 0)
		return sbx_fail(err, errno, "open '/etc' in the sandbox: %s", strerror(errno));
	return sbx_refresh_put_in(refresh, writable_fd, err);
}

static int change_directory(const struct sbx_request_made *request, struct sbx_err *err)
{
	if (request->directory != NULL && chdir(request->directory) == 0)
		return 0;
	if (request->must_be_there)
		return sbx_fail(err, errno, "enter '%s' in the sandbox: %s", request->directory,
				strerror(errno));
	if (chdir(request->policy->home) < 0) {
		/* Then it stays in "/", where joining has put it. */
	}
	return 0;
}

static int arrive(void *data, struct sbx_err *err)
{
	const struct entry *entry = data;
	int rc = 0;

	if (entry->refresh != NULL)
		rc = renew_etc(entry->refresh, err);
	if (rc == 0)
		rc = sbx_user_terminal_put(&entry->terminal, err);
	return rc == 0 ? change_directory(&entry->request, err) : rc;
}

static int open_sandbox(struct entry *entry, struct sbx_err *err)
{
	const struct sbx_request_made *request = &entry->request;
	struct sbx_origin origin = {0};
	bool started;
	int rc = sbx_sandbox_open_named(request->policy, &request->identity, request->state_base,
					request->name, SBX_KEEPER, &entry->session, &started, err);

	if (rc < 0) {
		sbx_refusal_explain(err);
		return rc;
	}
	if (!started)
		rc = sbx_refresh_take(request->policy, &request->identity, &entry->refresh, err);
	sbx_user_terminal_take(&entry->terminal);
	sbx_origin_set(origin.service, sizeof(origin.service), SBX_SHELL_NAME);
	sbx_origin_set(origin.tty, sizeof(origin.tty), entry->terminal.name);
	sbx_session_describe(entry->session, &origin);
	return rc;
}

/* Whatever a keeper says, this is the least that makes a sandbox. */
static int check_offer(const struct entry *entry, struct sbx_err *err)
{
	int wanted = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
		     CLONE_NEWCGROUP;

	if (entry->request.policy->network == SBX_NETWORK_NONE)
		wanted |= CLONE_NEWNET;
	if ((entry->session->namespaces & wanted) != wanted)
		return sbx_fail(err, EXDEV,
				"the running sandbox lacks namespaces that the policy wants; it "
				"must end before a new login can join");
	return 0;
}

/* From the host's view into the sandbox's. Afterwards this process can do no more than wait. */
static int enter(struct entry *entry, struct sbx_err *err)
{
	const struct sbx_policy *policy;
	struct sbx_confinement confinement;
	int rc = sbx_request_make(entry->account, entry->options, true, &entry->request, err);

	if (rc < 0)
		return rc;
	rc = open_sandbox(entry, err);
	if (rc == 0)
		rc = check_offer(entry, err);
	/* Secrets only now: while a sandbox starts, a child of ours can be looked into. */
	if (rc == 0)
		rc =
		    sbx_environment_load(SBX_ENV_DIR, entry->account->identity, &entry->store, err);
	if (rc == 0)
		rc = sbx_limits_enter_cgroup(entry->session, &entry->in_cgroup, err);
	if (rc < 0)
		return rc;
	policy = entry->request.policy;
	confinement = (struct sbx_confinement){.user_namespaces = policy->user_namespaces,
					       .landlock = policy->landlock};
	return sbx_session_join(entry->session, &confinement, arrive, entry, err);
}

/* ------------------------------------------------------------- in the sandbox's child */

/* The parent's check covers the rest; the PID namespace is only a child's. */
static int check_child(const struct entry *entry, char **ret_shell, struct sbx_err *err)
{
	struct stat st;
	int rc;

	if (stat("/proc/self/ns/pid", &st) < 0)
		return sbx_fail(err, errno, "look at the PID namespace: %s", strerror(errno));
	if (st.st_ino != entry->session->inodes.inode[SBX_NS_PID])
		return sbx_fail(err, EXDEV, "the PID namespace is not the sandbox's");
	rc = sbx_inside_shell(ret_shell, err);
	if (rc == 0 && *ret_shell == NULL)
		rc = sbx_fail(err, ENOENT, "'" SBX_INSIDE_MARKER "' is not there after joining");
	return rc;
}

/* Returns an exit status: what was to be run was not. */
static int run_in_child(const struct entry *entry, const struct sbx_relay *relay,
			const struct sbx_inherited *inherited)
{
	sbx_autofree char *shell = NULL;
	sbx_autoenv char **env = NULL;
	struct sbx_err err = {0};
	int rc = check_child(entry, &shell, &err);

	if (rc == 0)
		rc = sbx_session_environment_make(entry->request.policy, &entry->request.identity,
						  shell, entry->store, environ, &env, &err);
	if (rc == 0 && !entry->in_cgroup)
		rc = sbx_limits_set(entry->request.policy, &err);
	if (rc == 0)
		sbx_relay_child(relay);
	if (rc == 0 && syscall(SYS_close_range, 3U, ~0U, 0) < 0)
		rc = sbx_fail(&err, errno, "close_range: %s", strerror(errno));
	if (rc < 0)
		return sbx_refuse(&err);
	sbx_startup_restore(inherited);
	return sbx_run(entry->options, shell, env);
}

/* ------------------------------------------------------------------------ the front */

int sbx_outside_run(const struct sbx_account *account, const struct sbx_options *options,
		    const struct sbx_inherited *inherited)
{
	__attribute__((cleanup(entry_done))) struct entry entry = {
	    .account = account, .options = options, .terminal = SBX_TERMINAL_NONE};
	struct sbx_relay relay;
	struct sbx_err err = {0};
	sigset_t all;
	pid_t child;

	if (sbx_startup_outside(&err) < 0 || enter(&entry, &err) < 0)
		return sbx_refuse(&err);
	sbx_relay_prepare(&relay, options->interactive);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL); /* cannot fail */
	child = fork();
	if (child == 0)
		_exit(run_in_child(&entry, &relay, inherited));
	if (child < 0) {
		(void)sbx_fail(&err, errno, "fork: %s", strerror(errno));
		return sbx_refuse(&err);
	}
	/* Wiped: what stays for the time of the session needs no secret. */
	sbx_environment_free(entry.store);
	entry.store = NULL;
	sbx_relay_end(sbx_relay_wait(&relay, child));
}

static int print_names(const struct entry *entry, struct sbx_str *out, struct sbx_err *err)
{
	sbx_autoenv char **env = NULL;
	const struct sbx_policy *policy = entry->request.policy;
	int rc = sbx_session_environment_make(policy, &entry->request.identity, policy->shell,
					      entry->store, environ, &env, err);

	if (rc < 0)
		return rc;
	sbx_str_add(out, "environment:");
	for (size_t i = 0; env[i] != NULL; i++) {
		sbx_str_add(out, " ");
		sbx_str_addn(out, env[i], strcspn(env[i], "="));
	}
	sbx_str_add(out, "\n");
	return 0;
}

static int explain(struct entry *entry, struct sbx_str *out, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_facts_freep))) struct sbx_facts *facts = NULL;
	__attribute__((cleanup(sbx_plan_freep))) struct sbx_plan *plan = NULL;
	int rc = sbx_request_make(entry->account, entry->options, false, &entry->request, err);

	if (rc == 0)
		rc =
		    sbx_environment_load(SBX_ENV_DIR, entry->account->identity, &entry->store, err);
	if (rc == 0)
		rc = sbx_facts_probe(entry->request.policy->root, &facts, err);
	if (rc == 0)
		rc = sbx_plan_make(entry->request.policy, &entry->request.identity, facts, &plan,
				   err);
	if (rc < 0)
		return rc;
	sbx_str_addf(out, "sandbox: %s/%s\n", entry->request.state_base, entry->request.name);
	sbx_str_addf(out, "memory is limited by: %s\n", sbx_limits_mechanism());
	rc = print_names(entry, out, err);
	if (rc == 0)
		sbx_plan_print(plan, out);
	return rc;
}

int sbx_outside_explain(const struct sbx_account *account, const struct sbx_options *options)
{
	__attribute__((cleanup(entry_done))) struct entry entry = {
	    .account = account, .options = options, .terminal = SBX_TERMINAL_NONE};
	sbx_autostr struct sbx_str out = {0};
	struct sbx_err err = {0};

	if (explain(&entry, &out, &err) < 0)
		return sbx_refuse(&err);
	if (out.rc < 0 || fputs(out.text, stdout) < 0 || fflush(stdout) != 0) {
		(void)sbx_fail(&err, EIO, "the plan could not be printed");
		return sbx_refuse(&err);
	}
	return 0;
}
