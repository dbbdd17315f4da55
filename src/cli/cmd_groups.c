/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir groups: allocations summed up by stack, function, line, module, thread, size or lifetime.
 */
#include "answer/groups.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/where.h"
#include "export/csv.h"

static bool full;

#define NAME_WIDTH 40 /* a function's name that is shown as it is */
#define PEAK_WIDTH 90 /* columns of the terminal */

static const struct command_option options[] = {
	ANSWERING_FULL(full),
	{ 0 },
};

static const struct table_column stack_columns[] = {
	{ "SIZE", false, STYLE_STRONG, 0 },
	{ "COUNT", false, STYLE_PLAIN, 0 },
	{ "LEAKED", false, STYLE_NUMBER, 0 },
	{ "BLOCKS", false, STYLE_NUMBER, 100 },
	{ "OWN PEAK", false, STYLE_PLAIN, PEAK_WIDTH },
	{ "AT", false, STYLE_PLAIN, 120 },
	{ "FIRST", false, STYLE_DIM, 130 },
	{ "LAST", false, STYLE_DIM, 130 },
	{ "STACK", false, STYLE_DIM, 0 },
	{ "WHERE", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static const struct table_column frame_columns[] = {
	{ "SIZE", false, STYLE_STRONG, 0 },   { "COUNT", false, STYLE_PLAIN, 0 },
	{ "SELF", false, STYLE_STRONG, 0 },   { "SELF COUNT", false, STYLE_PLAIN, 90 },
	{ "LEAKED", false, STYLE_NUMBER, 0 }, { "BLOCKS", false, STYLE_NUMBER, 100 },
	{ "NAME", true, STYLE_FUNCTION, 0 },  { 0 },
};

static const struct table_column class_columns[] = {
	{ "SIZE", false, STYLE_STRONG, 0 },   { "COUNT", false, STYLE_PLAIN, 0 },
	{ "LEAKED", false, STYLE_NUMBER, 0 }, { "BLOCKS", false, STYLE_NUMBER, 0 },
	{ "FIRST", false, STYLE_DIM, 90 },    { "LAST", false, STYLE_DIM, 90 },
	{ "NAME", true, STYLE_FUNCTION, 0 },  { 0 },
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

static void time_cell(struct table *t, const struct view *v, uint64_t stamp)
{
	struct human h;

	table_cell(t, human_duration(&h, model_ns(v->model, stamp)));
}

static void stack_row(struct table *t, const struct view *v, const struct group *g, bool peaks)
{
	/* Finding the peaks takes a while, and narrow terminals do not show them. */
	const struct stack_peak *peak =
		peaks ? &model_peaks(v->model)[g->id] : &(struct stack_peak){ 0 };
	struct buf where = { 0 };

	size_cell(t, g->matched.bytes);
	count_cell(t, g->matched.count);
	size_cell(t, g->matched.leaked_bytes);
	count_cell(t, g->matched.leaked_count);
	size_cell(t, peak->bytes);
	time_cell(t, v, peak->at);
	time_cell(t, v, g->matched.first_at);
	time_cell(t, v, g->matched.last_at);
	table_cellf(t, "#%u", g->id);
	if (full)
		where_lines(v, g->id, g->call, &where);
	else
		where_line(v, g->id, 3, &where);
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

static void class_row(struct table *t, const struct view *v, const struct group *g,
		      const char *label)
{
	size_cell(t, g->matched.bytes);
	count_cell(t, g->matched.count);
	size_cell(t, g->matched.leaked_bytes);
	count_cell(t, g->matched.leaked_count);
	time_cell(t, v, g->matched.first_at);
	time_cell(t, v, g->matched.last_at);
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

static void print_groups(struct printing *p, const void *answer)
{
	const struct answer_groups *shown = answer;
	const struct groups *g = shown->groups;
	bool stacks = g->key->kind == GROUP_STACK, frames = !stacks && g->key->from_stack;
	struct buf label = { 0 };
	struct human h, k;
	struct table t;

	table_init(&t, stacks ? stack_columns : frames ? frame_columns : class_columns);
	for (uint32_t i = 0; i < shown->page.count; i++) {
		const struct group *row = &g->rows[shown->page.rows[i]];

		buf_clear(&label);
		groups_label(g, row, &label);
		if (g->key->kind == GROUP_FUNCTION && !full)
			abbreviate(&label);
		if (stacks)
			stack_row(&t, g->view, row, p->term.wide >= PEAK_WIDTH);
		else if (frames)
			frame_row(&t, row, label.data);
		else
			class_row(&t, g->view, row, label.data);
	}
	answering_page(p, "group", "groups", shown->page.count, g->count);
	buf_printf(p->out, " of %s allocation%s, %s\n", human_count(&h, g->view->count),
		   g->view->count == 1 ? "" : "s", human_size(&k, g->view->bytes));
	if (shown->page.count) {
		buf_char(p->out, '\n');
		table_print(&t, &p->term, full, p->out);
	}
	table_release(&t);
	buf_release(&label);
}

static void csv_groups(struct printing *p, const void *answer)
{
	const struct answer_groups *shown = answer;
	const struct groups *g = shown->groups;
	struct csv_lines l;

	csv_lines_init(&l, g->view);
	csv_groups_head(p->out, g);
	for (uint32_t i = 0; i < shown->page.count && answering_turn(p); i++)
		csv_group(&l, p->out, g, &g->rows[shown->page.rows[i]]);
	csv_lines_release(&l);
}

static const struct answering answering = {
	.question = &question_groups,
	.defaults = "count=20",
	.print = print_groups,
	.csv = csv_groups,
};

const struct command command_groups = {
	.name = "groups",
	.args = "FILE",
	.help = "allocations by stack, function, thread, size …",
	.examples =
		"  memoir groups app.dat                          the stacks that allocate most\n"
		"  memoir groups app.dat --by function --sort self.size\n"
		"  memoir groups app.dat --sort leaked --lifetime only_leaked --full\n"
		"  memoir groups app.dat --by lifetime -F 'size >= 1M'\n"
		"  memoir groups app.dat --json | jq '.groups[0].all.leaked_count'\n",
	.options = options,
	.answers = &answering,
};
