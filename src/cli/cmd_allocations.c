/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir allocations: the single allocations of a recording, chosen, sorted, page by page. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "answer/allocations.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
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

#define IF_SORTED UINT_MAX

/* The columns of numbers, as fields.def has them. */
static const struct {
	const char *heading;
	unsigned from;
	enum filter_arg type;
} numbers[] = {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help)                     \
	[ROW_##id] = { heading, from, type },
#include "query/fields.def"
#undef NUMBER
};
#define NUMBERS_COUNT (sizeof(numbers) / sizeof(*numbers))

/* Behind them. */
static const struct table_column texts[] = {
	{ "THREAD", true, STYLE_PLAIN, 100 }, { "CHAIN", false, STYLE_PLAIN, 120 },
	{ "CALL", true, STYLE_DIM, 90 },      { "STACK", false, STYLE_DIM, 0 },
	{ "WHERE", true, STYLE_FUNCTION, 0 }, { 0 },
};

struct listing {
	struct printing *p;
	struct answer answer;
	struct table table;
	struct table_column columns[NUMBERS_COUNT + sizeof(texts) / sizeof(*texts)];
	enum row_number shown[NUMBERS_COUNT];
	size_t shown_count;
	uint32_t count;
};

static void choose_columns(struct listing *l)
{
	static const enum term_style styles[ARG_COUNT_OF] = {
		[ARG_SIZE] = STYLE_STRONG,
		[ARG_DURATION_OR_PERCENT] = STYLE_NUMBER,
		[ARG_ADDRESS] = STYLE_DIM,
	};
	const struct filter_field *sorted = sort_field(ask_text(l->p->ask, "sort_by"));

	for (size_t i = 0; i < NUMBERS_COUNT; i++) {
		bool key = sorted->class == FIELD_ROW && (size_t)sorted->which == i;

		if (numbers[i].from == IF_SORTED && !key)
			continue;
		l->columns[l->shown_count] =
			(struct table_column){ .title = numbers[i].heading,
					       .style = styles[numbers[i].type],
					       .narrow = key ? 0 : numbers[i].from };
		l->shown[l->shown_count++] = (enum row_number)i;
	}
	memcpy(l->columns + l->shown_count, texts, sizeof(texts));
}

static void number_cell(struct listing *l, enum row_number which, uint32_t row)
{
	const struct model *m = l->answer.view->model;
	const struct model_clock *clock = &l->answer.clock;
	uint32_t last = which == ROW_CHAIN_LIFETIME ? chain_of(m, row).last : row;
	bool freed = columns_freed_at(&m->allocations, last) != NEVER;
	uint64_t value = field_number(m, clock, which, row);
	struct table *t = &l->table;

	switch (numbers[which].type) {
	case ARG_TIME:
		table_cell(t, value == NEVER ? "" : duration_text(clock_ns(clock, value)));
		break;
	case ARG_DURATION_OR_PERCENT:
		table_cell(t, freed ? duration_text(clock_duration_ns(clock, value)) : "leaked");
		break;
	case ARG_SIZE:
		table_cell(t, size_text(value));
		break;
	case ARG_ADDRESS:
		table_cellf(t, "0x%" PRIx64, value);
		break;
	default:
		table_cellf(t, "%" PRIu64, value);
	}
}

static int add_row(void *context, uint32_t row)
{
	struct listing *l = context;
	struct table *t = &l->table;
	const struct view *v = l->answer.view;
	const struct model *m = v->model;
	const struct columns *c = &m->allocations;
	const struct thread *thread = &m->tables.threads.rows[tags_thread(columns_tags(c, row))];
	uint32_t chain = columns_chain(c, row);
	auto_buf struct buf where = { 0 };

	for (size_t i = 0; i < l->shown_count; i++)
		number_cell(l, l->shown[i], row);
	if (*thread->name)
		table_cell(t, thread->name);
	else
		table_cellf(t, "%" PRIu64, thread->tid);
	if (chain == NO_CHAIN)
		table_cell(t, "");
	else
		table_cellf(t, "%u/%u", columns_position(c, row) + 1, m->chains[chain].length);
	table_cell(t, locations_call(v->locations, tags_call(columns_tags(c, row))));
	table_cellf(t, "#%u", answer_stack(m, columns_stack(c, row)));
	if (full)
		where_lines(v, columns_stack(c, row), tags_call(columns_tags(c, row)), &where);
	else
		where_line(v, columns_stack(c, row), 3, &where);
	table_cell(t, where.data);
	l->count++;
	return 0;
}

static void print_allocations(struct printing *p, const void *answer)
{
	const struct answer_allocations *shown = answer;
	struct listing l = { .p = p };

	answer_init(&l.answer, shown->view);
	choose_columns(&l);
	table_init(&l.table, l.columns);
	allocations_each(shown, add_row, &l);
	answering_page(p, "allocation", "allocations", l.count, shown->view->count);
	buf_printf(p->out, ", %s\n", size_text(shown->view->bytes));
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
