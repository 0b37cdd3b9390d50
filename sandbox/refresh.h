/* SPDX-License-Identifier: MIT */
#ifndef SBX_REFRESH_H
#define SBX_REFRESH_H

#include "base/err.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"

/*
 * The host replaces resolv.conf, hosts and passwd by rename, so a running sandbox
 * would keep the old ones. Each login therefore takes along what they say now:
 * sbx_refresh_take() in the host's view, sbx_refresh_put() in the sandbox's.
 */
struct sbx_refresh;

/* ret_refresh: caller frees with sbx_refresh_free(). A file the host lacks is left alone. */
int sbx_refresh_take(const struct sbx_policy *policy, const struct sbx_identity *identity,
		     struct sbx_refresh **ret_refresh, struct sbx_err *err);

/*
 * Write what differs, atomically, through the root-only pocket: /etc itself is
 * read-only for everybody. Call it after the namespaces are joined, as root.
 */
int sbx_refresh_put(const struct sbx_refresh *refresh, struct sbx_err *err);

/* The same with the directory given: 'dirfd' is borrowed. */
int sbx_refresh_put_in(const struct sbx_refresh *refresh, int dirfd, struct sbx_err *err);

void sbx_refresh_free(struct sbx_refresh *refresh);
void sbx_refresh_freep(struct sbx_refresh **refresh);

#endif
