/* SPDX-License-Identifier: MIT */
#include "config/environment_file.h"

#include "base/number.h"
#include "config/ini_file.h"
#include "config/trusted_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_SECTION "secret"
#define PLAIN_SECTION "env"
#define PIECE_MARK ".b64."
#define PIECE_BYTES 510	     /* 680 characters a line; a multiple of 3 */
#define PLAIN_BYTES_MAX 1000 /* longer values would make lines that no editor likes */
#define ENCODED_MAX ((SBX_ENVIRONMENT_VALUE_MAX + 2) / 3 * 4)
#define FORBIDDEN_MODE (07777 & ~0640)

/* A value that is wiped wherever the scope is left. */
static void wipe(struct sbx_str *text)
{
	if (text->text != NULL)
		explicit_bzero(text->text, text->length);
	sbx_str_done(text);
}

static void secret_freep(char **text) { sbx_secret_free(*text); }

#define autowipe __attribute__((cleanup(wipe)))
#define autosecret __attribute__((cleanup(secret_freep)))

/* --- base64url ----------------------------------------------------------------------------- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void add_encoded(struct sbx_str *out, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i < 3 ? n - i : 3;
		unsigned int group = (unsigned int)bytes[i] << 16;
		char text[4];

		if (left > 1)
			group |= (unsigned int)bytes[i + 1] << 8;
		if (left > 2)
			group |= bytes[i + 2];
		for (size_t k = 0; k < sizeof(text); k++)
			text[k] = alphabet[(group >> (18 - 6 * k)) & 63];
		sbx_str_addn(out, text, left + 1);
	}
}

/* Only the one spelling that add_encoded() produces: no padding, no stray bits at the end. */
static int decode(const char *text, size_t length, struct sbx_str *out)
{
	unsigned int bits = 0;
	unsigned int n_bits = 0;

	if (length % 4 == 1)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		const char *digit = text[i] == '\0' ? NULL : strchr(alphabet, text[i]);
		char byte;

		if (digit == NULL)
			return -EINVAL;
		bits = (bits << 6) | (unsigned int)(digit - alphabet);
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		byte = (char)(unsigned char)(bits >> n_bits);
		if (byte == '\0') /* cannot be in a variable */
			return -EINVAL;
		sbx_str_addn(out, &byte, 1);
		bits &= (1U << n_bits) - 1;
	}
	return bits == 0 ? 0 : -EINVAL;
}

/* --- Reading ------------------------------------------------------------------------------- */

struct reader {
	const struct sbx_ini *ini;
	struct sbx_environment *environment;
	struct sbx_err *err;
};

static int refuse(const struct reader *reader, unsigned int line, const char *reason)
{
	return sbx_fail(reader->err, EINVAL, "%s:%u: %s", reader->ini->file, line, reason);
}

static int no_memory(const struct reader *reader)
{
	return sbx_fail(reader->err, ENOMEM, "read '%s': %s", reader->ini->file, strerror(ENOMEM));
}

/* Where the name ends; 'true' if what follows is the mark of a piece. */
static bool split_key(const char *key, size_t *ret_name_length)
{
	const char *dot = strchr(key, '.');

	*ret_name_length = dot == NULL ? strlen(key) : (size_t)(dot - key);
	return dot != NULL;
}

static int check_name(const struct reader *reader, const struct sbx_ini_entry *entry,
		      const char *name)
{
	const struct sbx_environment *environment = reader->environment;

	if (!sbx_variable_name_valid(name))
		return refuse(reader, entry->line,
			      "a variable's name is made of letters, digits and '_', no digit "
			      "first, at most 128");
	if (sbx_variable_name_reserved(name))
		return refuse(reader, entry->line,
			      "this variable is set by sbx, or gives orders to the loader or a "
			      "shell, and cannot be stored");
	for (size_t i = 0; i < environment->n_variables; i++) {
		if (strcmp(environment->variables[i].name, name) == 0)
			return refuse(reader, entry->line, "the variable was given already");
	}
	if (environment->n_variables == SBX_ENVIRONMENT_VARIABLES_MAX)
		return refuse(reader, entry->line, "too many variables");
	return 0;
}

/* Does the entry at 'index' continue the one that began at 'first', as piece 'number'? */
static bool is_piece(const struct sbx_ini *ini, size_t first, size_t index, uint64_t number)
{
	const struct sbx_ini_entry *start = &ini->entries[first];
	const struct sbx_ini_entry *entry = &ini->entries[index];
	const char *digits;
	size_t name_length;
	uint64_t found;

	if (entry->section != start->section || !split_key(start->key, &name_length) ||
	    strncmp(entry->key, start->key, name_length) != 0 ||
	    strncmp(entry->key + name_length, PIECE_MARK, strlen(PIECE_MARK)) != 0)
		return false;
	digits = entry->key + name_length + strlen(PIECE_MARK);
	if (digits[0] == '0' && digits[1] != '\0')
		return false; /* each number has one spelling */
	return sbx_parse_u64(digits, 0, SBX_INI_ENTRIES_MAX, &found) == 0 && found == number;
}

/* Join the pieces that begin at '*index'; leaves it behind the last. */
static int read_pieces(const struct reader *reader, size_t *index, char **ret_value)
{
	const struct sbx_ini *ini = reader->ini;
	size_t first = *index;
	autowipe struct sbx_str encoded = {0};
	autowipe struct sbx_str value = {0};

	if (!is_piece(ini, first, first, 0))
		return refuse(reader, ini->entries[first].line,
			      "not NAME, nor the next of the pieces NAME" PIECE_MARK "0, "
			      "NAME" PIECE_MARK "1, ...");
	while (*index < ini->n_entries && is_piece(ini, first, *index, *index - first)) {
		sbx_str_add(&encoded, ini->entries[*index].value);
		(*index)++;
	}
	if (encoded.rc < 0)
		return no_memory(reader);
	if (encoded.length > ENCODED_MAX)
		return refuse(reader, ini->entries[first].line, "the value is longer than 64 KiB");
	if (decode(encoded.text, encoded.length, &value) < 0)
		return refuse(reader, ini->entries[first].line,
			      "the pieces are not base64url without padding, or hold a NUL");
	if (value.length > SBX_ENVIRONMENT_VALUE_MAX)
		return refuse(reader, ini->entries[first].line, "the value is longer than 64 KiB");
	return sbx_str_take(&value, ret_value) < 0 ? no_memory(reader) : 0;
}

static int read_plain(const struct reader *reader, size_t *index, char **ret_value)
{
	const struct sbx_ini_entry *entry = &reader->ini->entries[(*index)++];
	int rc = sbx_ini_unquote(entry->value, ret_value);

	if (rc == -EINVAL)
		return refuse(reader, entry->line,
			      "double quotes must enclose the whole value; within it a double "
			      "quote is written \\\"");
	return rc < 0 ? no_memory(reader) : 0;
}

/* Take the variable that begins at '*index' and move behind it. */
static int read_variable(const struct reader *reader, size_t *index)
{
	const struct sbx_ini_entry *entry = &reader->ini->entries[*index];
	struct sbx_environment *environment = reader->environment;
	const char *section = reader->ini->sections[entry->section].name;
	autosecret char *value = NULL;
	sbx_autofree char *name = NULL;
	struct sbx_variable *grown;
	size_t name_length;
	bool pieces = split_key(entry->key, &name_length);
	int rc;

	name = strndup(entry->key, name_length);
	if (name == NULL)
		return no_memory(reader);
	rc = check_name(reader, entry, name);
	if (rc == 0)
		rc =
		    pieces ? read_pieces(reader, index, &value) : read_plain(reader, index, &value);
	if (rc < 0)
		return rc;
	grown = reallocarray(environment->variables, environment->n_variables + 1, sizeof(*grown));
	if (grown == NULL)
		return no_memory(reader);
	environment->variables = grown;
	grown[environment->n_variables++] = (struct sbx_variable){
	    .name = name, .value = value, .secret = strcmp(section, SECRET_SECTION) == 0};
	name = NULL;
	value = NULL;
	return 0;
}

static int read_all(const struct reader *reader)
{
	const struct sbx_ini *ini = reader->ini;

	for (size_t i = 0; i < ini->n_sections; i++) {
		if (strcmp(ini->sections[i].name, SECRET_SECTION) != 0 &&
		    strcmp(ini->sections[i].name, PLAIN_SECTION) != 0)
			return refuse(reader, ini->sections[i].line,
				      "a section is [" SECRET_SECTION "] or [" PLAIN_SECTION "]");
	}
	for (size_t i = 0; i < ini->n_entries;) {
		int rc = read_variable(reader, &i);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int sbx_environment_parse(const char *file, const char *text, size_t length,
			  struct sbx_environment **ret_environment, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = NULL;
	__attribute__((cleanup(sbx_environment_freep))) struct sbx_environment *environment =
	    calloc(1, sizeof(*environment));
	struct reader reader = {.environment = environment, .err = err};
	int rc;

	if (environment == NULL)
		return sbx_fail(err, ENOMEM, "read '%s': %s", file, strerror(ENOMEM));
	rc = sbx_ini_parse(file, text, length, &ini, err);
	if (rc < 0)
		return rc;
	reader.ini = ini;
	rc = read_all(&reader);
	if (rc < 0)
		return rc;
	*ret_environment = environment;
	environment = NULL;
	return 0;
}

int sbx_environment_load(const char *dir, const struct sbx_identity *who,
			 struct sbx_environment **ret_environment, struct sbx_err *err)
{
	const struct sbx_trust trust = {
	    .owner = 0,
	    .forbidden_mode = FORBIDDEN_MODE,
	    .group_limited = true,
	    .group = who->gid,
	    .max_bytes = SBX_ENVIRONMENT_BYTES_MAX,
	};
	sbx_autostr struct sbx_str file = {0};
	autowipe struct sbx_str content = {0};
	size_t length = 0;
	int rc;

	sbx_str_addf(&file, "%s/%s.ini", dir, who->name);
	if (file.rc < 0)
		return sbx_fail(err, ENOMEM, "environment store: %s", strerror(ENOMEM));
	rc = sbx_trusted_file_read(file.text, &trust, &content.text, &length, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	content.length = length;
	return sbx_environment_parse(file.text, rc == 0 ? content.text : "", length,
				     ret_environment, err);
}

/* --- Writing ------------------------------------------------------------------------------- */

enum form { FORM_BARE, FORM_QUOTED, FORM_PIECES };

static enum form choose_form(const char *value, size_t length)
{
	enum form form = FORM_BARE;

	if (length > PLAIN_BYTES_MAX)
		return FORM_PIECES;
	if (length == 0 || value[0] == ' ' || value[length - 1] == ' ')
		form = FORM_QUOTED;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c < 0x20 || c > 0x7e)
			return FORM_PIECES;
		if (strchr("\"\\;#'", c) != NULL)
			form = FORM_QUOTED;
	}
	return form;
}

static void add_quoted(struct sbx_str *out, const char *value)
{
	sbx_str_add(out, "\"");
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			sbx_str_add(out, "\\");
		sbx_str_addn(out, p, 1);
	}
	sbx_str_add(out, "\"");
}

static void add_pieces(struct sbx_str *out, const char *name, const char *value, size_t length)
{
	for (size_t i = 0; i < length; i += PIECE_BYTES) {
		size_t left = length - i < PIECE_BYTES ? length - i : PIECE_BYTES;

		sbx_str_addf(out, "%s" PIECE_MARK "%zu = ", name, i / PIECE_BYTES);
		add_encoded(out, (const unsigned char *)value + i, left);
		sbx_str_add(out, "\n");
	}
}

int sbx_environment_entry_add(struct sbx_str *out, const char *name, const char *value,
			      struct sbx_err *err)
{
	size_t length = strlen(value);

	if (!sbx_variable_name_valid(name))
		return sbx_fail(err, EINVAL,
				"a variable's name is made of letters, digits and '_', no digit "
				"first, at most 128");
	if (sbx_variable_name_reserved(name))
		return sbx_fail(err, EINVAL,
				"%s is set by sbx, or gives orders to the loader or a shell, and "
				"cannot be stored",
				name);
	if (length > SBX_ENVIRONMENT_VALUE_MAX)
		return sbx_fail(err, E2BIG, "the value of %s is longer than 64 KiB", name);
	switch (choose_form(value, length)) {
	case FORM_BARE:
		sbx_str_addf(out, "%s = %s\n", name, value);
		break;
	case FORM_QUOTED:
		sbx_str_addf(out, "%s = ", name);
		add_quoted(out, value);
		sbx_str_add(out, "\n");
		break;
	case FORM_PIECES:
		add_pieces(out, name, value, length);
		break;
	}
	return 0;
}
