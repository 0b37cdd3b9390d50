/* SPDX-License-Identifier: MIT */
#ifndef SBX_POLICY_KEYS_H
#define SBX_POLICY_KEYS_H

#include "base/err.h"
#include "sandbox/identity.h"
#include "sandbox/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The keys of the policy file: one row each, and everything about a key is in its
 * row. Internal to config/, and for whoever wants to list the keys.
 */

struct sbx_policy_key;

/*
 * Store the words of one value in 'policy', replacing what this key has set there.
 * On failure *err has the reason alone; the caller puts file, line and key before it.
 */
typedef int sbx_policy_parser(const struct sbx_policy_key *key, char *const *words,
			      const struct sbx_identity *who, struct sbx_policy *policy,
			      struct sbx_err *err);

enum sbx_policy_folders {
	SBX_FOLDERS_NOT, /* the key is about something else */
	SBX_FOLDERS_READ_ONLY,
	SBX_FOLDERS_READ_WRITE,
};

struct sbx_policy_key {
	const char *name;
	const char *doc;	  /* one line */
	const char *default_text; /* as it would stand in the file; NULL: taken from passwd */
	sbx_policy_parser *parse;
	size_t offset;	     /* of the member of struct sbx_policy; not for choices and folders */
	bool list;	     /* any number of words, or "none"; else exactly one */
	bool system_refused; /* a path: not '/' or a directory of the system */
	bool root_allowed;   /* ... but '/' is right */
	enum sbx_policy_folders folders;
	uint64_t min; /* numbers */
	uint64_t max;
	const char *unlimited;	    /* numbers: the word that means UINT64_MAX */
	const char *const *choices; /* words, NULL-terminated */
	void (*choose)(struct sbx_policy *policy, size_t choice);
};

extern const struct sbx_policy_key sbx_policy_keys[];
extern const size_t sbx_policy_n_keys;
#define SBX_POLICY_KEYS_MAX 32 /* so that callers need not allocate; checked when compiling */

/* The row of that name, or NULL. */
const struct sbx_policy_key *sbx_policy_key_find(const char *name);

/*
 * Read one value as the file writes it.
 * Returns 0 or -errno with the reason alone in *err.
 */
int sbx_policy_key_parse(const struct sbx_policy_key *key, const char *value,
			 const struct sbx_identity *who, struct sbx_policy *policy,
			 struct sbx_err *err);

/* True if a workspace, home or image must not be at 'path'. */
bool sbx_policy_system_path(const char *path);

/* True if 'path' is 'directory' or below it; both absolute and without a slash at the end. */
bool sbx_policy_path_covers(const char *directory, const char *path);

/* Why nothing may be mounted at 'target' inside, or NULL if it may. */
const char *sbx_policy_target_refused(const char *target);

#endif
