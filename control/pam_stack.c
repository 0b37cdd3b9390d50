/* SPDX-License-Identifier: MIT */
#include "control/pam_stack.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define MODULE_NAME "pam_sbx.so"
#define FILE_MAX_BYTES ((size_t)1 << 20)
#define INCLUDES_MAX 32 /* as libpam */

/* The stack so far: what the entries before the current one may do. */
struct scan {
	const char *const *dirs;
	enum sbx_pam_hook hook;
	unsigned int n_includes;
	uint64_t n_entries;  /* session entries seen */
	uint64_t jump_reach; /* entries up to this one may be jumped over */
	bool may_have_ended; /* an earlier entry can end the whole stack successfully */
};

/* One line in words; they point into it. */
struct entry {
	const char *type;
	const char *control; /* one word, or all between the brackets */
	const char *module;
	bool quiet; /* "-session": nothing is said, and nothing fails, if the module is absent */
};

static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	char *end;

	if (*word == '\0')
		return NULL;
	if (*word == '[') {
		end = strchr(word, ']');
		end = end == NULL ? word + strlen(word) : end;
		word++;
	} else {
		end = word + strcspn(word, " \t");
	}
	*rest = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

/* The action for a return value in "[success=1 new_authtok_reqd=done default=ignore]". */
static void find_action(const char *control, const char *value, char *ret_action, size_t size)
{
	const size_t length = strlen(value);
	const char *found = NULL;
	size_t n;

	for (const char *at = control; *at != '\0'; at += strcspn(at, " \t")) {
		at += strspn(at, " \t");
		if (strncasecmp(at, value, length) == 0 && at[length] == '=')
			found = at + length + 1;
		else if (found == NULL && strncasecmp(at, "default=", 8) == 0)
			found = at + 8;
	}
	n = found == NULL ? 0 : strcspn(found, " \t");
	if (n >= size)
		n = 0;
	if (n > 0)
		memcpy(ret_action, found, n);
	ret_action[n] = '\0';
}

static bool refusal_counts(const char *control)
{
	char action[32];

	if (strcasecmp(control, "required") == 0 || strcasecmp(control, "requisite") == 0)
		return true;
	find_action(control, "session_err", action, sizeof(action));
	return strcasecmp(action, "die") == 0 || strcasecmp(action, "bad") == 0;
}

static void note_effects(struct scan *scan, const char *control)
{
	/* What entries before pam_sbx.so usually answer. */
	static const char *const values[] = {"success", "ignore", "default"};
	char action[32];
	uint64_t jump;

	if (strcasecmp(control, "sufficient") == 0)
		scan->may_have_ended = true;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		find_action(control, values[i], action, sizeof(action));
		if (strcasecmp(action, "done") == 0)
			scan->may_have_ended = true;
		if (sbx_parse_u64(action, 1, 1000, &jump) == 0 &&
		    scan->n_entries + jump > scan->jump_reach)
			scan->jump_reach = scan->n_entries + jump;
	}
}

static void note_hook(struct scan *scan, const struct entry *entry)
{
	enum sbx_pam_hook hook = SBX_PAM_HOOKED;

	if (entry->quiet || !refusal_counts(entry->control))
		hook = SBX_PAM_OPTIONAL;
	else if (scan->may_have_ended || scan->n_entries <= scan->jump_reach)
		hook = SBX_PAM_BYPASSED;
	if (hook > scan->hook)
		scan->hook = hook;
}

static int read_service(const char *const *dirs, const char *name, char **ret_text,
			struct sbx_err *err)
{
	int rc = -ENOENT;

	if (name[0] == '/')
		return sbx_file_read(AT_FDCWD, name, 0, FILE_MAX_BYTES, ret_text, NULL, NULL, err);
	for (size_t i = 0; dirs[i] != NULL && rc == -ENOENT; i++) {
		sbx_autostr struct sbx_str path = {0};

		sbx_str_addf(&path, "%s/%s", dirs[i], name);
		if (path.rc < 0)
			return sbx_fail(err, -path.rc, "PAM service '%s'", name);
		rc = sbx_file_read(AT_FDCWD, path.text, 0, FILE_MAX_BYTES, ret_text, NULL, NULL,
				   err);
	}
	return rc;
}

static int scan_text(struct scan *scan, char *text, struct sbx_err *err);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by INCLUDES_MAX, as libpam's own */
static int scan_include(struct scan *scan, const char *name, struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	int rc;

	if (name == NULL)
		return sbx_fail(err, EINVAL, "an include without a name");
	if (++scan->n_includes > INCLUDES_MAX)
		return sbx_fail(err, ELOOP, "more than %d includes", INCLUDES_MAX);
	rc = read_service(scan->dirs, name, &text, err);
	if (rc < 0 || text == NULL)
		return sbx_wrap(err, rc, "included '%s'", name);
	return scan_text(scan, text, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): see scan_include() */
static int scan_line(struct scan *scan, char *line, struct sbx_err *err)
{
	struct entry entry = {0};

	line[strcspn(line, "#")] = '\0';
	entry.type = next_word(&line);
	if (entry.type == NULL)
		return 0;
	if (strcmp(entry.type, "@include") == 0)
		return scan_include(scan, next_word(&line), err);
	entry.quiet = entry.type[0] == '-';
	if (strcasecmp(entry.type + entry.quiet, "session") != 0)
		return 0;
	entry.control = next_word(&line);
	entry.module = next_word(&line);
	if (entry.control == NULL || entry.module == NULL)
		return 0;
	if (strcasecmp(entry.control, "include") == 0 || strcasecmp(entry.control, "substack") == 0)
		return scan_include(scan, entry.module, err);
	scan->n_entries++;
	if (strcmp(basename(entry.module), MODULE_NAME) == 0)
		note_hook(scan, &entry);
	else
		note_effects(scan, entry.control);
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): see scan_include() */
static int scan_text(struct scan *scan, char *text, struct sbx_err *err)
{
	char *rest = text;
	int rc = 0;

	/* A backslash at the end of a line joins it with the next. */
	for (char *join = strstr(text, "\\\n"); join != NULL; join = strstr(join, "\\\n"))
		join[0] = join[1] = ' ';
	for (char *line = strsep(&rest, "\n"); line != NULL && rc == 0; line = strsep(&rest, "\n"))
		rc = scan_line(scan, line, err);
	return rc;
}

int sbx_pam_stack_scan(const char *const *dirs, const char *service, enum sbx_pam_hook *ret,
		       struct sbx_err *err)
{
	struct scan scan = {.dirs = dirs, .hook = SBX_PAM_MISSING};
	sbx_autofree char *text = NULL;
	int rc = read_service(dirs, service, &text, err);

	if (rc == -ENOENT) {
		*ret = SBX_PAM_NO_SERVICE;
		return 0;
	}
	if (rc == 0 && text != NULL)
		rc = scan_text(&scan, text, err);
	if (rc == 0)
		*ret = scan.hook;
	return rc;
}
