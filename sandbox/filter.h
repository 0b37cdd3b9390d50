/* SPDX-License-Identifier: MIT */
#ifndef SBX_FILTER_H
#define SBX_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the seccomp filters are made of. Used only while building: sandbox/filter_gen.c
 * turns these tables into BPF, so that a login loads ready-made bytes and nothing
 * that runs needs libseccomp.
 */

/*
 * The last call that was reviewed for these tables: file_setattr, Linux 6.17. Anything
 * above answers ENOSYS, as an older kernel would, so that a call added later cannot
 * open what is closed here. From 424 on a number means the same call on every
 * architecture that is supported.
 */
#define SBX_FILTER_LAST_CALL 469

/* A call that is refused whatever its arguments. */
struct sbx_filter_call {
	const char *name;
	int number;		     /* >= 424, for a libseccomp that lacks the name; else -1 */
	int error;		     /* errno value */
	bool unless_user_namespaces; /* not refused when the policy allows user namespaces */
};

extern const struct sbx_filter_call sbx_filter_denied[];
extern const size_t sbx_filter_n_denied;

/* ioctl(2) requests that are refused; the kernel looks at the low 32 bits only, so do we. */
extern const uint32_t sbx_filter_ioctls[];
extern const size_t sbx_filter_n_ioctls;

/* Address families for which socket(2) and socketpair(2) work. */
extern const uint32_t sbx_filter_families[];
extern const size_t sbx_filter_n_families;

/* Flags (low 32 bits) that make clone(2) and unshare(2) fail unless user namespaces are allowed. */
extern const uint32_t sbx_filter_clone_flags;
extern const uint32_t sbx_filter_unshare_flags;

/* All that the keeper may call; the 'maps' only without PROT_EXEC in their third argument. */
extern const char *const sbx_filter_keeper_calls[];
extern const size_t sbx_filter_n_keeper_calls;
extern const char *const sbx_filter_keeper_maps[];
extern const size_t sbx_filter_n_keeper_maps;

#endif
