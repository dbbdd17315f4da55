/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir groups: allocations summed up by stack, function, line, module, thread, size or lifetime.
 */
#include "answer/groups.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/where.h"
#include "export/csv.h"
#include "query/clock.h"

static bool full;

#define NAME_WIDTH 40  /* a function's name that is shown as it is */
#define PEAK_WIDTH 90  /* columns of the terminal */
#define SHORT_LABEL 40 /* columns that threads, sizes and lifetimes leave to others */

static const struct command_option options[] = {
	ANSWERING_FULL(full),
	{ 0 },
};

#define SELF_PLACE 2 /* behind which functions, lines and modules have sums of their own */

enum sum_type { BYTES, COUNT, STAMP, TICKS };

/* The columns of sums, as group_fields.def has them. */
static const struct {
	enum sum_type type;
	const char *heading;
	unsigned place, from;
} sums[NUMBERS] = {
#define SUM(id, name, type, heading, place, from, value, help)                                     \
	[NUMBER_##id] = { type, heading, place, from },
#include "query/group_fields.def"
#undef SUM
};

/* Behind them. */
static const struct table_column stack_texts[] = {
	{ "OWN PEAK", false, STYLE_PLAIN, PEAK_WIDTH },
	{ "AT", false, STYLE_PLAIN, 120 },
	{ "STACK", false, STYLE_DIM, 0 },
	{ "WHERE", true, STYLE_FUNCTION, 0 },
	{ 0 },
};
static const struct table_column label_text[] = { { "NAME", true, STYLE_FUNCTION, 0 }, { 0 } };

#define TEXTS_MAX (sizeof(stack_texts) / sizeof(*stack_texts))

struct listing {
	const struct view *view;
	struct group_sort shown[2 * NUMBERS]; /* sums, from left to right */
	unsigned count;
	struct table_column columns[2 * NUMBERS + TEXTS_MAX];
	struct table table;
};

static void show_sum(struct listing *l, struct group_sort sum, const char *heading, unsigned from)
{
	static const enum term_style styles[] = {
		[BYTES] = STYLE_STRONG, [COUNT] = STYLE_NUMBER, [STAMP] = STYLE_DIM
	};

	l->columns[l->count] = (struct table_column){ .title = heading,
						      .style = styles[sums[sum.number].type],
						      .narrow = from };
	l->shown[l->count++] = sum;
}

static void choose_columns(struct listing *l, const struct group_key *key, struct group_sort sorted)
{
	bool stacks = key->kind == GROUP_STACK;
	const struct table_column *texts = stacks ? stack_texts : label_text;
	unsigned room = key->from_stack ? 0 : SHORT_LABEL;

	for (unsigned place = 0; place <= NUMBER_PEAK_AT; place++) {
		for (unsigned i = 0; i < NUMBER_PEAK_AT; i++) {
			bool is_key = sorted.part == PART_MATCHED && sorted.number == i;

			if (sums[i].place == place && (place || is_key))
				show_sum(l, (struct group_sort){ PART_MATCHED, i }, sums[i].heading,
					 is_key || sums[i].from < room ? 0 : sums[i].from - room);
		}
		if (place != SELF_PLACE || stacks || !key->from_stack)
			continue;
		show_sum(l, (struct group_sort){ PART_SELF, NUMBER_SIZE }, "SELF", 0);
		show_sum(l, (struct group_sort){ PART_SELF, NUMBER_ALLOCATED_COUNT }, "SELF COUNT",
			 90);
	}
	for (unsigned i = 0; texts[i].title; i++)
		l->columns[l->count + i] = texts[i];
}

static void size_cell(struct table *t, uint64_t bytes)
{
	table_cell(t, size_text(bytes));
}

static void time_cell(struct table *t, const struct view *v, uint64_t stamp)
{
	table_cell(t, duration_text(model_ns(v->model, stamp)));
}

static void sum_cell(struct listing *l, const struct group *g, struct group_sort sum)
{
	struct model_clock clock = model_clock(l->view->model);
	uint64_t value = group_sum(sum.part == PART_SELF ? &g->self : &g->matched, sum.number);

	switch (sums[sum.number].type) {
	case BYTES:
		size_cell(&l->table, value);
		break;
	case COUNT:
		table_cell(&l->table, count_text(value));
		break;
	case STAMP:
		time_cell(&l->table, l->view, value);
		break;
	case TICKS:
		table_cell(&l->table, duration_text(clock_duration_ns(&clock, value)));
	}
}

static void stack_cells(struct listing *l, const struct group *g, bool peaks)
{
	/* Finding the peaks takes a while, and narrow terminals do not show them. */
	const struct stack_peak *peak =
		peaks ? &model_peaks(l->view->model)[g->id] : &(struct stack_peak){ 0 };
	auto_buf struct buf where = { 0 };

	size_cell(&l->table, peak->bytes);
	time_cell(&l->table, l->view, peak->at);
	table_cellf(&l->table, "#%u", g->id);
	if (full)
		where_lines(l->view, g->id, g->call, &where);
	else
		where_line(l->view, g->id, 3, &where);
	table_cell(&l->table, where.data);
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
	struct listing l = { .view = g->view };
	auto_buf struct buf label = { 0 };

	choose_columns(&l, g->key, shown->sort);
	table_init(&l.table, l.columns);
	for (uint32_t i = 0; i < shown->page.count; i++) {
		const struct group *row = &g->rows[shown->page.rows[i]];

		for (unsigned k = 0; k < l.count; k++)
			sum_cell(&l, row, l.shown[k]);
		if (g->key->kind == GROUP_STACK) {
			stack_cells(&l, row, p->term.wide >= PEAK_WIDTH);
			continue;
		}
		buf_clear(&label);
		groups_label(g, row, &label);
		if (g->key->kind == GROUP_FUNCTION && !full)
			abbreviate(&label);
		table_cell(&l.table, label.data);
	}
	answering_page(p, "group", "groups", shown->page.count, g->count);
	buf_printf(p->out, " of %s allocation%s, %s\n", count_text(g->view->count),
		   g->view->count == 1 ? "" : "s", size_text(g->view->bytes));
	if (shown->page.count) {
		buf_char(p->out, '\n');
		table_print(&l.table, &p->term, full, p->out);
	}
	table_release(&l.table);
}

static void csv_groups(struct printing *p, const void *answer)
{
	const struct answer_groups *shown = answer;
	const struct groups *g = shown->groups;
	auto_release(csv_lines_release) struct csv_lines l = { 0 };

	csv_lines_init(&l, g->view);
	csv_groups_head(p->out, g);
	for (uint32_t i = 0; i < shown->page.count && answering_turn(p); i++)
		csv_group(&l, p->out, g, &g->rows[shown->page.rows[i]]);
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
