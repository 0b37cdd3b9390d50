/* SPDX-License-Identifier: MIT */
#include "sandbox/sandbox.h"

#include "sandbox/facts.h"
#include "sandbox/plan.h"
#include "sandbox/start.h"
#include "sandbox/state.h"

#include <errno.h>
#include <unistd.h>

#define LOCK_TIMEOUT_MS 60000

static bool no_keeper(int rc) { return rc == -ENOENT || rc == -ECONNREFUSED || rc == -ECONNRESET; }

static int start(const struct sbx_policy *policy, const struct sbx_identity *identity,
		 const struct sbx_state *state, const char *keeper_path, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_facts_freep))) struct sbx_facts *facts = NULL;
	__attribute__((cleanup(sbx_plan_freep))) struct sbx_plan *plan = NULL;
	int rc = sbx_facts_probe(policy->root, &facts, err);

	if (rc == 0)
		rc = sbx_plan_make(policy, identity, facts, &plan, err);
	if (rc == 0)
		rc = sbx_sandbox_start(plan, state, keeper_path, err);
	return rc;
}

int sbx_sandbox_open(const struct sbx_policy *policy, const struct sbx_identity *identity,
		     const char *run_dir, const char *keeper_path, struct sbx_session **ret_session,
		     bool *ret_started, struct sbx_err *err)
{
	return sbx_sandbox_open_named(policy, identity, run_dir, identity->name, keeper_path,
				      ret_session, ret_started, err);
}

int sbx_sandbox_open_named(const struct sbx_policy *policy, const struct sbx_identity *identity,
			   const char *run_dir, const char *name, const char *keeper_path,
			   struct sbx_session **ret_session, bool *ret_started, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_state_freep))) struct sbx_state *state = NULL;
	int rc = sbx_state_open(run_dir, name, geteuid(), &state, err);

	if (rc < 0)
		return rc;
	*ret_started = false;
	rc = sbx_session_enter(state, ret_session, err);
	if (!no_keeper(rc))
		return rc;
	/* The lock makes ten logins at once start one keeper; who waited finds it running. */
	rc = sbx_state_lock(state, LOCK_TIMEOUT_MS, err);
	if (rc < 0)
		return rc;
	rc = sbx_session_enter(state, ret_session, err);
	if (!no_keeper(rc))
		return rc;
	rc = start(policy, identity, state, keeper_path, err);
	if (rc < 0)
		return rc;
	*ret_started = true;
	return sbx_session_enter(state, ret_session, err);
}
