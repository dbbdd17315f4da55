/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir allocations: the single allocations of a recording, chosen, sorted, page by page. */
#include <inttypes.h>

#include "answer/allocations.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/table.h"
#include "cli/where.h"
#include "export/csv.h"
#include "query/answer.h"
#include "query/fields.h"

static bool full;

static const struct command_option options[] = {
	ANSWERING_FULL(full),
	{ 0 },
};

static const struct table_column columns[] = {
	{ "TIME", false, STYLE_PLAIN, 0 },
	{ "LIFETIME", false, STYLE_NUMBER, 0 },
	{ "SIZE", false, STYLE_STRONG, 0 },
	{ "USABLE", false, STYLE_PLAIN, 130 },
	{ "ADDRESS", false, STYLE_DIM, 110 },
	{ "THREAD", true, STYLE_PLAIN, 100 },
	{ "CHAIN", false, STYLE_PLAIN, 120 },
	{ "CALL", true, STYLE_DIM, 90 },
	{ "STACK", false, STYLE_DIM, 0 },
	{ "WHERE", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

struct listing {
	struct printing *p;
	struct answer answer;
	struct table table;
	uint32_t count;
};

static int add_row(void *context, uint32_t row)
{
	struct listing *l = context;
	struct table *t = &l->table;
	const struct answer *a = &l->answer;
	const struct view *v = a->view;
	const struct model *m = v->model;
	const struct columns *c = &m->allocations;
	const struct thread *thread = &m->tables.threads.rows[tags_thread(c->tags[row])];
	uint32_t chain = c->chain[row];
	struct buf where = { 0 };
	struct human h;

	table_cell(t, human_duration(&h, clock_ns(&a->clock, c->allocated_at[row])));
	if (c->freed_at[row] == NEVER)
		table_cell(t, "leaked");
	else
		table_cell(t, human_duration(
				      &h, clock_duration_ns(&a->clock, lifetime_ticks(m, &a->clock,
										      row, row))));
	table_cell(t, human_size(&h, columns_size(c, row)));
	table_cell(t, human_size(&h, columns_size(c, row) + columns_slack_of(c, row)));
	table_cellf(t, "0x%" PRIx64, c->address[row]);
	if (*thread->name)
		table_cell(t, thread->name);
	else
		table_cellf(t, "%" PRIu64, thread->tid);
	if (chain == NO_CHAIN)
		table_cell(t, "");
	else
		table_cellf(t, "%u/%u", c->position[row] + 1, m->chains[chain].length);
	table_cell(t, locations_call(v->locations, tags_call(c->tags[row])));
	table_cellf(t, "#%u", answer_stack(m, c->stack[row]));
	if (full)
		where_lines(v, c->stack[row], tags_call(c->tags[row]), &where);
	else
		where_line(v, c->stack[row], 3, &where);
	table_cell(t, where.data);
	buf_release(&where);
	l->count++;
	return 0;
}

static void print_allocations(struct printing *p, const void *answer)
{
	const struct answer_allocations *shown = answer;
	struct listing l = { .p = p };
	struct human h;

	answer_init(&l.answer, shown->view);
	table_init(&l.table, columns);
	allocations_each(shown, add_row, &l);
	answering_page(p, "allocation", "allocations", l.count, shown->view->count);
	buf_printf(p->out, ", %s\n", human_size(&h, shown->view->bytes));
	if (l.count) {
		buf_char(p->out, '\n');
		table_print(&l.table, &p->term, full, p->out);
	}
	table_release(&l.table);
	answer_release(&l.answer);
}

struct csv_printing {
	struct printing *p;
	struct csv_lines lines;
};

static int csv_row(void *context, uint32_t row)
{
	struct csv_printing *c = context;

	csv_allocation(&c->lines, c->p->out, row);
	return !answering_turn(c->p);
}

static void csv_allocations(struct printing *p, const void *answer)
{
	const struct answer_allocations *shown = answer;
	struct csv_printing c = { .p = p };

	csv_lines_init(&c.lines, shown->view);
	csv_allocations_head(p->out);
	allocations_each(shown, csv_row, &c);
	csv_lines_release(&c.lines);
}

static const struct answering answering = {
	.question = &question_allocations,
	.defaults = "count=20",
	.print = print_allocations,
	.csv = csv_allocations,
};

const struct command command_allocations = {
	.name = "allocations",
	.args = "FILE",
	.help = "list single allocations",
	.examples = "  memoir allocations app.dat --sort size --order dsc\n"
		    "  memoir allocations app.dat -F 'leaked and size >= 1k' --full\n"
		    "  memoir allocations app.dat --lifetime only_leaked --csv > leaks.csv\n"
		    "  memoir allocations app.dat --thread worker --json | jq .total_count\n",
	.options = options,
	.answers = &answering,
};
