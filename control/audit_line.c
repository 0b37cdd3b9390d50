/* SPDX-License-Identifier: MIT */
#include "control/audit_line.h"

#include <string.h>

/* "sshd[123]: pam_sbx(sshd:session): session opened: user=..." or "sbxctl[123]: ..." */
static char *find_message(char *text)
{
	char *mark = strstr(text, "pam_sbx(");

	if (mark != NULL) {
		mark = strstr(mark, "): ");
		return mark == NULL ? NULL : mark + strlen("): ");
	}
	mark = strstr(text, "sbxctl[");
	if (mark == NULL)
		return NULL;
	mark = strstr(mark, "]: ");
	return mark == NULL ? NULL : mark + strlen("]: ");
}

static bool add(struct sbx_audit_line *line, const char *name, const char *value)
{
	if (line->n_words == SBX_AUDIT_WORDS_MAX)
		return false;
	line->words[line->n_words++] = (struct sbx_audit_word){.name = name, .value = value};
	return true;
}

/* "session of 'agent' refused: policy.ini:3: ..." */
static bool parse_refusal(char *message, struct sbx_audit_line *ret)
{
	static const char before[] = "session of '";
	static const char after[] = "' refused: ";
	char *user = message + strlen(before);
	char *end;

	if (strncmp(message, before, strlen(before)) != 0)
		return false;
	end = strstr(user, after);
	if (end == NULL)
		return false;
	*end = '\0';
	ret->user = user;
	return add(ret, "event", "session refused") && add(ret, "user", user) &&
	       add(ret, "why", end + strlen(after));
}

static bool known_event(const char *event)
{
	static const char *const events[] = {"session opened", "session closed", "sandbox started",
					     "sandbox stopped", "sandbox killed"};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(event, events[i]) == 0)
			return true;
	}
	return false;
}

static bool parse_words(char *words, struct sbx_audit_line *ret)
{
	char *save = NULL;

	for (char *word = strtok_r(words, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		char *equals = strchr(word, '=');

		if (equals == NULL)
			return false;
		*equals = '\0';
		if (strcmp(word, "user") == 0 && ret->user == NULL)
			ret->user = equals + 1;
		if (!add(ret, word, equals + 1))
			return false;
	}
	return ret->user != NULL;
}

bool sbx_audit_line_parse(const char *line, size_t length, struct sbx_audit_line *ret)
{
	char *message;
	char *colon;

	ret->user = NULL;
	ret->n_words = 0;
	if (length >= sizeof(ret->text) || memchr(line, '\0', length) != NULL)
		return false;
	memcpy(ret->text, line, length);
	ret->text[length] = '\0';
	message = find_message(ret->text);
	if (message == NULL)
		return false;
	if (parse_refusal(message, ret))
		return true;
	ret->user = NULL;
	ret->n_words = 0;
	colon = strstr(message, ": ");
	if (colon == NULL)
		return false;
	*colon = '\0';
	return known_event(message) && add(ret, "event", message) && parse_words(colon + 2, ret);
}
