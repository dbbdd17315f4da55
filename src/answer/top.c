/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question top: which functions hold memory now, and who allocates most at the moment.
 *
 * "Now" is the end of the recording, which moves while it is followed.  Stacks are summed by the
 * function that is responsible for them; what was found out about a stack stays in its row of the
 * tally, since names cost more than sums. */
#include "answer/top.h"

#include <errno.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/answer.h"
#include "query/responsible.h"
#include "query/value.h"

#define TOP_SORTS                                                                                  \
	"held_bytes|held_count|change_bytes|bytes_per_second|allocations_per_second|"              \
	"allocations|allocated_bytes|temporary|function"
#define POINTS_MAX TALLY_POINTS
#define STACKS_MAX 100
#define SECOND 1e9

double top_rate(const struct answer_top *t, uint64_t recent)
{
	return t->window_ns ? (double)recent / ((double)t->window_ns / SECOND) : 0;
}

static double number_of(const struct answer_top *t, const struct top_figures *f, const char *field)
{
	const struct {
		const char *name;
		double value;
	} fields[] = {
		{ "held_bytes", (double)f->held_bytes },
		{ "held_count", (double)f->held_count },
		{ "change_bytes", (double)f->recent.change },
		{ "bytes_per_second", (double)f->recent.bytes },
		{ "allocations_per_second", (double)f->recent.allocations },
		{ "allocations", (double)f->allocations },
		{ "allocated_bytes", (double)f->allocated_bytes },
		{ "temporary", (double)f->temporary },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strcmp(fields[i].name, field))
			return fields[i].value;
	return 0;
}

static void add_figures(struct top_figures *to, const struct top_figures *from)
{
	to->held_bytes += from->held_bytes;
	to->held_count += from->held_count;
	to->allocations += from->allocations;
	to->allocated_bytes += from->allocated_bytes;
	to->temporary += from->temporary;
	to->recent.allocations += from->recent.allocations;
	to->recent.bytes += from->recent.bytes;
	to->recent.change += from->recent.change;
}

static struct top_figures figures_of(const struct tally *t, const struct tally_row *row)
{
	return (struct top_figures){
		.held_bytes = row->held_bytes,
		.held_count = row->held_count,
		.allocations = row->allocations + row->removed_allocations,
		.allocated_bytes = row->allocated_bytes + row->removed_bytes,
		.temporary = row->temporary + row->removed_temporary,
		.recent = tally_recent(t, row),
	};
}

/* Which functions behave like wrappers is found out again when there is a quarter more to see, or
 * twice as much of it. */
static void judge_followed(struct tally *t, struct locations *p)
{
	auto_free struct stack_traffic *rows = NULL;

	if (t->responsible && t->count <= t->judged_stacks + t->judged_stacks / 4 &&
	    t->all.allocations / 2 < t->judged_allocations)
		return;
	tally_forget_names(t);
	rows = xcalloc(t->count + 1, sizeof(*rows));
	for (size_t i = 0; i < t->count; i++) {
		const struct tally_row *row = &t->rows[i];

		rows[i] = (struct stack_traffic){ row->stack, row->allocations, row->min_size,
						  row->max_size };
	}
	t->judged_stacks = t->count;
	t->judged_allocations = t->all.allocations;
	t->judged_nodes = t->model->tables.nodes.count;
	t->responsible = responsible_so_far(t->model, p, rows, t->count);
}

/* By names alone: of a stack that is newer than what was found out. */
static bool find_by_names(const struct model *m, struct locations *p, uint32_t stack,
			  struct responsible_frame *ret)
{
	const struct nodes *nodes = &m->tables.nodes;
	const struct frame_rules *rules = frame_rules();
	bool found = false;

	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t location = locations_of_node(p, id);
		const struct location *at = locations_at(p, location);
		unsigned count;
		const struct location_frame *f = locations_frames(p, location, &count);

		for (unsigned i = 0; i < count; i++) {
			enum frame_kind kind =
				frame_kind_of_function(rules, locations_string(p, f[i].function),
						       locations_string(p, f[i].raw_function));

			if (kind == FRAME_KINDS)
				kind = frame_kind_of_module(rules,
							    locations_module_path(p, at->module));
			if (kind == FRAME_KINDS)
				kind = FRAME_PROGRAM;
			if (!found || kind > ret->kind)
				*ret = (struct responsible_frame){ location, i, kind };
			found = true;
			if (kind == FRAME_PROGRAM)
				return true;
		}
	}
	return found;
}

/* Which frame names a stack's row. */
static void find_row_name(struct tally_row *row, const struct tally *t, struct locations *p,
			  const struct responsible *r)
{
	struct responsible_frame f = { 0 };

	if (row->location)
		return;
	/* Of a node that was not known then there is no location. */
	if (!r && row->stack < t->judged_nodes &&
	    responsible_find(t->responsible, row->stack, &f) && f.location)
		row->frame = f.index;
	else if (r ? responsible_find(r, row->stack, &f)
		   : find_by_names(t->model, p, row->stack, &f))
		row->frame = f.index;
	row->location = f.location + 1;
}

struct summing {
	struct answer_top *top;
	struct locations *locations;
	const struct responsible *responsible; /* NULL: the recording is followed */
	struct map ids; /* a function's string, or a location without one, to a row plus one */
	size_t room;
	uint32_t *id_of; /* by row of the tally: a row's id plus one */
};

static struct top_row *row_of_name(struct summing *s, const struct tally_row *from)
{
	struct answer_top *top = s->top;
	uint32_t location = from->location - 1;
	const struct location *at = locations_at(s->locations, location);
	const struct location_frame *f;
	uint64_t key, position;
	struct top_row *row;
	unsigned count;

	f = &locations_frames(s->locations, location, &count)[from->frame];
	key = f->function ? f->function : (uint64_t)1 << 32 | location;
	if (map_get(&s->ids, key, &position))
		return &top->rows[position];
	map_set(&s->ids, key, top->count);
	row = xpush(top->rows, top->count, s->room);
	*row = (struct top_row){ .file = f->file, .line = f->line, .id = top->count - 1 };
	if (f->function) {
		row->name = locations_string(s->locations, f->function);
	} else if (!location) {
		row->name = "(no stack)";
	} else {
		struct buf text = { 0 };

		locations_unnamed(s->locations, at->module, at->address, &text);
		row->name = row->own_name = text.data;
	}
	return row;
}

static void sum_rows(struct summing *s, struct tally *t)
{
	if (!s->responsible)
		judge_followed(t, s->locations);
	s->id_of = xcalloc(t->count + 1, sizeof(*s->id_of));
	for (size_t i = 0; i < t->count; i++) {
		struct top_figures f = figures_of(t, &t->rows[i]);
		struct top_row *row;

		if (!f.allocations)
			continue;
		find_row_name(&t->rows[i], t, s->locations, s->responsible);
		row = row_of_name(s, &t->rows[i]);
		add_figures(&row->figures, &f);
		row->stack_count++;
		s->id_of[i] = row->id + 1;
	}
}

static void choose_rows(struct answer_top *top, const char *text)
{
	uint32_t left = 0;

	top->functions = top->count;
	for (uint32_t i = 0; i < top->count; i++) {
		if (!text || strcasestr(top->rows[i].name, text))
			top->rows[left++] = top->rows[i];
		else
			free(top->rows[i].own_name);
	}
	top->count = left;
}

struct ordering {
	const struct answer_top *top;
	const char *field;
	bool descending;
};

static int compare_numbers(const struct ordering *o, const struct top_figures *a,
			   const struct top_figures *b)
{
	double x = number_of(o->top, a, o->field), y = number_of(o->top, b, o->field);

	return x == y ? 0 : (x < y) == o->descending ? 1 : -1;
}

static int compare_rows(const void *a, const void *b, void *ordering)
{
	const struct top_row *x = a, *y = b;
	const struct ordering *o = ordering;
	int order;

	if (!strcmp(o->field, "function")) {
		order = strcmp(x->name, y->name);
		return o->descending ? -order : order;
	}
	order = compare_numbers(o, &x->figures, &y->figures);
	return order ? order : strcmp(x->name, y->name);
}

static void add_stack(struct top_row *row, const struct top_stack *stack, uint32_t most,
		      const struct ordering *o)
{
	uint32_t at = row->shown_stacks;

	while (at && compare_numbers(o, &stack->figures, &row->stacks[at - 1].figures) < 0)
		at--;
	if (at == most)
		return;
	row->shown_stacks += row->shown_stacks < most;
	memmove(row->stacks + at + 1, row->stacks + at,
		(row->shown_stacks - at - 1) * sizeof(*row->stacks));
	row->stacks[at] = *stack;
}

/* The first stacks of each row that is shown. */
static void find_stacks(struct summing *s, const struct tally *t, const struct ordering *o)
{
	struct answer_top *top = s->top;
	struct top_row **by_id = xcalloc(top->functions + 1, sizeof(struct top_row *));

	for (uint32_t i = top->skip; i < top->skip + top->shown; i++) {
		top->rows[i].stacks = xcalloc(top->stacks + 1, sizeof(struct top_stack));
		by_id[top->rows[i].id + 1] = &top->rows[i];
	}
	for (size_t i = 0; i < t->count; i++) {
		struct top_row *row = by_id[s->id_of[i]];
		struct top_stack stack = { .stack = t->rows[i].stack, .call = t->rows[i].call };

		if (!row)
			continue;
		stack.figures = figures_of(t, &t->rows[i]);
		add_stack(row, &stack, top->stacks, o);
	}
	free(by_id);
}

static void take_curve(struct answer_top *top, uint32_t points)
{
	const struct tally *t = top->tally;
	uint64_t span = t->now > t->curve_from ? t->now - t->curve_from : 1;

	top->points = points;
	top->curve = xcalloc(points + 1, sizeof(*top->curve));
	for (uint32_t i = 0; i < points && t->curve_count; i++) {
		double first = (double)span * i / points / (double)t->curve_step;
		double last = (double)span * (i + 1) / points / (double)t->curve_step;
		/* What comes behind the last step is as it was there. */
		uint32_t k = first < t->curve_count ? (uint32_t)first : t->curve_count - 1;

		do {
			top->curve[i] = MAX(top->curve[i], t->curve[k]);
		} while (++k < t->curve_count && k < last);
	}
}

static int window_of(struct ask *a, uint64_t *ret_ns)
{
	struct value v;

	if (value_parse(&v, ARG_DURATION, ask_text(a, "window"), NULL) || !v.number)
		return ask_fail(a, 400, "window", "a duration is needed, such as 500ms or 10s");
	*ret_ns = v.number;
	value_release(&v);
	return 0;
}

static int top_check(struct ask *a)
{
	uint64_t ns;

	return window_of(a, &ns);
}

static int top_compute(struct ask *a, void *answer)
{
	struct answer_top *top = answer;
	struct tally *t = a->snapshot->tally;
	struct ordering o = { top, ask_text(a, "sort_by"), ask_descending(a) };
	struct summing s = { .top = top, .locations = a->snapshot->locations };
	uint32_t most = ask_count(a, "count");
	const struct view *v = t ? NULL : ask_view(a);
	uint64_t window_ns = 0;

	if (window_of(a, &window_ns) || (!t && !v))
		return -EINVAL;
	if (!t) {
		t = &top->own;
		tally_whole(t, v, window_ns);
		s.responsible = responsible_of_view(v);
	}
	top->tally = t;
	top->recent = tally_recent(t, &t->all);
	top->window_ns = tally_window_ns(t);
	top->runtime_ns = model_ns(t->model, t->now);
	top->stacks = ask_count(a, "backtraces");
	sum_rows(&s, t);
	choose_rows(top, ask_text(a, "text"));
	SORT_WITH(top->rows, top->count, compare_rows, &o);
	top->skip = ask_count(a, "skip");
	top->skip = top->skip < top->count ? top->skip : top->count;
	top->shown = top->count - top->skip < most ? top->count - top->skip : most;
	if (top->stacks)
		find_stacks(&s, t, &o);
	take_curve(top, ask_count(a, "points"));
	map_release(&s.ids);
	free(s.id_of);
	return 0;
}

static void write_figures(struct json *j, const struct answer_top *t, const struct top_figures *f)
{
	JSON_MEMBERS(j, f, held_bytes, held_count);
	json_real(j, "change_bytes", (double)f->recent.change, 0);
	json_real(j, "allocations_per_second", top_rate(t, f->recent.allocations), 1);
	json_real(j, "bytes_per_second", top_rate(t, f->recent.bytes), 1);
	JSON_MEMBERS(j, f, allocations, allocated_bytes, temporary);
}

static void write_head(struct json *j, const struct snapshot *s, const struct answer_top *t)
{
	const struct model *m = s->model;
	const struct totals *totals = &m->totals;
	struct top_figures all = { .held_bytes = totals->live_bytes,
				   .held_count = totals->live_count,
				   .allocations = totals->allocations,
				   .allocated_bytes = totals->allocated_bytes,
				   .temporary = totals->temporary,
				   .recent = t->recent };
	const char *executable = model_info(m, "executable");

	json_text(j, "executable", executable ? executable : "");
	if (model_info(m, "pid"))
		json_number(j, "pid", model_info_number(m, "pid", 0));
	json_bool(j, "live", s->live);
	JSON_MEMBERS(j, t, runtime_ns, window_ns);
	json_number(j, "threads", m->tables.threads.count);
	write_figures(j, t, &all);
	json_object(j, "peak");
	json_number(j, "bytes", totals->peak_bytes);
	json_number(j, "count", totals->peak_count);
	json_number(j, "at_ns", totals->peak_bytes ? model_ns(m, totals->peak_at) : 0);
	json_end_object(j);
	if (t->tally->maps.samples) {
		JSON_MEMBERS(j, &t->tally->maps, rss, peak_rss, address_space);
	}
	JSON_EACH(j, "curve", i, t->points)
		json_number(j, NULL, t->curve[i]);
}

static void write_stacks(struct json *j, const struct answer_top *t, const struct top_row *row,
			 struct answer *names)
{
	JSON_ROWS(j, "backtraces", i, row->shown_stacks) {
		const struct top_stack *s = &row->stacks[i];

		write_figures(j, t, &s->figures);
		json_number(j, "backtrace_id", answer_stack(t->tally->model, s->stack));
		answer_backtrace(names, j, "backtrace", s->stack, s->call);
	}
}

static void top_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_top *t = answer;
	const struct locations *p = a->snapshot->locations;
	struct answer names;

	if (t->stacks)
		snapshot_answer(a->snapshot, &names, ask_view(a));
	write_head(j, a->snapshot, t);
	JSON_PAGE(j, "functions", i, t->skip, t->shown, t->count) {
		const struct top_row *row = &t->rows[i];

		json_text(j, "function", row->name);
		if (row->file)
			json_text(j, "source", locations_string(p, row->file));
		if (row->line)
			json_number(j, "line", row->line);
		write_figures(j, t, &row->figures);
		json_number(j, "stacks", row->stack_count);
		if (t->stacks)
			write_stacks(j, t, row, &names);
		sink_turn(out);
	}
	json_number(j, "total_count", t->count);
	if (t->stacks)
		snapshot_answer_release(&names);
}

static void top_drop(void *answer)
{
	struct answer_top *t = answer;

	for (uint32_t i = 0; i < t->count; i++) {
		free(t->rows[i].own_name);
		free(t->rows[i].stacks);
	}
	free(t->rows);
	free(t->curve);
	tally_release(&t->own);
}

static const struct param_row params[] = {
	{ "sort_by", PARAM_CHOICE, "held_bytes", "one of the fields", .values = TOP_SORTS,
	  .option = "sort", .letter = 's' },
	PARAM_ORDER("dsc"),
	{ "text", PARAM_TEXT, NULL, "functions whose names have this in them",
	  .option = "function" },
	{ "window", PARAM_DURATION, "2s", "change and rates are of this time before the end" },
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },
	{ "count", PARAM_COUNT, "50", "rows at most", .max = 1000, .letter = 'n' },
	{ "backtraces", PARAM_COUNT, "0", "stacks of each function", .max = STACKS_MAX },
	{ "points", PARAM_COUNT, "100", "figures of the curve", .max = POINTS_MAX },
	{ 0 },
};

const struct question question_top = {
	.name = "top",
	.help = "who holds memory now, what changes, who allocates most at the moment",
	.params = params,
	.check = top_check,
	.size = sizeof(struct answer_top),
	.compute = top_compute,
	.write_members = top_json,
	.release = top_drop,
};
