/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of numbers on the terminal.  See stats_print.h.
 *
 * Columns that no row has a value for are left out, and the last ones where the terminal is too
 * narrow for all: rows that wrap cannot be read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "cli/jemalloc/stats_print.h"
#include "cli/table.h"
#include "jemalloc/fields.h"

#define COLUMNS_MAX 16
#define COLUMN_GAP 2 /* of cli/table.c */
#define UTIL_WIDTH 7

/* What is printed of one table. */
struct printed {
	const struct stats_print *how;
	const struct stats_table *table;
	struct stats_table_rows rows;
	bool lost; /* its numbers are in the wrong place: see stats.mutexes_lost */
	unsigned shown[COLUMNS_MAX], count;
	struct buf left_out; /* names of those that there is no room for */
};

static const char *cell_text(struct human *h, const struct printed *p, size_t row, unsigned field)
{
	uint64_t value = p->rows.values[row][field];

	if (value == STATS_NONE)
		return "-";
	if (value < STATS_NONE && p->how->human && fields_bytes(p->table->fields[field].name))
		return human_size(h, value);
	if (value < STATS_NONE)
		return human_count(h, value);
	snprintf(h->text, sizeof(h->text), "%" PRId64, (int64_t)value);
	return h->text;
}

static bool is_known(const struct printed *p, unsigned field)
{
	return ANY(i, p->rows.count, p->rows.values[i][field] != STATS_NONE);
}

/* As text of jemalloc has it. */
static const char *util_text(struct human *h, const uint64_t *bin)
{
	uint32_t value = stats_bin_util(bin);

	if (value >= STATS_NO_UTIL)
		return value == STATS_RACE ? "race" : "-";
	if (value == 1000)
		return "1";
	snprintf(h->text, sizeof(h->text), "0.%03u", value);
	return h->text;
}

static size_t column_width(const struct printed *p, unsigned field)
{
	size_t width = strlen(p->table->fields[field].name);
	struct human h;

	for (size_t i = 0; i < p->rows.count; i++) {
		size_t n = strlen(cell_text(&h, p, i, field));

		width = n > width ? n : width;
	}
	return width;
}

static size_t label_width(const struct printed *p)
{
	size_t width = strlen(p->table->label);

	for (size_t i = 0; i < p->rows.count; i++)
		width = MAX(width, strlen(p->rows.labels[i]));
	return width;
}

static void choose_columns(struct printed *p)
{
	size_t used = p->table->fields == stats_bin_fields ? UTIL_WIDTH : 0;
	const uint8_t *field = p->table->shown;

	if (p->table->label)
		used += label_width(p) + COLUMN_GAP;
	for (; *field != STATS_TABLE_END && p->count < COLUMNS_MAX; field++) {
		if (!is_known(p, *field) && !p->lost)
			continue;
		used += column_width(p, *field);
		if (p->how->columns && used > p->how->columns && p->count)
			buf_printf(&p->left_out, " %s", p->table->fields[*field].name);
		else
			p->shown[p->count++] = *field;
		used += COLUMN_GAP;
	}
}

static void print_rows(const struct printed *p)
{
	struct table_column columns[COLUMNS_MAX + 3] = { { .title = p->table->label,
							   .left = true } };
	unsigned first = p->table->label != NULL, last = p->count - 1;
	int width = (int)column_width(p, p->shown[last]);
	bool bins = p->table->fields == stats_bin_fields;
	auto_release(table_release) struct table table = { 0 };
	struct human h;
	char padded[64];

	for (unsigned i = 0; i < p->count; i++) {
		columns[i + first] =
			(struct table_column){ .title = p->table->fields[p->shown[i]].name };
		if (bins && !i) /* behind the size */
			columns[++first] = (struct table_column){ .title = "util" };
	}
	/* A table's last column is on the left, as texts are; these are numbers. */
	snprintf(padded, sizeof(padded), "%*s", width, columns[last + first].title);
	columns[last + first].title = padded;
	table_init(&table, columns);
	for (size_t i = 0; i < p->rows.count; i++) {
		if (p->table->label)
			table_cell(&table, p->rows.labels[i]);
		for (unsigned f = 0; f < p->count; f++) {
			table_cellf(&table, "%*s", f == last ? width : 0,
				    cell_text(&h, p, i, p->shown[f]));
			if (bins && !f)
				table_cell(&table, util_text(&h, p->rows.values[i]));
		}
	}
	table_print(&table, p->how->term, true, p->how->out);
}

static void print_notes(const struct printed *p)
{
	if (p->left_out.size) {
		auto_free char *text = xasprintf("(no room for%.*s: --csv and --json have them)",
						 (int)p->left_out.size, p->left_out.data);

		stats_print_sentence(p->how, 0, STYLE_DIM, text);
	}
	if (p->lost)
		stats_print_sentence(
			p->how, 0, STYLE_DIM,
			"(- is not known: JSON of this version has mutex counters in the "
			"wrong place)");
}

void stats_print_tables(const struct stats_print *how, const struct stats *s,
			const struct stats_arena *a)
{
	for (const struct stats_table *t = stats_tables; t->name; t++) {
		struct printed p = { .how = how,
				     .table = t,
				     .lost = s->mutexes_lost && t->fields == stats_mutex_fields };

		if (!stats_print_wants(how, t->name) || (t->of_arena && !a))
			continue;
		stats_table_rows(t, s, a, how->sort, &p.rows);
		if (p.rows.count) {
			stats_print_title(how, t->title);
			choose_columns(&p);
		}
		if (p.count) {
			print_rows(&p);
			print_notes(&p);
		}
		stats_table_rows_release(&p.rows);
		buf_release(&p.left_out);
	}
}
