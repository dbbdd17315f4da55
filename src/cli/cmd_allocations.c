/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir allocations: the single allocations of a recording, chosen, sorted, page by page. */
#include <inttypes.h>

#include "answer/allocations.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/table.h"
#include "cli/where.h"

static bool full;

static const struct command_option options[] = {
	ANSWERING_FULL(full),
	{ 0 },
};

static const struct table_column columns[] = {
	{ "TIME", "timestamp_ns", false, STYLE_PLAIN, 0 },
	{ "LIFETIME", "lifetime_ns", false, STYLE_NUMBER, 0 },
	{ "SIZE", "size", false, STYLE_STRONG, 0 },
	{ "USABLE", "usable_size", false, STYLE_PLAIN, 130 },
	{ "ADDRESS", "address", false, STYLE_DIM, 110 },
	{ "THREAD", "thread", true, STYLE_PLAIN, 100 },
	{ "CHAIN", "chain", false, STYLE_PLAIN, 120 },
	{ "CALL", "call", true, STYLE_DIM, 90 },
	{ "STACK", "stack", false, STYLE_DIM, 0 },
	{ "WHERE", "where", true, STYLE_FUNCTION, 0 },
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
		table_cell(t, human_duration(&h, answer_lifetime_ns(a, row)));
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

static int csv_row(void *context, uint32_t row)
{
	struct listing *l = context;
	const struct answer *a = &l->answer;
	struct buf *out = l->p->out;
	const struct view *v = a->view;
	const struct model *m = v->model;
	const struct columns *c = &m->allocations;
	uint64_t tags = c->tags[row];
	bool freed = c->freed_at[row] != NEVER, by = freed && !(tags_flags(tags) & TAG_FREE_LOST);
	struct buf where = { 0 };

	csv_number(out, row);
	csv_number(out, clock_ns(&a->clock, c->allocated_at[row]));
	csv_cell(out, "");
	if (freed) {
		out->size -= 2;
		buf_printf(out, "%" PRIu64, clock_ns(&a->clock, c->freed_at[row]));
	}
	csv_number(out, answer_lifetime_ns(a, row));
	csv_number(out, columns_size(c, row));
	csv_number(out, columns_size(c, row) + columns_slack_of(c, row));
	csv_number(out, c->address[row]);
	csv_number(out, m->tables.threads.rows[tags_thread(tags)].tid);
	csv_cell(out, m->tables.threads.rows[tags_thread(tags)].name);
	csv_cell(out, locations_call(v->locations, tags_call(tags)));
	csv_cell(out, by ? locations_call(v->locations, tags_free_call(tags)) : "");
	csv_number(out, c->position[row]);
	csv_number(out, c->chain[row] == NO_CHAIN ? 1 : m->chains[c->chain[row]].length);
	csv_number(out, answer_stack(m, c->stack[row]));
	csv_number(out, by ? answer_stack(m, c->free_stack[row]) : 0);
	if (full)
		where_lines(v, c->stack[row], tags_call(tags), &where);
	else
		where_line(v, c->stack[row], 3, &where);
	csv_cell(out, where.data);
	csv_end(out);
	buf_release(&where);
	return !answering_turn(l->p);
}

static void csv_allocations(struct printing *p, const void *answer)
{
	const struct answer_allocations *shown = answer;
	struct listing l = { .p = p };

	answer_init(&l.answer, shown->view);
	buf_text(p->out,
		 "id,timestamp_ns,deallocated_ns,lifetime_ns,size,usable_size,address,thread,"
		 "thread_name,call,deallocation_call,position_in_chain,chain_length,"
		 "backtrace_id,deallocation_backtrace_id,where\n");
	allocations_each(shown, csv_row, &l);
	answer_release(&l.answer);
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
