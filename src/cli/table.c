/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables.  See table.h. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "cli/text.h"

#define GAP 2
#define INDENT 6    /* of further lines */
#define LAST_MIN 20 /* columns that the last one keeps */

void table_init(struct table *t, const struct table_column *columns)
{
	*t = (struct table){ .columns = columns };
	while (columns[t->column_count].title)
		t->column_count++;
}

void table_release(struct table *t)
{
	for (size_t i = 0; i < t->cell_count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){ 0 };
}

void table_cell(struct table *t, const char *text)
{
	*xpush(t->cells, t->cell_count, t->cell_room) = xstrdup(text);
}

void table_cellf(struct table *t, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table_cell(t, text);
}

static size_t width_of(const struct table *t, size_t column)
{
	size_t most = text_columns(t->columns[column].title);

	for (size_t i = column; i < t->cell_count; i += t->column_count) {
		size_t n = text_columns(t->cells[i]);

		if (n > most)
			most = n;
	}
	return most;
}

static void print_cell(const struct table *t, const struct term *term, size_t column,
		       const char *text, size_t width, enum term_style style, struct buf *out)
{
	size_t used = text_columns(text), pad = used < width ? width - used : 0;

	if (!t->columns[column].left)
		buf_repeat(out, ' ', pad);
	buf_text(out, term_style(term, style));
	buf_printable(out, text, strlen(text));
	buf_text(out, style == STYLE_PLAIN ? "" : term_style(term, STYLE_PLAIN));
	if (t->columns[column].left)
		buf_repeat(out, ' ', pad);
	buf_repeat(out, ' ', GAP);
}

/* The last cell: its first line beside the others, further ones below, further in. */
static void print_last(const struct table *t, const struct term *term, const char *text,
		       size_t indent, bool full, enum term_style style, struct buf *out)
{
	size_t room = term->wide > indent + LAST_MIN ? term->wide - indent : LAST_MIN;
	bool first = true;

	for (;;) {
		size_t n = strcspn(text, "\n");
		auto_free char *line = xmemdup0(text, n);

		if (!first)
			buf_repeat(out, ' ', INDENT);
		buf_text(out, term_style(term, style));
		text_shortened(out, line, full ? SIZE_MAX : first ? room : term->wide - INDENT);
		buf_text(out, style == STYLE_PLAIN ? "" : term_style(term, STYLE_PLAIN));
		buf_char(out, '\n');
		if (!text[n])
			return;
		text += n + 1;
		first = false;
	}
}

void table_print(const struct table *t, const struct term *term, bool full, struct buf *out)
{
	size_t last = t->column_count - 1, indent = 0;
	auto_free size_t *widths = xcalloc(t->column_count, sizeof(*widths));

	for (size_t i = 0; i < last; i++) {
		if (t->columns[i].narrow > term->wide)
			continue;
		widths[i] = width_of(t, i);
		indent += widths[i] + GAP;
	}
	for (size_t row = 0; row <= t->cell_count / t->column_count; row++) {
		for (size_t i = 0; i < t->column_count; i++) {
			const struct table_column *c = &t->columns[i];
			const char *text =
				row ? t->cells[(row - 1) * t->column_count + i] : c->title;
			enum term_style style = row ? c->style : STYLE_TITLE;

			if (i == last)
				print_last(t, term, text, indent, full, style, out);
			else if (widths[i])
				print_cell(t, term, i, text, widths[i], style, out);
		}
	}
}
