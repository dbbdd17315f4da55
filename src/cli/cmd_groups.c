/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir groups: allocations summed up by stack, function, line, module, thread, size or lifetime.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/human.h"
#include "base/nearest.h"
#include "base/xalloc.h"
#include "cli/paging.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/where.h"
#include "query/answer.h"
#include "query/group.h"

static struct paging paging = { .count = PAGING_ALL };
static const char *by = "stack";

#define NAME_WIDTH 40 /* a function's name that is shown as it is */
#define PEAK_WIDTH 90 /* columns of the terminal */

static const struct command_option options[] = {
	{ "by", 'b', "KEY",
	  "stack (default), function, source, module, thread, call, size,\n"
	  "                              size_class or lifetime",
	  COMMAND_TEXT, &by },
	PAGING_OPTIONS(
		paging,
		"size (default), count, leaked, leaked_count, min_size, max_size,\n"
		"                              usable_size, min_timestamp, max_timestamp, "
		"interval,\n"
		"                              key; with all. or self. in front of it too; by "
		"stack\n"
		"                              also peak_size, peak_count and\n"
		"                              max_total_usage_first_seen_at"),
	{ 0 },
};

static const struct table_column stack_columns[] = {
	{ "SIZE", "", false, STYLE_STRONG, 0 },
	{ "COUNT", "", false, STYLE_PLAIN, 0 },
	{ "LEAKED", "", false, STYLE_NUMBER, 0 },
	{ "BLOCKS", "", false, STYLE_NUMBER, 100 },
	{ "OWN PEAK", "", false, STYLE_PLAIN, PEAK_WIDTH },
	{ "AT", "", false, STYLE_PLAIN, 120 },
	{ "FIRST", "", false, STYLE_DIM, 130 },
	{ "LAST", "", false, STYLE_DIM, 130 },
	{ "STACK", "", false, STYLE_DIM, 0 },
	{ "WHERE", "", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static const struct table_column frame_columns[] = {
	{ "SIZE", "", false, STYLE_STRONG, 0 },	  { "COUNT", "", false, STYLE_PLAIN, 0 },
	{ "SELF", "", false, STYLE_STRONG, 0 },	  { "SELF COUNT", "", false, STYLE_PLAIN, 90 },
	{ "LEAKED", "", false, STYLE_NUMBER, 0 }, { "BLOCKS", "", false, STYLE_NUMBER, 100 },
	{ "NAME", "", true, STYLE_FUNCTION, 0 },  { 0 },
};

static const struct table_column class_columns[] = {
	{ "SIZE", "", false, STYLE_STRONG, 0 },	  { "COUNT", "", false, STYLE_PLAIN, 0 },
	{ "LEAKED", "", false, STYLE_NUMBER, 0 }, { "BLOCKS", "", false, STYLE_NUMBER, 0 },
	{ "FIRST", "", false, STYLE_DIM, 90 },	  { "LAST", "", false, STYLE_DIM, 90 },
	{ "NAME", "", true, STYLE_FUNCTION, 0 },  { 0 },
};

static void size_cell(struct table *t, uint64_t bytes)
{
	struct human h;

	table_cell(t, human_size(&h, bytes));
}

static void count_cell(struct table *t, uint64_t count)
{
	struct human h;

	table_cell(t, human_count(&h, count));
}

static void time_cell(struct table *t, const struct answer *a, uint64_t stamp)
{
	struct human h;

	table_cell(t, human_duration(&h, clock_ns(&a->clock, stamp)));
}

static void stack_row(struct table *t, const struct answer *a, const struct group *g)
{
	/* Finding the peaks takes a while, and narrow terminals do not show them. */
	bool shown = paging.term.wide >= PEAK_WIDTH;
	const struct stack_peak *peak =
		shown ? &model_peaks(a->view->model)[g->id] : &(struct stack_peak){ 0 };
	struct buf where = { 0 };

	size_cell(t, g->matched.bytes);
	count_cell(t, g->matched.count);
	size_cell(t, g->matched.leaked_bytes);
	count_cell(t, g->matched.leaked_count);
	size_cell(t, peak->bytes);
	time_cell(t, a, peak->at);
	time_cell(t, a, g->matched.first_at);
	time_cell(t, a, g->matched.last_at);
	table_cellf(t, "#%u", g->id);
	if (paging.full)
		where_lines(a->view, g->id, g->call, &where);
	else
		where_line(a->view, g->id, 3, &where);
	table_cell(t, where.data);
	buf_release(&where);
}

static void frame_row(struct table *t, const struct group *g, const char *label)
{
	size_cell(t, g->matched.bytes);
	count_cell(t, g->matched.count);
	size_cell(t, g->self.bytes);
	count_cell(t, g->self.count);
	size_cell(t, g->matched.leaked_bytes);
	count_cell(t, g->matched.leaked_count);
	table_cell(t, label);
}

static void class_row(struct table *t, const struct answer *a, const struct group *g,
		      const char *label)
{
	size_cell(t, g->matched.bytes);
	count_cell(t, g->matched.count);
	size_cell(t, g->matched.leaked_bytes);
	count_cell(t, g->matched.leaked_count);
	time_cell(t, a, g->matched.first_at);
	time_cell(t, a, g->matched.last_at);
	table_cell(t, label);
}

/* Long names lose their template arguments before they lose their end. */
static void abbreviate(struct buf *name)
{
	auto_free char *shorter = NULL;

	if (text_columns(name->data) <= NAME_WIDTH)
		return;
	shorter = text_abbreviated(name->data);
	buf_clear(name);
	buf_text(name, shorter);
}

static bool print_table(const struct groups *g, const struct page *page, const struct answer *a)
{
	bool stacks = g->key->kind == GROUP_STACK, frames = !stacks && g->key->from_stack;
	struct buf out = { 0 }, label = { 0 };
	struct human h, k;
	struct table t;
	bool written;

	table_init(&t, stacks ? stack_columns : frames ? frame_columns : class_columns);
	for (uint32_t i = 0; i < page->count; i++) {
		const struct group *row = &g->rows[page->rows[i]];

		buf_clear(&label);
		groups_label(g, row, &label);
		if (g->key->kind == GROUP_FUNCTION && !paging.full)
			abbreviate(&label);
		if (stacks)
			stack_row(&t, a, row);
		else if (frames)
			frame_row(&t, row, label.data);
		else
			class_row(&t, a, row, label.data);
	}
	paging_title(&paging, "group", "groups", page->count, g->count, &out);
	buf_printf(&out, " of %s allocation%s, %s\n", human_count(&h, g->view->count),
		   g->view->count == 1 ? "" : "s", human_size(&k, g->view->bytes));
	if (page->count) {
		buf_char(&out, '\n');
		table_print(&t, &paging.term, paging.full, &out);
	}
	table_release(&t);
	written = paging_flush(&out, true);
	buf_release(&label);
	buf_release(&out);
	return written;
}

static bool print_json(const struct groups *g, const struct page *page, struct answer *a)
{
	struct buf out = { 0 };
	bool written = true;
	struct json j;

	json_init(&j, &out);
	json_object(&j, NULL);
	json_array(&j, g->key->kind == GROUP_STACK ? "allocations" : "groups");
	for (uint32_t i = 0; i < page->count && written; i++) {
		answer_group(a, &j, g, &g->rows[page->rows[i]]);
		written = paging_flush(&out, false);
	}
	json_end_array(&j);
	json_number(&j, "total_count", g->count);
	json_end_object(&j);
	written = written && paging_flush(&out, true);
	buf_release(&out);
	return written;
}

static void csv_sums(const struct answer *a, const struct summary_sums *s, struct buf *out)
{
	csv_number(out, s->count);
	csv_number(out, s->bytes);
	csv_number(out, s->bytes + s->slack);
	csv_number(out, s->leaked_count);
	csv_number(out, s->leaked_bytes);
	csv_number(out, s->count ? s->min_size : 0);
	csv_number(out, s->max_size);
	csv_number(out, s->count ? clock_ns(&a->clock, s->first_at) : 0);
	csv_number(out, clock_ns(&a->clock, s->last_at));
}

static bool print_csv(const struct groups *g, const struct page *page, const struct answer *a)
{
	static const char *const names[] = { "count",	     "size",	    "usable_size",
					     "leaked_count", "leaked_size", "min_size",
					     "max_size",     "first_ns",    "last_ns" };
	struct buf out = { 0 }, label = { 0 };
	bool stacks = g->key->kind == GROUP_STACK, written = true;

	csv_cell(&out, g->key->name);
	for (unsigned part = 0; part < 3; part++)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			buf_clear(&label);
			buf_printf(&label, "%s%s",
				   part == 2 ? "all_"
				   : part    ? "self_"
					     : "",
				   names[i]);
			csv_cell(&out, label.data);
		}
	if (stacks)
		csv_cell(&out, "where");
	csv_end(&out);
	for (uint32_t i = 0; i < page->count && written; i++) {
		const struct group *row = &g->rows[page->rows[i]];

		buf_clear(&label);
		groups_label(g, row, &label);
		if (stacks)
			csv_number(&out, row->id);
		else
			csv_cell(&out, label.data);
		csv_sums(a, &row->matched, &out);
		csv_sums(a, &row->self, &out);
		csv_sums(a, &row->all, &out);
		buf_clear(&label);
		if (stacks && paging.full)
			where_lines(g->view, row->id, row->call, &label);
		else if (stacks)
			where_line(g->view, row->id, 3, &label);
		if (stacks)
			csv_cell(&out, label.data);
		csv_end(&out);
		written = paging_flush(&out, false);
	}
	written = written && paging_flush(&out, true);
	buf_release(&label);
	buf_release(&out);
	return written;
}

static void complain_about_key(void)
{
	struct nearest n = nearest_to(by);

	for (const struct group_key *k = group_keys; k->name; k++)
		nearest_consider(&n, k->name);
	fprintf(stderr, "memoir groups: cannot group by '%s'", by);
	if (nearest_found(&n))
		fprintf(stderr, "; did you mean '%s'?\n", n.best);
	else
		fprintf(stderr, " (memoir help groups says more)\n");
}

static bool find_keys(const struct group_key **ret_key, struct group_sort *ret_sort)
{
	const struct group_key *key = group_key_find(by);

	if (!key) {
		complain_about_key();
		return false;
	}
	*ret_key = key;
	if (!paging.sort)
		paging.sort = key->ordered ? "key" : "size";
	if (!group_sort_find(key, paging.sort, ret_sort)) {
		struct nearest near = nearest_to(paging.sort);

		for (unsigned i = 0; i < NUMBERS; i++)
			nearest_consider(&near, group_numbers[i]);
		paging_complain("groups", &near);
		return false;
	}
	return true;
}

static int run(int argc, char **argv)
{
	const struct group_key *key;
	struct group_sort sort;
	struct open_options how;
	struct groups *g;
	struct answer a;
	struct opened o;
	struct page page;
	bool written;

	if (!find_keys(&key, &sort) || !paging_check(&paging, "groups", sort.number != NUMBER_KEY))
		return 2;
	how = paging_open(&paging);
	if (!open_view("groups", argc, argv, &how, &o))
		return o.status;
	if (key->from_stack && key->kind != GROUP_STACK)
		opened_names(&o);
	g = groups_new(o.view, key);
	page = groups_page(g, sort, paging.descending, paging_skip(&paging), paging_count(&paging));
	answer_init(&a, o.view);
	written = paging.json  ? print_json(g, &page, &a)
		  : paging.csv ? print_csv(g, &page, &a)
			       : print_table(g, &page, &a);
	answer_release(&a);
	free(page.rows);
	groups_free(g);
	opened_release(&o);
	return written ? o.status : 1;
}

const struct command command_groups = {
	.name = "groups",
	.args = "FILE",
	.help = "allocations by stack, function, thread, size …",
	.examples =
		"  memoir groups app.dat                          the stacks that allocate most\n"
		"  memoir groups app.dat --by function --sort self.size\n"
		"  memoir groups app.dat --sort leaked --lifetime only_leaked --full\n"
		"  memoir groups app.dat --by lifetime -F 'size >= 1M'\n"
		"  memoir groups app.dat --json | jq '.allocations[0].all.leaked_count'\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
