/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir allocations: the single allocations of a recording, chosen, sorted, page by page. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/paging.h"
#include "cli/table.h"
#include "cli/where.h"
#include "query/answer.h"
#include "query/sort.h"

static struct paging paging = { .count = PAGING_ALL };

static const struct command_option options[] = {
	PAGING_OPTIONS(paging,
		       "timestamp (default), address, size, usable_size, lifetime,\n"
		       "                              deallocated, chain_lifetime, chain_length "
		       "or thread"),
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

static void add_row(struct table *t, const struct answer *a, uint32_t row)
{
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
	if (paging.full)
		where_lines(v, c->stack[row], tags_call(c->tags[row]), &where);
	else
		where_line(v, c->stack[row], 3, &where);
	table_cell(t, where.data);
	buf_release(&where);
}

static bool print_table(const struct view *v, const struct page *page, struct answer *a)
{
	struct table t;
	struct buf out = { 0 };
	struct human h;
	bool written;

	table_init(&t, columns);
	for (uint32_t i = 0; i < page->count; i++)
		add_row(&t, a, page->rows[i]);
	paging_title(&paging, "allocation", "allocations", page->count, v->count, &out);
	buf_printf(&out, ", %s\n", human_size(&h, v->bytes));
	if (page->count) {
		buf_char(&out, '\n');
		table_print(&t, &paging.term, paging.full, &out);
	}
	table_release(&t);
	written = paging_flush(&out, true);
	buf_release(&out);
	return written;
}

static bool print_json(const struct view *v, const struct page *page, struct answer *a)
{
	struct buf out = { 0 };
	struct json j;
	bool written = true;

	json_init(&j, &out);
	json_object(&j, NULL);
	json_array(&j, "allocations");
	for (uint32_t i = 0; i < page->count && written; i++) {
		answer_allocation(a, &j, page->rows[i]);
		written = paging_flush(&out, false);
	}
	json_end_array(&j);
	json_number(&j, "total_count", v->count);
	json_end_object(&j);
	written = written && paging_flush(&out, true);
	buf_release(&out);
	return written;
}

static void csv_row(const struct answer *a, uint32_t row, struct buf *out)
{
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
	if (paging.full)
		where_lines(v, c->stack[row], tags_call(tags), &where);
	else
		where_line(v, c->stack[row], 3, &where);
	csv_cell(out, where.data);
	csv_end(out);
	buf_release(&where);
}

static bool print_csv(const struct view *v, const struct page *page, struct answer *a)
{
	struct buf out = { 0 };
	bool written = true;

	buf_text(&out, "id,timestamp_ns,deallocated_ns,lifetime_ns,size,usable_size,address,thread,"
		       "thread_name,call,deallocation_call,position_in_chain,chain_length,"
		       "backtrace_id,deallocation_backtrace_id,where\n");
	for (uint32_t i = 0; i < page->count && written; i++) {
		csv_row(a, page->rows[i], &out);
		written = paging_flush(&out, false);
	}
	written = written && paging_flush(&out, true);
	buf_release(&out);
	return written;
}

static int run(int argc, char **argv)
{
	const struct sort_key *key = sort_key_find(paging.sort ? paging.sort : "timestamp");
	struct open_options how;
	struct answer a;
	struct opened o;
	struct page page;
	bool written;

	if (!paging_check(&paging, "allocations", false))
		return 2;
	if (!key) {
		struct nearest near = nearest_to(paging.sort);

		for (const struct sort_key *k = sort_keys; k->name; k++)
			nearest_consider(&near, k->name);
		paging_complain("allocations", &near);
		return 2;
	}
	how = paging_open(&paging);
	if (!open_view("allocations", argc, argv, &how, &o))
		return o.status;
	page = sort_page(o.view, key, paging.descending, paging_skip(&paging),
			 paging_count(&paging));
	answer_init(&a, o.view);
	written = paging.json  ? print_json(o.view, &page, &a)
		  : paging.csv ? print_csv(o.view, &page, &a)
			       : print_table(o.view, &page, &a);
	answer_release(&a);
	free(page.rows);
	opened_release(&o);
	return written ? o.status : 1;
}

const struct command command_allocations = {
	.name = "allocations",
	.args = "FILE",
	.help = "list single allocations",
	.examples = "  memoir allocations app.dat --sort size --order dsc\n"
		    "  memoir allocations app.dat -F 'leaked and size >= 1k' --full\n"
		    "  memoir allocations app.dat --lifetime only_leaked --csv > leaks.csv\n"
		    "  memoir allocations app.dat --thread worker --json | jq .total_count\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
