/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whose blocks keep resident memory, as a table.  See blame_text.h. */
#include "cli/blame_text.h"

#include "answer/blame.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/shape.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/where.h"

#define NAME_MAX_COLUMNS 60
#define TELLING 2 /* memory that is this many times what its blocks have is worth a sentence */

bool blame_print_full;

static const char *units_text(const struct blame *b, uint64_t units)
{
	const struct blame_unit_row *row = &blame_units[b->unit];

	return units == 1 ? row->title : row->titles;
}

static void print_heading(struct printing *p, const struct answer_blame *s)
{
	const struct blame *b = &s->blame;

	term_printf(&p->term, p->out,
		    "\n{title}BLAME{}  %s after the start: %s resident in %s %s "
		    "that have live blocks\n",
		    duration_text(s->at_ns), size_text(b->resident), count_text(b->units),
		    units_text(b, b->units));
	if (b->sampled_at == NEVER)
		term_printf(
			&p->term, p->out,
			"{warning}the memory maps were never looked at: all that has a block is "
			"taken to be resident{}\n");
	else if (b->outside.live.count)
		term_printf(&p->term, p->out,
			    "{dim}%s of it kept by blocks that the filter leaves out, %s by those "
			    "alone{}\n",
			    size_text(b->outside.alone + b->outside.shared),
			    size_text(b->outside.alone));
}

/* "40.0 KiB in 9,600 blocks keep 300 MiB resident": the row that says most. */
static void print_sentence(struct printing *p, const struct answer_blame *s)
{
	auto_buf struct buf name = { 0 };
	auto_free char *shorter = NULL;
	const struct blamed *k;

	if (!s->row_count)
		return;
	k = &s->blame.holders[s->rows[0].holder];
	if (k->alone < TELLING * k->usable || s->by_stack)
		return;
	blame_label(s, &s->rows[0], &name);
	shorter = text_abbreviated(name.data);
	term_printf(&p->term, p->out, "{strong}%s{} in %s block%s of {function}",
		    size_text(k->live.bytes), count_text(k->live.count),
		    k->live.count == 1 ? "" : "s");
	text_shortened(p->out, blame_print_full ? name.data : shorter,
		       blame_print_full ? SIZE_MAX : NAME_MAX_COLUMNS);
	term_printf(&p->term, p->out, "{} alone keep{} {strong}%s{} resident, in %s %s\n",
		    size_text(k->alone), count_text(k->alone_units),
		    units_text(&s->blame, k->alone_units));
}

static void add_row(struct table *t, const struct answer_blame *s, const struct blame_row *row)
{
	const struct blamed *k = &s->blame.holders[row->holder];
	auto_buf struct buf where = { 0 };

	table_cell(t, size_text(k->alone));
	table_cell(t, s->blame.resident ? share_text(k->alone, s->blame.resident) : "");
	table_cell(t, count_text(k->alone_units));
	table_cell(t, size_text(k->shared));
	table_cell(t, size_text(k->live.bytes));
	table_cell(t, count_text(k->live.count));
	if (!s->by_stack)
		table_cell(t, count_text(row->stacks));
	if (blame_print_full)
		where_lines(s->view, row->stack, 0, &where);
	else
		where_line(s->view, row->stack, 3, &where);
	table_cell(t, where.size ? where.data : "(no stack)");
}

static void print_rows(struct printing *p, const struct answer_blame *s)
{
	const char *units = s->blame.unit == BLAME_PAGE	  ? "PAGES"
			    : s->blame.unit == BLAME_SLAB ? "SLABS"
							  : "REGIONS";
	const struct table_column columns[] = {
		{ "ALONE", .style = STYLE_STRONG },
		{ "" },
		{ units, .narrow = 90 },
		{ "SHARED" },
		{ "BLOCKS" },
		{ "COUNT", .style = STYLE_NUMBER },
		{ "STACKS", .narrow = 100 },
		{ "WHERE", .left = true, .style = STYLE_FUNCTION },
		{ 0 },
	};
	struct table_column shown[sizeof(columns) / sizeof(*columns)];
	struct table table;
	unsigned n = 0;
	uint32_t rows = 0;

	for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!s->by_stack || i != 6)
			shown[n++] = columns[i];
	table_init(&table, shown);
	for (uint32_t i = s->skip; i < s->row_count && rows < s->most; i++, rows++)
		add_row(&table, s, &s->rows[i]);
	buf_char(p->out, '\n');
	answering_page(p, s->by_stack ? "stack" : "function", s->by_stack ? "stacks" : "functions",
		       rows, s->row_count);
	buf_text(p->out, "\n");
	if (rows) {
		buf_char(p->out, '\n');
		table_print(&table, &p->term, blame_print_full, p->out);
	}
	table_release(&table);
}

static void print_blame(struct printing *p, const void *answer)
{
	const struct answer_blame *s = answer;

	answering_about(p);
	shape_removed(p->out, &p->term, p->model);
	print_heading(p, s);
	print_sentence(p, s);
	print_rows(p, s);
	term_printf(&p->term, p->out,
		    "\n{dim}alone: resident %s in which nobody else has a live block; freed, they "
		    "could go back\nshared: an even part of those that several keep\n"
		    "blocks: bytes that they asked for{}\n",
		    blame_units[s->blame.unit].titles);
}

const struct answering blame_answering = {
	.question = &question_blame,
	.print = print_blame,
};
