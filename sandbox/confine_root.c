/* SPDX-License-Identifier: MIT */
/*
 * The part of confinement that is for the root process of a session. In a file of its own
 * so that the keeper, which stays in memory with every sandbox, does not link libcap-ng:
 * that makes it 300 KB larger.
 */
#include "sandbox/confine.h"
#include "sandbox/confine_common.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_SETS 2 /* 32-bit halves in capget(2)'s version 3 */

static int nothing_inheritable(bool *ret, struct sbx_err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct sets[CAP_SETS] = {0};

	if (syscall(SYS_capget, &header, sets) < 0)
		return sbx_fail(err, errno, "read capabilities: %s", strerror(errno));
	*ret = sets[0].inheritable == 0 && sets[1].inheritable == 0;
	return 0;
}

/*
 * Nearly always there is nothing to do, and then libcap-ng, which reads /proc twice, is
 * not bothered: a login would wait a tenth of a millisecond for it.
 */
static int drop_inheritable(struct sbx_err *err)
{
	void *hosts_state;
	bool done = false;
	int rc = nothing_inheritable(&done, err);

	if (rc < 0 || done)
		return rc;
	/* The library's state is shared with whatever else in this process uses it. */
	hosts_state = capng_save_state();
	rc = capng_get_caps_process();
	for (unsigned int cap = 0; rc == 0 && cap <= CAP_LAST_CAP; cap++)
		rc = capng_update(CAPNG_DROP, CAPNG_INHERITABLE, cap);
	if (rc == 0)
		rc = capng_apply(CAPNG_SELECT_CAPS);
	capng_restore_state(&hosts_state);
	if (rc < 0)
		return sbx_fail(err, EPERM, "drop inheritable capabilities");
	return 0;
}

int sbx_confine_privileges(struct sbx_err *err)
{
	int rc = sbx_confine_common(err);

	return rc < 0 ? rc : drop_inheritable(err);
}
