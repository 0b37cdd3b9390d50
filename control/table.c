/* SPDX-License-Identifier: MIT */
#include "control/table.h"

#include "control/output.h"
#include "control/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define GAP "  "

static char *printable(const char *text)
{
	char *copy = strdup(text);

	for (char *c = copy; c != NULL && *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return copy;
}

void sbx_table_add(struct sbx_table *table, enum sbx_colour colour, const char *text)
{
	char **cells;
	enum sbx_colour *colours;

	if (table->rc < 0)
		return;
	cells = reallocarray(table->cells, table->n_cells + 1, sizeof(*cells));
	if (cells != NULL)
		table->cells = cells;
	colours = reallocarray(table->colours, table->n_cells + 1, sizeof(*colours));
	if (colours != NULL)
		table->colours = colours;
	if (cells == NULL || colours == NULL) {
		table->rc = -ENOMEM;
		return;
	}
	cells[table->n_cells] = printable(text == NULL || text[0] == '\0' ? "-" : text);
	colours[table->n_cells] = colour;
	if (cells[table->n_cells] == NULL) {
		table->rc = -ENOMEM;
		return;
	}
	table->n_cells++;
}

void sbx_table_addf(struct sbx_table *table, enum sbx_colour colour, const char *fmt, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, arguments); /* cut if too long: it is for people */
	va_end(arguments);
	sbx_table_add(table, colour, text);
}

void sbx_table_begin(struct sbx_table *table, const char *const *headings, size_t n)
{
	table->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		const bool right = headings[i][0] == '>';

		if (right)
			table->right |= 1U << i;
		sbx_table_add(table, SBX_FAINT, headings[i] + right);
	}
}

/* Columns on a screen: UTF-8's continuation bytes take none. Wide characters are not known here. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xC0) != 0x80;
	return n;
}

static const char *colour_code(enum sbx_colour colour)
{
	switch (colour) {
	case SBX_GOOD:
		return "\033[32m";
	case SBX_BAD:
		return "\033[31m";
	case SBX_FAINT:
		return "\033[2m";
	case SBX_PLAIN:
		break;
	}
	return "";
}

static void add_spaces(struct sbx_str *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sbx_str_add(out, " ");
}

static void format_cell(const struct sbx_table *table, size_t cell, size_t column_width,
			bool coloured, struct sbx_str *out)
{
	const size_t column = cell % table->n_columns;
	const char *text = table->cells[cell];
	const size_t padding = column_width - width(text);
	const bool right = (table->right >> column & 1U) != 0;
	const bool last = column + 1 == table->n_columns;
	const char *code = coloured ? colour_code(table->colours[cell]) : "";

	if (right)
		add_spaces(out, padding);
	sbx_str_addf(out, "%s%s%s", code, text, code[0] == '\0' ? "" : "\033[0m");
	if (!right && !last)
		add_spaces(out, padding);
	sbx_str_add(out, last ? "\n" : GAP);
}

void sbx_table_format(const struct sbx_table *table, bool coloured, struct sbx_str *out)
{
	size_t widths[SBX_TABLE_COLUMNS_MAX] = {0};

	for (size_t i = 0; i < table->n_cells; i++) {
		const size_t w = width(table->cells[i]);
		size_t *column = &widths[i % table->n_columns];

		if (w > *column)
			*column = w;
	}
	for (size_t i = 0; i < table->n_cells; i++)
		format_cell(table, i, widths[i % table->n_columns], coloured, out);
}

int sbx_table_print(const struct sbx_table *table)
{
	sbx_autostr struct sbx_str out = {0};
	const char *no_colour = getenv("NO_COLOR");

	if (table->rc < 0)
		return table->rc;
	sbx_table_format(table, isatty(STDOUT_FILENO) && (no_colour == NULL || *no_colour == '\0'),
			 &out);
	if (out.rc < 0)
		return out.rc;
	sbx_print("%s", out.text == NULL ? "" : out.text);
	return 0;
}

void sbx_table_done(struct sbx_table *table)
{
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table->colours);
	*table = (struct sbx_table){0};
}

void sbx_table_add_bytes(struct sbx_table *table, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	double size = (double)bytes;
	size_t unit = 0;

	if (bytes == SBX_UNKNOWN) {
		sbx_table_add(table, SBX_PLAIN, NULL);
		return;
	}
	while (size >= 1024 && unit + 1 < sizeof(units) - 1) {
		size /= 1024;
		unit++;
	}
	if (unit == 0)
		sbx_table_addf(table, SBX_PLAIN, "%" PRIu64, bytes);
	else
		sbx_table_addf(table, SBX_PLAIN, size < 10 ? "%.1f%c" : "%.0f%c", size,
			       units[unit]);
}

void sbx_table_add_age(struct sbx_table *table, uint64_t ms)
{
	const uint64_t s = ms / 1000;
	const uint64_t m = s / 60;
	const uint64_t h = m / 60;

	if (h >= 24)
		sbx_table_addf(table, SBX_PLAIN, "%" PRIu64 "d%02" PRIu64 "h", h / 24, h % 24);
	else if (h > 0)
		sbx_table_addf(table, SBX_PLAIN, "%" PRIu64 "h%02" PRIu64 "m", h, m % 60);
	else if (m > 0)
		sbx_table_addf(table, SBX_PLAIN, "%" PRIu64 "m%02" PRIu64 "s", m, s % 60);
	else
		sbx_table_addf(table, SBX_PLAIN, "%" PRIu64 "s", s);
}

void sbx_table_add_number(struct sbx_table *table, enum sbx_colour colour, uint64_t number)
{
	if (number == SBX_UNKNOWN)
		sbx_table_add(table, colour, NULL);
	else
		sbx_table_addf(table, colour, "%" PRIu64, number);
}
