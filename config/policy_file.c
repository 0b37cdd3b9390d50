/* SPDX-License-Identifier: MIT */
#include "config/policy_file.h"

#include "base/str.h"
#include "config/ini_file.h"
#include "config/policy_keys.h"
#include "config/trusted_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The file as text; empty if there is none. */
struct file_text {
	char *text;
	size_t length;
};

static void file_text_done(struct file_text *text) { free(text->text); }

/* For each key of the table the statement that counts, NULL where the default does. */
struct selection {
	const struct sbx_ini_entry *entries[SBX_POLICY_KEYS_MAX];
};

static int read_file(const char *file, struct file_text *ret_text, struct sbx_err *err)
{
	static const struct sbx_trust trust = {
	    .owner = 0,
	    .forbidden_mode = S_IWGRP | S_IWOTH,
	    .max_bytes = SBX_POLICY_BYTES_MAX,
	};
	int rc = sbx_trusted_file_read(file, &trust, &ret_text->text, &ret_text->length, err);

	if (rc == -ENOENT) { /* then it is as if it were empty */
		ret_text->text = strdup("");
		if (ret_text->text == NULL)
			return sbx_fail(err, ENOMEM, "read '%s': %s", file, strerror(ENOMEM));
		rc = 0;
	}
	return rc;
}

static int scope_of(const char *name, enum sbx_policy_scope *ret_scope)
{
	if (strcmp(name, "default") == 0)
		*ret_scope = SBX_POLICY_DEFAULT;
	else if (name[0] == '@' && sbx_username_valid(name + 1))
		*ret_scope = SBX_POLICY_GROUP;
	else if (sbx_username_valid(name))
		*ret_scope = SBX_POLICY_USER;
	else
		return -EINVAL;
	return 0;
}

static int unknown_key(const struct sbx_ini *ini, unsigned int line, struct sbx_err *err)
{
	sbx_autostr struct sbx_str known = {0};

	for (size_t i = 0; i < sbx_policy_n_keys; i++)
		sbx_str_addf(&known, " %s", sbx_policy_keys[i].name);
	return sbx_fail(err, EINVAL, "%s:%u: unknown key; known are:%s", ini->file, line,
			known.rc < 0 ? "" : known.text);
}

static int parse_entry(const struct sbx_ini *ini, const struct sbx_ini_entry *entry,
		       const struct sbx_identity *who, struct sbx_policy *policy,
		       struct sbx_err *err)
{
	const struct sbx_policy_key *key = sbx_policy_key_find(entry->key);
	int rc;

	if (key == NULL)
		return unknown_key(ini, entry->line, err);
	rc = sbx_policy_key_parse(key, entry->value, who, policy, err);
	return rc < 0 ? sbx_wrap(err, rc, "%s:%u: %s", ini->file, entry->line, key->name) : 0;
}

/*
 * Every section and every value, whoever they are for: checked for a made-up user, so
 * that a home that is odd for one user does not make another user's section wrong.
 */
static int check_all(const struct sbx_ini *ini, struct sbx_err *err)
{
	char name[] = "user";
	char home[] = "/home/user";
	const struct sbx_identity anybody = {.name = name, .home = home};
	__attribute__((cleanup(sbx_policy_freep))) struct sbx_policy *scratch =
	    calloc(1, sizeof(*scratch));

	if (scratch == NULL)
		return sbx_fail(err, ENOMEM, "read '%s': %s", ini->file, strerror(ENOMEM));
	for (size_t i = 0; i < ini->n_sections; i++) {
		enum sbx_policy_scope scope;

		if (scope_of(ini->sections[i].name, &scope) < 0)
			return sbx_fail(err, EINVAL,
					"%s:%u: a section is [default], [@GROUP] or [USER]",
					ini->file, ini->sections[i].line);
	}
	for (size_t i = 0; i < ini->n_entries; i++) {
		int rc = parse_entry(ini, &ini->entries[i], &anybody, scratch, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool concerns(const char *section, enum sbx_policy_scope wanted,
		     const struct sbx_identity *who)
{
	enum sbx_policy_scope scope;

	if (scope_of(section, &scope) < 0 || scope != wanted)
		return false;
	switch (scope) {
	case SBX_POLICY_DEFAULT:
		return true;
	case SBX_POLICY_GROUP:
		return sbx_identity_in_group(who, section + 1);
	case SBX_POLICY_USER:
		return strcmp(section, who->name) == 0;
	}
	return false;
}

static void select_entries(const struct sbx_ini *ini, const struct sbx_identity *who,
			   struct selection *selection)
{
	static const enum sbx_policy_scope order[] = {SBX_POLICY_DEFAULT, SBX_POLICY_GROUP,
						      SBX_POLICY_USER};

	for (size_t pass = 0; pass < sizeof(order) / sizeof(order[0]); pass++) {
		for (size_t i = 0; i < ini->n_entries; i++) {
			const struct sbx_ini_entry *entry = &ini->entries[i];
			const struct sbx_policy_key *key = sbx_policy_key_find(entry->key);

			if (key != NULL &&
			    concerns(ini->sections[entry->section].name, order[pass], who))
				selection->entries[key - sbx_policy_keys] = entry;
		}
	}
}

static int set_defaults(const struct sbx_identity *who, struct sbx_policy *policy,
			struct sbx_err *err)
{
	for (size_t i = 0; i < sbx_policy_n_keys; i++) {
		const struct sbx_policy_key *key = &sbx_policy_keys[i];
		int rc;

		if (key->default_text == NULL)
			continue;
		rc = sbx_policy_key_parse(key, key->default_text, who, policy, err);
		if (rc < 0) {
			(void)sbx_wrap(err, rc, "built-in default of %s", key->name);
			return rc;
		}
	}
	/* Checked in check_home(), because a home in the file may stand in for an unusable one. */
	policy->home = strdup(who->home);
	if (policy->home == NULL) {
		(void)sbx_fail(err, ENOMEM, "policy: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	/* The core relies on these; a row of the table that lacks its default must not get there.
	 */
	if (policy->workspace == NULL || policy->root == NULL || policy->shell == NULL ||
	    policy->path == NULL) {
		(void)sbx_fail(err, ENOTSUP, "policy: a key without a default");
		return -ENOTSUP;
	}
	return 0;
}

/* In the order of the file, so that the folders are. */
static int set_selected(const struct sbx_ini *ini, const struct selection *selection,
			const struct sbx_identity *who, struct sbx_policy *policy,
			struct sbx_err *err)
{
	for (size_t i = 0; i < ini->n_entries; i++) {
		const struct sbx_ini_entry *entry = &ini->entries[i];
		const struct sbx_policy_key *key = sbx_policy_key_find(entry->key);
		int rc;

		if (key == NULL || selection->entries[key - sbx_policy_keys] != entry)
			continue;
		rc = parse_entry(ini, entry, who, policy, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_home(const struct sbx_ini *ini, const struct sbx_identity *who,
		      const struct sbx_policy *policy, struct sbx_err *err)
{
	/* A home that the file gives was checked there. */
	if (!sbx_policy_system_path(policy->home))
		return 0;
	return sbx_fail(
	    err, EINVAL,
	    "the home of user '%s' in passwd is a directory of the system; give another "
	    "one in '%s', section [%s]: home = /home/%s",
	    who->name, ini->file, who->name, who->name);
}

static const char *folder_fault(const struct sbx_policy *policy, size_t i)
{
	const struct sbx_folder *folder = &policy->folders[i];

	if (sbx_policy_path_covers(folder->target, policy->home))
		return "a target would hide the home";
	if (!folder->read_only && strcmp(policy->root, "/") != 0 &&
	    sbx_policy_path_covers(folder->source, policy->root))
		return "would let the user write to the image that 'root' names";
	for (size_t j = 0; j < i; j++) {
		if (strcmp(policy->folders[j].target, folder->target) == 0)
			return "two folders have the same target";
	}
	return NULL;
}

/* Which folders a key has set is known by their kind. */
static int fail_folder(const struct sbx_ini *ini, const struct selection *selection, bool read_only,
		       const char *fault, struct sbx_err *err)
{
	enum sbx_policy_folders kind = read_only ? SBX_FOLDERS_READ_ONLY : SBX_FOLDERS_READ_WRITE;

	for (size_t i = 0; i < sbx_policy_n_keys; i++) {
		if (sbx_policy_keys[i].folders == kind && selection->entries[i] != NULL)
			return sbx_fail(err, EINVAL, "%s:%u: %s: %s", ini->file,
					selection->entries[i]->line, sbx_policy_keys[i].name,
					fault);
	}
	return sbx_fail(err, EINVAL, "%s: %s", ini->file, fault);
}

static int check_folders(const struct sbx_ini *ini, const struct selection *selection,
			 const struct sbx_policy *policy, struct sbx_err *err)
{
	for (size_t i = 0; i < policy->n_folders; i++) {
		const char *fault = folder_fault(policy, i);

		if (fault != NULL)
			return fail_folder(ini, selection, policy->folders[i].read_only, fault,
					   err);
	}
	return 0;
}

static int check_image(const struct sbx_ini *ini, const struct sbx_policy *policy,
		       struct sbx_err *err)
{
	if (strcmp(policy->root, "/") == 0 ||
	    !sbx_policy_path_covers(policy->workspace, policy->root))
		return 0;
	return sbx_fail(err, EINVAL,
			"%s: 'root' names an image in the workspace, where the user "
			"could change it",
			ini->file);
}

/* "~" in $PATH is the home inside, which is known only now. */
static int expand_path(struct sbx_policy *policy, struct sbx_err *err)
{
	sbx_autostr struct sbx_str path = {0};
	char *text;

	for (const char *p = policy->path; *p != '\0'; p++) {
		if (*p == '~' && (p == policy->path || p[-1] == ':'))
			sbx_str_add(&path, policy->home);
		else
			sbx_str_addn(&path, p, 1);
	}
	if (sbx_str_take(&path, &text) < 0)
		return sbx_fail(err, ENOMEM, "policy: %s", strerror(ENOMEM));
	free(policy->path);
	policy->path = text;
	return 0;
}

static int make_policy(const struct sbx_ini *ini, const struct sbx_identity *who,
		       struct sbx_policy **ret_policy, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_policy_freep))) struct sbx_policy *policy =
	    calloc(1, sizeof(*policy));
	struct selection selection = {0};
	int rc;

	if (policy == NULL)
		return sbx_fail(err, ENOMEM, "policy: %s", strerror(ENOMEM));
	select_entries(ini, who, &selection);
	rc = set_defaults(who, policy, err);
	if (rc == 0)
		rc = set_selected(ini, &selection, who, policy, err);
	if (rc == 0)
		rc = check_home(ini, who, policy, err);
	if (rc == 0)
		rc = check_image(ini, policy, err);
	if (rc == 0)
		rc = check_folders(ini, &selection, policy, err);
	if (rc == 0)
		rc = expand_path(policy, err);
	if (rc < 0)
		return rc;
	*ret_policy = policy;
	policy = NULL;
	return 0;
}

static int parse_checked(const char *file, const char *text, size_t length,
			 struct sbx_ini **ret_ini, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = NULL;
	int rc = sbx_ini_parse(file, text, length, &ini, err);

	if (rc == 0)
		rc = check_all(ini, err);
	if (rc < 0)
		return rc;
	*ret_ini = ini;
	ini = NULL;
	return 0;
}

int sbx_policy_parse(const char *file, const char *text, size_t length,
		     const struct sbx_identity *who, struct sbx_policy **ret_policy,
		     struct sbx_err *err)
{
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = NULL;
	int rc = parse_checked(file, text, length, &ini, err);

	return rc < 0 ? rc : make_policy(ini, who, ret_policy, err);
}

int sbx_policy_load(const char *file, const struct sbx_identity *who,
		    struct sbx_policy **ret_policy, struct sbx_err *err)
{
	__attribute__((cleanup(file_text_done))) struct file_text text = {0};
	int rc = read_file(file, &text, err);

	return rc < 0 ? rc : sbx_policy_parse(file, text.text, text.length, who, ret_policy, err);
}

int sbx_policy_check(const char *file, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = NULL;
	__attribute__((cleanup(file_text_done))) struct file_text text = {0};
	int rc = read_file(file, &text, err);

	return rc < 0 ? rc : parse_checked(file, text.text, text.length, &ini, err);
}

static int fill_sections(const struct sbx_ini *ini, struct sbx_policy_sections *list)
{
	list->sections = calloc(ini->n_sections + 1, sizeof(*list->sections));
	if (list->sections == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < ini->n_sections; i++) {
		struct sbx_policy_section *section = &list->sections[i];
		const char *name = ini->sections[i].name;

		if (scope_of(name, &section->scope) < 0)
			return -EINVAL;
		section->line = ini->sections[i].line;
		section->name = strdup(section->scope == SBX_POLICY_GROUP ? name + 1 : name);
		if (section->name == NULL)
			return -ENOMEM;
		list->n_sections++;
	}
	return 0;
}

int sbx_policy_sections_parse(const char *file, const char *text, size_t length,
			      struct sbx_policy_sections **ret_sections, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = NULL;
	struct sbx_policy_sections *list;
	int rc = parse_checked(file, text, length, &ini, err);

	if (rc < 0)
		return rc;
	list = calloc(1, sizeof(*list));
	rc = list == NULL ? -ENOMEM : fill_sections(ini, list);
	if (rc < 0) {
		sbx_policy_sections_free(list);
		return sbx_fail(err, -rc, "read '%s': %s", file, strerror(-rc));
	}
	*ret_sections = list;
	return 0;
}

int sbx_policy_sections_list(const char *file, struct sbx_policy_sections **ret_sections,
			     struct sbx_err *err)
{
	__attribute__((cleanup(file_text_done))) struct file_text text = {0};
	int rc = read_file(file, &text, err);

	return rc < 0 ? rc
		      : sbx_policy_sections_parse(file, text.text, text.length, ret_sections, err);
}

void sbx_policy_sections_free(struct sbx_policy_sections *sections)
{
	if (sections == NULL)
		return;
	for (size_t i = 0; i < sections->n_sections; i++)
		free(sections->sections[i].name);
	free(sections->sections);
	free(sections);
}

void sbx_policy_sections_freep(struct sbx_policy_sections **sections)
{
	sbx_policy_sections_free(*sections);
}
