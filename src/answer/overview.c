/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question overview: the facts, the totals, and what is to be known first.  With filters, the
 * figures are of what matches; the facts stay those of the whole. */
#include "answer/overview.h"

#include <errno.h>
#include <string.h>

#include "answer/leaks.h"
#include "answer/sentences.h"
#include "answer/words.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/responsible.h"

#define VERDICTS_SHOWN 5
#define CACHED_STACKS 1000 /* of each kind; more are not kept */

static void write_info(struct json *j, const struct model *m, const char *key, const char *info)
{
	const char *text = model_info(m, info);

	if (text)
		json_text(j, key, text);
}

static void write_number(struct json *j, const struct model *m, const char *key)
{
	if (model_info(m, key))
		json_number(j, key, model_info_number(m, key, 0));
}

static void write_program(struct json *j, const struct snapshot *s)
{
	const struct model *m = s->model;
	const char *words = model_info(m, "cmdline");
	size_t size = model_info_size(m, "cmdline");

	JSON_MEMBERS(j, s, id, name);
	json_text(j, "state", s->live ? "live" : "ready");
	json_number(j, "version", s->version);
	write_info(j, m, "executable", "executable");
	json_array(j, "cmdline");
	for (const char *p = words; p && p < words + size; p += strlen(p) + 1)
		json_text(j, NULL, p);
	json_end_array(j);
	write_number(j, m, "pid");
	write_info(j, m, "architecture", "arch");
	write_info(j, m, "hostname", "hostname");
	write_info(j, m, "allocator", "allocator");
	write_info(j, m, "recorded_by", "version");
	write_info(j, m, "end_reason", "end_reason");
	write_number(j, m, "exit_status");
	write_number(j, m, "exit_signal");
	json_real(j, "start_ms", (double)model_start_ns(m) / 1e6, 3);
	json_number(j, "runtime_ns", model_runtime_ns(m));
	json_number(j, "threads", m->tables.threads.count);
	json_number(j, "file_size", s->file_size);
}

static bool overview_is_long(const struct ask *a)
{
	return ask_count(a, "top") > CACHED_STACKS;
}

static struct weight weight_of(const struct stack_sum *s, enum stack_order order)
{
	switch (order) {
	case BY_PEAK_BYTES:
		return (struct weight){ .bytes = s->peak_bytes, .count = s->peak_count };
	case BY_LEAKED_BYTES:
		return (struct weight){ .bytes = s->leaked_bytes, .count = s->leaked_count };
	case BY_TEMPORARY:
		return (struct weight){ .bytes = s->temporary_bytes, .count = s->temporary };
	case BY_COUNT:
	case STACK_ORDERS:
		break;
	}
	return (struct weight){ .bytes = s->bytes, .count = s->count };
}

static bool counts_calls(enum stack_order order)
{
	return order == BY_COUNT || order == BY_TEMPORARY;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct overview_row *x = a, *y = b;
	bool calls = counts_calls(*(const enum stack_order *)context);
	uint64_t p = calls ? x->weight.count : x->weight.bytes;
	uint64_t q = calls ? y->weight.count : y->weight.bytes;

	if (p != q)
		return p > q ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* One row for each stack; the caller frees them. */
static struct overview_row *stack_rows(enum stack_order order, const struct stack_sums *sums,
				       uint32_t *ret_count)
{
	struct overview_row *rows = xcalloc((size_t)sums->count + 1, sizeof(*rows));
	uint32_t count = 0;

	for (uint32_t i = 0; i < sums->count; i++) {
		const struct stack_sum *s = &sums->rows[i];
		struct weight w = weight_of(s, order);

		if (w.count)
			rows[count++] = (struct overview_row){
				.stack = s->stack, .call = s->call, .weight = w, .stacks = 1
			};
	}
	*ret_count = count;
	return rows;
}

/* One row for each responsible function; the caller frees them. */
static struct overview_row *group_rows(enum stack_order order, const struct stack_sums *sums,
				       const struct responsible *r, uint32_t *ret_count)
{
	auto_free uint32_t *row_of = xcalloc(responsible_units(r), sizeof(*row_of));
	struct overview_row *rows = NULL;
	size_t count = 0, room = 0;

	for (uint32_t i = 0; i < sums->count; i++) {
		const struct stack_sum *s = &sums->rows[i];
		struct weight w = weight_of(s, order);
		struct responsible_frame f;
		uint32_t unit = 0;
		struct overview_row *row;
		uint64_t part;

		if (!w.count)
			continue;
		if (responsible_find(r, s->stack, &f))
			unit = responsible_unit(r, &f);
		if (!row_of[unit]) {
			rows = xgrow(rows, count, &room, sizeof(*rows));
			rows[count] = (struct overview_row){ 0 };
			row_of[unit] = (uint32_t)++count;
		}
		row = &rows[row_of[unit] - 1];
		part = counts_calls(order) ? w.count : w.bytes;
		if (!row->stacks++ || part > row->heaviest ||
		    (part == row->heaviest && s->stack < row->stack)) {
			row->stack = s->stack;
			row->call = s->call;
			row->heaviest = part;
		}
		row->weight.bytes += w.bytes;
		row->weight.count += w.count;
	}
	*ret_count = (uint32_t)count;
	return rows;
}

static void fill_part(struct overview_part *part, enum stack_order order, struct stack_sums *sums,
		      const struct responsible *r, uint32_t top)
{
	auto_free struct overview_row *rows = NULL;

	for (uint32_t i = 0; i < sums->count; i++) {
		struct weight w = weight_of(&sums->rows[i], order);

		part->all.bytes += w.bytes;
		part->all.count += w.count;
		part->stacks += w.count != 0;
	}
	rows = r ? group_rows(order, sums, r, &part->functions)
		 : stack_rows(order, sums, &part->functions);
	part->count = part->functions < top ? part->functions : top;
	part->rows = xcalloc(part->count + 1, sizeof(*part->rows));
	if (part->functions)
		qsort_r(rows, part->functions, sizeof(*rows), compare_rows, &order);
	for (uint32_t i = 0; i < part->count; i++)
		part->rows[i] = rows[i];
}

/* What the whole recording says of itself is more than its single stacks. */
static void take_totals(struct answer_overview *ret, const struct totals *t)
{
	ret->parts[BY_COUNT].all =
		(struct weight){ .bytes = t->allocated_bytes, .count = t->allocations };
	ret->parts[BY_PEAK_BYTES].all =
		(struct weight){ .bytes = t->peak_bytes, .count = t->peak_count };
	ret->parts[BY_LEAKED_BYTES].all =
		(struct weight){ .bytes = t->live_bytes, .count = t->live_count };
	ret->temporary = t->temporary;
	ret->stacks = ret->counts.stacks;
}

/* Sentences speak of what was freed at exit, too. */
static void find_verdicts(struct ask *a, struct answer_overview *ret, bool shown, bool said)
{
	const struct view *v = ret->view;

	if (!v->bits && !v->responsible) {
		ret->verdicts = shown ? snapshot_verdicts(a->snapshot, false) : NULL;
		ret->held = said ? snapshot_verdicts(a->snapshot, true) : NULL;
		return;
	}
	if (said)
		verdicts_init_both(&ret->own[0], &ret->own[1], v);
	else if (shown)
		verdicts_init(&ret->own[0], v, NULL);
	ret->verdicts = shown ? &ret->own[0] : NULL;
	ret->held = said ? &ret->own[1] : NULL;
}

static int overview_compute(struct ask *a, void *answer)
{
	static const char *const says[] = { "all", "quick", "none" };
	unsigned wanted = ask_choice(a, "sentences", says, 3);
	struct answer_overview *ret = answer;
	const struct view *v = ask_view(a);
	const struct responsible *r;
	struct stack_sums sums;

	if (!v)
		return -EINVAL;
	ret->view = v;
	ret->backtraces = ask_bool(a, "backtraces");
	if (v->bits)
		stats_sum_selected(v->model, v->bits, &sums);
	else
		stats_sum_stacks(v->model, &sums);
	stats_count_stacks(v->model, &ret->counts);
	ret->by_stack = !strcmp(ask_text(a, "by"), "stack");
	r = ret->by_stack ? NULL : responsible_of_view(v);
	for (enum stack_order i = 0; i < STACK_ORDERS; i++)
		fill_part(&ret->parts[i], i, &sums, r, ask_count(a, "top"));
	ret->temporary = ret->parts[BY_TEMPORARY].all.count;
	for (uint32_t i = 0; i < sums.count; i++)
		ret->stacks += sums.rows[i].count && sums.rows[i].stack != STACK_NONE;
	stack_sums_release(&sums);
	if (!v->bits)
		take_totals(ret, &v->model->totals);
	process_memory_init(&ret->memory, v);
	find_verdicts(a, ret, ask_bool(a, "verdicts"), wanted == 0);
	ret->says = wanted < 2;
	if (ret->says)
		sentences_of_view(&ret->sentences, a->snapshot, v, ret->held, &ret->memory);
	return 0;
}

static void write_filter(struct json *j, const struct view *v)
{
	auto_buf struct buf text = { 0 };

	filter_print(v->filter, &text);
	json_object(j, "filter");
	json_text(j, "expression", text.data);
	JSON_MEMBERS(j, v, count, bytes);
	json_end_object(j);
}

static void write_weight(struct json *j, const struct weight *w)
{
	JSON_MEMBERS(j, w, bytes, count);
}

static void write_totals(struct json *j, const struct answer_overview *o)
{
	const struct model *m = o->view->model;
	const struct totals *t = &m->totals;

	json_number(j, "events", t->events);
	json_number(j, "allocations", o->parts[BY_COUNT].all.count);
	JSON_MEMBERS(j, t, deallocations, reallocations);
	json_number(j, "allocated_bytes", o->parts[BY_COUNT].all.bytes);
	json_number(j, "temporary", o->temporary);
	json_number(j, "temporary_bytes", o->parts[BY_TEMPORARY].all.bytes);
	/* Of the events of a whole process, in order: there is none of a part. */
	if (!o->view->bits)
		json_number(j, "heaptrack_temporary", t->heaptrack_temporary);
	json_object(j, "peak");
	write_weight(j, &o->parts[BY_PEAK_BYTES].all);
	json_number(j, "at_ns", t->peak_bytes ? model_ns(m, t->peak_at) : 0);
	json_end_object(j);
	json_object(j, "leaked");
	write_weight(j, &o->parts[BY_LEAKED_BYTES].all);
	json_end_object(j);
	json_number(j, "stacks", o->stacks);
	json_number(j, "free_stacks", o->counts.free_stacks);
	json_number(j, "deepest_stack", o->counts.deepest);
	json_number(j, "without_stack", o->counts.without_stack);
	json_number(j, "removed_allocations", t->allocations - m->recorded.allocations);
}

static void write_verdicts(struct json *j, const struct view *v, const struct verdicts *all)
{
	JSON_ROWS_WHILE(j, "verdicts", i, i < all->count && i < VERDICTS_SHOWN) {
		const struct verdict *row = &all->rows[i];

		leaks_verdict(j, v, row);
		words_where(j, v, row->stack);
	}
	leaks_write_sums(j, all);
}

static void write_top(struct ask *a, struct json *j, const struct answer_overview *o,
		      struct sink *out)
{
	static const struct {
		const char *name;
		enum stack_order order;
	} parts[] = { { "leaked", BY_LEAKED_BYTES },
		      { "peak", BY_PEAK_BYTES },
		      { "allocated", BY_COUNT },
		      { "temporary", BY_TEMPORARY } };
	const struct view *v = o->view;
	struct answer names;

	if (o->backtraces)
		snapshot_answer(a->snapshot, &names, v);
	json_object(j, "top");
	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
		const struct overview_part *part = &o->parts[parts[p].order];

		JSON_ROWS(j, parts[p].name, i, part->count) {
			const struct overview_row *s = &part->rows[i];

			words_where(j, v, s->stack);
			json_number(j, "backtrace_id", answer_stack(v->model, s->stack));
			write_weight(j, &s->weight);
			json_number(j, "stacks", s->stacks);
			if (o->backtraces)
				answer_backtrace(&names, j, "backtrace", s->stack, s->call);
			sink_turn(out);
		}
	}
	json_end_object(j);
	if (o->backtraces)
		snapshot_answer_release(&names);
}

static void write_modules(struct json *j, const struct snapshot *s)
{
	static const char *const levels[] = {
		[SYMBOLS_NONE] = "none",
		[SYMBOLS_EXPORTED] = "exported",
		[SYMBOLS_NAMES] = "functions",
		[SYMBOLS_LINES] = "lines",
	};
	const struct tables *t = &s->model->tables;
	auto_free uint64_t *used = xcalloc(t->module_count + 1, sizeof(*used));

	for (uint32_t i = 1; i < locations_count(s->locations); i++) {
		const struct location *p = locations_at(s->locations, i);

		if (p->module < t->module_count)
			used[p->module]++;
	}
	json_array(j, "modules");
	for (size_t i = 1; i < t->module_count; i++) {
		const char *path = locations_module_path(s->locations, (uint32_t)i);

		if (!t->modules[i].known)
			continue;
		json_object(j, NULL);
		json_text(j, "name", path_base(path));
		json_text(j, "path", path);
		json_text(j, "symbols", levels[locations_level(s->locations, (uint32_t)i)]);
		json_number(j, "places", used[i]);
		json_end_object(j);
	}
	json_end_array(j);
}

static void overview_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_overview *o = answer;

	write_program(j, a->snapshot);
	if (o->view->bits)
		write_filter(j, o->view);
	write_totals(j, o);
	sentences_memory_json(j, o->view->model, &o->memory);
	if (o->says) {
		sentences_json(j, o->view, &o->sentences);
		json_bool(j, "growth_judged", o->held != NULL);
	}
	if (o->verdicts)
		write_verdicts(j, o->view, o->verdicts);
	write_top(a, j, o, out);
	write_modules(j, a->snapshot);
	words_markers(j, o->view->model);
	snapshot_warnings(a->snapshot, j);
}

static void overview_drop(void *answer)
{
	struct answer_overview *o = answer;

	for (unsigned i = 0; i < STACK_ORDERS; i++)
		free(o->parts[i].rows);
	verdicts_release(&o->own[0]);
	verdicts_release(&o->own[1]);
	sentences_release(&o->sentences);
}

/* Verdicts look at every curve of what was kept: seconds where all else takes none. */
static const struct param_row params[] = {
	{ "verdicts", PARAM_BOOL, "true", "with verdicts on what was not freed" },
	{ "sentences", PARAM_CHOICE, "all",
	  "what is to be known first; quick: without growth, which takes longest",
	  .values = "all|quick|none" },
	{ "by", PARAM_CHOICE, "responsible", "what makes a row", .values = "responsible|stack",
	  .letter = 'b' },
	{ "top", PARAM_COUNT, "5", "rows of each kind", .letter = 'n' },
	{ "backtraces", PARAM_BOOL, "false",
	  "with every frame of the stack of each that weighs most" },
	{ 0 },
};

const struct question question_overview = {
	.name = "overview",
	.help = "the facts, the totals, and what is to be known first",
	.params = params,
	.filters = true,
	.is_long = overview_is_long,
	.prefetch = (const struct prefetch[]){ { 2, "sentences=quick&verdicts=false" },
					       { 20, "" },
					       { 0 } },
	.size = sizeof(struct answer_overview),
	.compute = overview_compute,
	.write_members = overview_json,
	.release = overview_drop,
};
