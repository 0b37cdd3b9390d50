/* SPDX-License-Identifier: MIT */
#include "config/policy_keys.h"

#include "base/number.h"
#include "base/paths.h"
#include "base/str.h"
#include "config/environment_file.h"
#include "config/ini_file.h"
#include "sandbox/view.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define SIZE_MAX_BYTES ((uint64_t)1 << 60)
#define PID_MAX 4194304				 /* the kernel's own limit, proc_sys_kernel(5) */
#define LINGER_MAX_S ((uint64_t)366 * 24 * 3600) /* more is "forever" */
#define CPU_MAX_PERCENT (100 * (uint64_t)8192)	 /* the most CPUs Linux can be built for */

#define LIST_EMPTY "none"
#define HOME_WORD "HOME"

/* The return values are spelled out for the static analyzer, which does not see into sbx_fail(). */
static int refuse(struct sbx_err *err, const char *reason)
{
	(void)sbx_fail(err, EINVAL, "%s", reason);
	return -EINVAL;
}

static int no_memory(struct sbx_err *err)
{
	(void)sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

/* --- Paths --------------------------------------------------------------------------------- */

/*
 * Where neither workspace, home nor image may be: 'whole' means nowhere below either.
 * A workspace there would give the agent files that programs of the host trust.
 */
static const struct {
	const char *path;
	bool whole;
} system_paths[] = {
    {"/", false},	   {"/bin", true},
    {"/boot", true},	   {"/dev", true},
    {"/etc", true},	   {"/home", false},
    {"/lib", true},	   {"/lib32", true},
    {"/lib64", true},	   {"/libx32", true},
    {"/lost+found", true}, {"/media", false},
    {"/mnt", false},	   {"/opt", false},
    {"/proc", true},	   {"/root", false},
    {"/run", true},	   {"/sbin", true},
    {"/srv", false},	   {"/sys", true},
    {"/tmp", false},	   {"/usr", true},
    {"/var", false},	   {"/var/cache", false},
    {"/var/lib", false},   {SBX_WORKSPACE_ROOT, false},
    {"/var/log", true},	   {"/var/spool", false},
    {"/var/tmp", false},
};

bool sbx_policy_path_covers(const char *directory, const char *path)
{
	size_t length = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return true;
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

bool sbx_policy_system_path(const char *path)
{
	for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
		if (strcmp(path, system_paths[i].path) == 0)
			return true;
		if (system_paths[i].whole && sbx_policy_path_covers(system_paths[i].path, path))
			return true;
	}
	return false;
}

const char *sbx_policy_target_refused(const char *target)
{
	/* What sbx itself puts there and other parts rely on. */
	static const char *const below[] = {"/proc",	  "/sys",      "/dev",
					    "/run/host",  "/run/sbx",  "/etc/passwd",
					    "/etc/group", "/run/dbus", "/etc/nsswitch.conf"};
	static const char *const exact[] = {
	    "/",      "/etc",	"/run",	   "/run/user", "/usr",	 "/bin",     "/sbin",	     "/lib",
	    "/lib32", "/lib64", "/libx32", "/var",	"/home", "/var/log", "/run/systemd",
	};

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		if (sbx_policy_path_covers(below[i], target))
			return "the target would hide a part of the sandbox itself";
	}
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
		if (strcmp(exact[i], target) == 0)
			return "the target would hide a system directory; name one below it";
	}
	return NULL;
}

static const char *path_fault(const char *path)
{
	const char *p = path;

	if (path[0] != '/')
		return "not an absolute path";
	if (strchr(path, ':') != NULL)
		return "a path with a ':' in it cannot be used";
	if (strlen(path) >= PATH_MAX)
		return "the path is too long";
	if (strcmp(path, "/") == 0)
		return NULL;
	while (*p == '/') {
		size_t length = strcspn(++p, "/");

		if (length == 0)
			return "'//' or a '/' at the end of a path";
		if ((length == 1 && p[0] == '.') || (length == 2 && p[0] == '.' && p[1] == '.'))
			return "'.' and '..' are not allowed in a path";
		p += length;
	}
	return NULL;
}

/* Expand %u and check; 'word' is 'length' bytes long. */
static int take_path(const char *word, size_t length, const struct sbx_identity *who,
		     char **ret_path, struct sbx_err *err)
{
	sbx_autostr struct sbx_str path = {0};
	const char *fault;

	for (size_t i = 0; i < length; i++) {
		if (word[i] != '%') {
			sbx_str_addn(&path, &word[i], 1);
		} else if (i + 1 < length && word[i + 1] == 'u') {
			sbx_str_add(&path, who->name);
			i++;
		} else {
			return refuse(err, "'%' may only be used as %u, the user's name");
		}
	}
	if (path.rc == 0 && path.length == 0)
		return refuse(err, "there is no path");
	if (path.rc == 0) {
		fault = path_fault(path.text);
		if (fault != NULL)
			return refuse(err, fault);
	}
	if (sbx_str_take(&path, ret_path) < 0)
		return no_memory(err);
	return 0;
}

/* Replace a string of the policy; takes 'text' over. */
static void set_string(struct sbx_policy *policy, size_t offset, char *text)
{
	char **member = (char **)(void *)((char *)policy + offset);

	free(*member);
	*member = text;
}

static int parse_path(const struct sbx_policy_key *key, char *const *words,
		      const struct sbx_identity *who, struct sbx_policy *policy,
		      struct sbx_err *err)
{
	sbx_autofree char *path = NULL;
	int rc = take_path(words[0], strlen(words[0]), who, &path, err);

	if (rc < 0)
		return rc;
	if (key->system_refused && sbx_policy_system_path(path) &&
	    !(key->root_allowed && strcmp(path, "/") == 0))
		return refuse(err, "this is a directory of the system");
	set_string(policy, key->offset, path);
	path = NULL;
	return 0;
}

static int parse_workspace(const struct sbx_policy_key *key, char *const *words,
			   const struct sbx_identity *who, struct sbx_policy *policy,
			   struct sbx_err *err)
{
	char *const home[] = {who->home, NULL};

	return parse_path(key, strcmp(words[0], HOME_WORD) == 0 ? home : words, who, policy, err);
}

static int parse_shell(const struct sbx_policy_key *key, char *const *words,
		       const struct sbx_identity *who, struct sbx_policy *policy,
		       struct sbx_err *err)
{
	sbx_autofree char *path = NULL;
	int rc = take_path(words[0], strlen(words[0]), who, &path, err);
	const char *name = rc < 0 ? NULL : strrchr(path, '/') + 1;

	if (rc < 0)
		return rc;
	if (name[0] == '\0')
		return refuse(err, "not the path of a program");
	if (strcmp(name, SBX_SHELL_NAME) == 0)
		return refuse(err, SBX_SHELL_NAME " would start itself for ever; name "
						  "the shell to use inside");
	set_string(policy, key->offset, path);
	path = NULL;
	return 0;
}

/* $PATH. "~" stays until the home is known, see sbx_policy_load(). */
static int parse_search_path(const struct sbx_policy_key *key, char *const *words,
			     const struct sbx_identity *who, struct sbx_policy *policy,
			     struct sbx_err *err)
{
	sbx_autostr struct sbx_str list = {0};
	const char *p = words[0];
	char *text;

	for (;;) {
		size_t length = strcspn(p, ":");
		size_t tilde = p[0] == '~' && (length == 1 || p[1] == '/') ? 1 : 0;
		sbx_autofree char *path = NULL;
		int rc;

		if (length == 0)
			return refuse(err, "an empty element means the current directory");
		if (length == 2 && tilde == 1)
			return refuse(err, "'/' at the end of a path");
		rc = tilde == 1 && length == 1
			 ? 0
			 : take_path(p + tilde, length - tilde, who, &path, err);
		if (rc < 0)
			return rc;
		sbx_str_addf(&list, "%s%s%s", list.length > 0 ? ":" : "", tilde == 1 ? "~" : "",
			     path == NULL ? "" : path);
		p += length;
		if (*p++ == '\0')
			break;
	}
	if (sbx_str_take(&list, &text) < 0)
		return no_memory(err);
	set_string(policy, key->offset, text);
	return 0;
}

/* --- Folders ------------------------------------------------------------------------------- */

static void folder_done(struct sbx_folder *folder)
{
	free(folder->source);
	free(folder->target);
}

static int add_folder(struct sbx_policy *policy, struct sbx_folder *folder)
{
	struct sbx_folder *grown =
	    reallocarray(policy->folders, policy->n_folders + 1, sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	policy->folders = grown;
	policy->folders[policy->n_folders++] = *folder;
	*folder = (struct sbx_folder){0};
	return 0;
}

/* [?]SRC[:DST] */
static int parse_folder(const char *word, bool read_only, const struct sbx_identity *who,
			struct sbx_policy *policy, struct sbx_err *err)
{
	__attribute__((cleanup(folder_done))) struct sbx_folder folder = {.read_only = read_only};
	const char *colon;
	size_t length;
	int rc;

	if (word[0] == '?') {
		folder.optional = true;
		word++;
	}
	length = strcspn(word, ":");
	colon = word[length] == ':' ? word + length : NULL;
	rc = take_path(word, length, who, &folder.source, err);
	if (rc == 0 && colon != NULL)
		rc = take_path(colon + 1, strlen(colon + 1), who, &folder.target, err);
	else if (rc == 0)
		rc = take_path(word, length, who, &folder.target, err);
	if (rc < 0)
		return rc;
	if (folder.source[strcspn(folder.source, "*?[")] != '\0')
		return refuse(err, "wildcards are not expanded; name each folder");
	if (sbx_policy_target_refused(folder.target) != NULL)
		return refuse(err, sbx_policy_target_refused(folder.target));
	if (add_folder(policy, &folder) < 0)
		return no_memory(err);
	return 0;
}

/* Drop what the same key has set before. */
static void remove_folders(struct sbx_policy *policy, bool read_only)
{
	size_t kept = 0;

	for (size_t i = 0; i < policy->n_folders; i++) {
		if (policy->folders[i].read_only == read_only)
			folder_done(&policy->folders[i]);
		else
			policy->folders[kept++] = policy->folders[i];
	}
	policy->n_folders = kept;
}

static int parse_folders(const struct sbx_policy_key *key, char *const *words,
			 const struct sbx_identity *who, struct sbx_policy *policy,
			 struct sbx_err *err)
{
	bool read_only = key->folders == SBX_FOLDERS_READ_ONLY;

	remove_folders(policy, read_only);
	for (size_t i = 0; words[i] != NULL; i++) {
		int rc = parse_folder(words[i], read_only, who, policy, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- Numbers ------------------------------------------------------------------------------- */

static void set_number(struct sbx_policy *policy, const struct sbx_policy_key *key, uint64_t value)
{
	uint64_t *member = (uint64_t *)(void *)((char *)policy + key->offset);

	*member = value;
}

static bool is_unlimited(const struct sbx_policy_key *key, const char *word)
{
	return key->unlimited != NULL && strcmp(word, key->unlimited) == 0;
}

/* What 'unit' is called in the message, and what else may be written. */
static int number_fault(const struct sbx_policy_key *key, int rc, const char *form,
			struct sbx_err *err)
{
	const char * or = key->unlimited == NULL ? "" : ", or ";
	const char *word = key->unlimited == NULL ? "" : key->unlimited;

	if (rc == -ERANGE)
		return sbx_fail(err, ERANGE, "not between %llu and %llu%s%s",
				(unsigned long long)key->min, (unsigned long long)key->max, or,
				word);
	return sbx_fail(err, EINVAL, "not %s%s%s", form, or, word);
}

static int parse_size(const struct sbx_policy_key *key, char *const *words,
		      const struct sbx_identity *who, struct sbx_policy *policy,
		      struct sbx_err *err)
{
	uint64_t value = SBX_UNLIMITED;
	int rc = 0;

	(void)who;
	if (!is_unlimited(key, words[0]))
		rc = sbx_parse_size(words[0], key->min, key->max, &value);
	if (rc < 0)
		return number_fault(key, rc, "a size: digits, then nothing, K, M, G or T", err);
	set_number(policy, key, value);
	return 0;
}

static int parse_count(const struct sbx_policy_key *key, char *const *words,
		       const struct sbx_identity *who, struct sbx_policy *policy,
		       struct sbx_err *err)
{
	uint64_t value = SBX_UNLIMITED;
	int rc = 0;

	(void)who;
	if (!is_unlimited(key, words[0]))
		rc = sbx_parse_u64(words[0], key->min, key->max, &value);
	if (rc < 0)
		return number_fault(key, rc, "a number", err);
	set_number(policy, key, value);
	return 0;
}

static int parse_percent(const struct sbx_policy_key *key, char *const *words,
			 const struct sbx_identity *who, struct sbx_policy *policy,
			 struct sbx_err *err)
{
	size_t length = strlen(words[0]);
	sbx_autofree char *digits = NULL;
	uint64_t value = SBX_UNLIMITED;
	int rc = 0;

	(void)who;
	if (!is_unlimited(key, words[0])) {
		if (length < 2 || words[0][length - 1] != '%')
			return number_fault(key, -EINVAL, "a percentage like 200%", err);
		digits = strndup(words[0], length - 1);
		if (digits == NULL)
			return no_memory(err);
		rc = sbx_parse_u64(digits, key->min, key->max, &value);
	}
	if (rc < 0)
		return number_fault(key, rc, "a percentage like 200%", err);
	set_number(policy, key, value);
	return 0;
}

/* --- Choices ------------------------------------------------------------------------------- */

static int parse_choice(const struct sbx_policy_key *key, char *const *words,
			const struct sbx_identity *who, struct sbx_policy *policy,
			struct sbx_err *err)
{
	sbx_autostr struct sbx_str known = {0};

	(void)who;
	for (size_t i = 0; key->choices[i] != NULL; i++) {
		if (strcmp(key->choices[i], words[0]) == 0) {
			key->choose(policy, i);
			return 0;
		}
		sbx_str_addf(&known, "%s%s", i == 0 ? "" : ", ", key->choices[i]);
	}
	return sbx_fail(err, EINVAL, "not one of: %s", known.rc < 0 ? "?" : known.text);
}

static const char *const network_choices[] = {
    [SBX_NETWORK_HOST] = "host", [SBX_NETWORK_NONE] = "none", NULL};
static const char *const namespaces_choices[] = {[false] = "deny", [true] = "allow", NULL};
static const char *const landlock_choices[] = {[SBX_LANDLOCK_OFF] = "off",
					       [SBX_LANDLOCK_PREFER] = "prefer",
					       [SBX_LANDLOCK_REQUIRE] = "require",
					       NULL};
static const char *const git_choices[] = {[false] = "off", [true] = "auto", NULL};

static void choose_network(struct sbx_policy *policy, size_t choice)
{
	policy->network = (enum sbx_network)choice;
}

static void choose_namespaces(struct sbx_policy *policy, size_t choice)
{
	policy->user_namespaces = choice == true;
}

static void choose_landlock(struct sbx_policy *policy, size_t choice)
{
	policy->landlock = (enum sbx_landlock)choice;
}

static void choose_git(struct sbx_policy *policy, size_t choice)
{
	policy->git_credentials = choice == true;
}

/* --- Patterns ------------------------------------------------------------------------------ */

static const char *pattern_fault(const char *pattern)
{
	static const char allowed[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_*?";

	if (pattern[0] == '\0' || pattern[strspn(pattern, allowed)] != '\0')
		return "a variable's name is made of letters, digits and '_'; '*' and '?' stand "
		       "for "
		       "any";
	if (sbx_variable_pattern_reserved(pattern))
		return "would let in variables that are set by sbx or give orders to the loader or "
		       "a "
		       "shell, such as PATH or LD_PRELOAD";
	return NULL;
}

static int parse_patterns(const struct sbx_policy_key *key, char *const *words,
			  const struct sbx_identity *who, struct sbx_policy *policy,
			  struct sbx_err *err)
{
	sbx_autostrv char **patterns = NULL;

	(void)key;
	(void)who;
	for (size_t i = 0; words[i] != NULL; i++) {
		const char *fault = pattern_fault(words[i]);

		if (fault != NULL)
			return refuse(err, fault);
		if (sbx_strv_append(&patterns, words[i]) < 0)
			return no_memory(err);
	}
	sbx_strv_free(policy->env_pass);
	policy->env_pass = patterns;
	patterns = NULL;
	return 0;
}

/* --- The table ----------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(struct sbx_policy, member)

const struct sbx_policy_key sbx_policy_keys[] = {
    {
	.name = "workspace",
	.doc = "host directory that becomes the user's home inside; HOME: the passwd home",
	.default_text = SBX_WORKSPACE_ROOT "/%u",
	.parse = parse_workspace,
	AT(workspace),
	.system_refused = true,
    },
    {
	.name = "home",
	.doc = "where the workspace appears inside",
	.default_text = NULL,
	.parse = parse_path,
	AT(home),
	.system_refused = true,
    },
    {
	.name = "root",
	.doc = "directory, such as an unpacked image, that provides /usr and /etc",
	.default_text = "/",
	.parse = parse_path,
	AT(root),
	.system_refused = true,
	.root_allowed = true,
    },
    {
	.name = "shell",
	.doc = "shell inside; where /bin/bash is not installed, the default is /bin/sh",
	.default_text = SBX_SHELL_DEFAULT,
	.parse = parse_shell,
	AT(shell),
    },
    {
	.name = "read_only",
	.doc = "more paths that are visible inside: [?]SRC[:DST] ...; ? skips one that is absent",
	.default_text = LIST_EMPTY,
	.parse = parse_folders,
	.list = true,
	.folders = SBX_FOLDERS_READ_ONLY,
    },
    {
	.name = "read_write",
	.doc = "the same, to be written to as well",
	.default_text = LIST_EMPTY,
	.parse = parse_folders,
	.list = true,
	.folders = SBX_FOLDERS_READ_WRITE,
    },
    {
	.name = "memory_max",
	.doc = "memory of all sessions together, in bytes with K, M, G, T",
	.default_text = "4G",
	.parse = parse_size,
	AT(memory_max_bytes),
	.min = 16 * MIB,
	.max = SIZE_MAX_BYTES,
	.unlimited = "none",
    },
    {
	.name = "memory_high",
	.doc = "memory above which they are slowed down and reclaimed from",
	.default_text = "none",
	.parse = parse_size,
	AT(memory_high_bytes),
	.min = 16 * MIB,
	.max = SIZE_MAX_BYTES,
	.unlimited = "none",
    },
    {
	.name = "swap_max",
	.doc = "swap of all sessions together",
	.default_text = "0",
	.parse = parse_size,
	AT(swap_max_bytes),
	.min = 0,
	.max = SIZE_MAX_BYTES,
	.unlimited = "none",
    },
    {
	.name = "tasks_max",
	.doc = "processes and threads of all sessions together",
	.default_text = "4096",
	.parse = parse_count,
	AT(tasks_max),
	.min = 16,
	.max = PID_MAX,
	.unlimited = "none",
    },
    {
	.name = "cpu_max",
	.doc = "percent of one CPU; 200% are two CPUs",
	.default_text = "none",
	.parse = parse_percent,
	AT(cpu_max_percent),
	.min = 1,
	.max = CPU_MAX_PERCENT,
	.unlimited = "none",
    },
    {
	.name = "tmp_size",
	.doc = "size of each tmpfs (/tmp, /dev/shm, ...); counts as memory as well",
	.default_text = "1G",
	.parse = parse_size,
	AT(tmp_size_bytes),
	.min = 1 * MIB,
	.max = SIZE_MAX_BYTES,
    },
    {
	.name = "network",
	.doc = "host: the host's network; none: nothing but an own loopback",
	.default_text = "host",
	.parse = parse_choice,
	.choices = network_choices,
	.choose = choose_network,
    },
    {
	.name = "user_namespaces",
	.doc = "allow for programs that bring a sandbox of their own, else deny",
	.default_text = "deny",
	.parse = parse_choice,
	.choices = namespaces_choices,
	.choose = choose_namespaces,
    },
    {
	.name = "linger",
	.doc = "seconds that the sandbox outlives its last session, or forever",
	.default_text = "0",
	.parse = parse_count,
	AT(linger_s),
	.min = 0,
	.max = LINGER_MAX_S,
	.unlimited = "forever",
    },
    {
	.name = "env_pass",
	.doc = "variables that a session may bring along; * and ? stand for any characters",
	.default_text = "TERM COLORTERM LANG LC_* TZ NO_COLOR SSH_* DISPLAY",
	.parse = parse_patterns,
	.list = true,
    },
    {
	.name = "path",
	.doc = "PATH inside; ~ is the home inside",
	.default_text = "~/.local/bin:~/.cargo/bin:~/go/bin:/usr/local/bin:/usr/bin:/bin",
	.parse = parse_search_path,
	AT(path),
    },
    {
	.name = "git_credentials",
	.doc = "auto: git and gh use the store's GH_TOKEN or GITHUB_TOKEN; off: they do not",
	.default_text = "auto",
	.parse = parse_choice,
	.choices = git_choices,
	.choose = choose_git,
    },
    {
	.name = "landlock",
	.doc = "keep from abstract sockets of the host: require, prefer (if the kernel can), off",
	.default_text = "prefer",
	.parse = parse_choice,
	.choices = landlock_choices,
	.choose = choose_landlock,
    },
};

const size_t sbx_policy_n_keys = sizeof(sbx_policy_keys) / sizeof(sbx_policy_keys[0]);
static_assert(sizeof(sbx_policy_keys) / sizeof(sbx_policy_keys[0]) <= SBX_POLICY_KEYS_MAX,
	      "SBX_POLICY_KEYS_MAX is too small");
static_assert(SBX_LINGER_FOREVER == SBX_UNLIMITED, "one word for both");

const struct sbx_policy_key *sbx_policy_key_find(const char *name)
{
	for (size_t i = 0; i < sbx_policy_n_keys; i++) {
		if (strcmp(sbx_policy_keys[i].name, name) == 0)
			return &sbx_policy_keys[i];
	}
	return NULL;
}

int sbx_policy_key_parse(const struct sbx_policy_key *key, const char *value,
			 const struct sbx_identity *who, struct sbx_policy *policy,
			 struct sbx_err *err)
{
	static char *const no_words[] = {NULL};
	sbx_autostrv char **words = NULL;
	int rc = sbx_ini_words(value, &words);

	if (rc == -EINVAL)
		return refuse(err, "double quotes may only enclose a whole word");
	if (rc < 0)
		return sbx_fail(err, -rc, "%s", strerror(-rc));
	if (!key->list && sbx_strv_length(words) != 1)
		return refuse(err, "takes one word; put it in double quotes if it has "
				   "blanks");
	if (key->list && sbx_strv_length(words) == 1 && strcmp(words[0], LIST_EMPTY) == 0)
		return key->parse(key, no_words, who, policy, err);
	return key->parse(key, words, who, policy, err);
}
