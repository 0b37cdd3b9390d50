/* SPDX-License-Identifier: MIT */
#ifndef SBX_TABLE_H
#define SBX_TABLE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum sbx_colour {
	SBX_PLAIN,
	SBX_GOOD,  /* green */
	SBX_BAD,   /* red */
	SBX_FAINT, /* of little interest */
};

#define SBX_TABLE_COLUMNS_MAX 12

/* Lines of cells, printed in columns. Errors stick, as in struct sbx_str. Start from {0}. */
struct sbx_table {
	char **cells; /* row after row; the first row are the headings */
	enum sbx_colour *colours;
	size_t n_cells;
	size_t n_columns;
	unsigned int right; /* bit n: column n stands at the right */
	int rc;
};

/* headings: n of them; those that begin with '>' stand at the right, without it. */
void sbx_table_begin(struct sbx_table *table, const char *const *headings, size_t n);
/* The next cell. Control characters, which could steer a terminal, become '?'. NULL is "-". */
void sbx_table_add(struct sbx_table *table, enum sbx_colour colour, const char *text);
void sbx_table_addf(struct sbx_table *table, enum sbx_colour colour, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* coloured: with escape sequences. Look at out->rc and table->rc afterwards. */
void sbx_table_format(const struct sbx_table *table, bool coloured, struct sbx_str *out);
/* To standard output, coloured if that is a terminal and NO_COLOR is not set. 0 or -errno. */
int sbx_table_print(const struct sbx_table *table);
void sbx_table_done(struct sbx_table *table);

#define sbx_autotable __attribute__((cleanup(sbx_table_done)))

/* "1.5G", "712K", "0"; "-" for SBX_UNKNOWN. */
void sbx_table_add_bytes(struct sbx_table *table, uint64_t bytes);
/* "3d4h", "5h12m", "7m03s", "12s". */
void sbx_table_add_age(struct sbx_table *table, uint64_t ms);
void sbx_table_add_number(struct sbx_table *table, enum sbx_colour colour, uint64_t number);

#endif
