/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Rows and columns for a terminal.
 *
 * Columns are as wide as their widest cell; the last one takes what is left of the line and is
 * shortened there.  A column that is not needed falls away where the terminal is too narrow for
 * all. */
#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"
#include "base/term.h"

struct buf;

struct table_column {
	const char *title;
	bool left; /* texts; numbers are on the right */
	enum term_style style;
	unsigned narrow; /* shown from so many columns of the terminal on; 0: always */
};

struct table {
	const struct table_column *columns; /* ends with a row without a title */
	size_t column_count;
	char **cells; /* row by row; the last one of a row may hold several lines */
	size_t cell_count, cell_room;
};

void table_init(struct table *t, const struct table_column *columns);
void table_release(struct table *t);
/* Adds a cell, a copy of `text`. */
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `full`: the last column is not shortened. */
void table_print(const struct table *t, const struct term *term, bool full, struct buf *out);
