/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question leaks: is it a leak?  Verdicts on what was not freed. */
#include "answer/leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "answer/words.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/responsible.h"

#define SPARKS_MAX 1000	  /* verdicts with curves */
#define FILTER_STACKS 200 /* that a filter names */

static void filter_stacks(struct buf *out, const struct verdict *of)
{
	if (of->stacks > FILTER_STACKS)
		return;
	buf_text(out, "backtrace = ");
	for (uint32_t i = 0; i < of->stacks; i++)
		buf_printf(out, "%s%u", i ? "," : "", of->stack_list[i]);
}

/* What chooses a verdict's blocks that were not freed, as a filter; nothing where that is more than
 * a filter should name. */
static void leaks_filter(struct buf *out, const struct view *v, const struct verdict *of)
{
	const struct responsible *r = responsible_of_view(v);
	struct responsible_frame f;
	uint32_t name = 0;

	if (of->whole && of->stacks > 1 && responsible_find(r, of->stack, &f))
		name = responsible_unit_function(r, responsible_unit(r, &f));
	if (!name) {
		filter_stacks(out, of);
		return;
	}
	words_responsible(out, locations_string(v->locations, name));
}

void leaks_verdict(struct json *j, const struct view *v, const struct verdict *of)
{
	auto_buf struct buf filter = { 0 };

	verdict_json(j, of, model_runtime_ns(v->model));
	leaks_filter(&filter, v, of);
	if (filter.size)
		json_text(j, "filter", filter.data);
	json_number(j, "backtrace_id", of->stack);
}

struct leaks_sum leaks_sum(const struct verdicts *all)
{
	struct leaks_sum ret = { 0 };

	for (uint32_t i = 0; i < all->count; i++) {
		const struct verdict *v = &all->rows[i];

		if (!v->matters && v->class != VERDICT_POOL)
			continue;
		ret.bytes[v->class] += verdict_bytes(v);
		ret.functions[v->class]++;
	}
	return ret;
}

void leaks_write_sums(struct json *j, const struct verdicts *all)
{
	struct leaks_sum sum = leaks_sum(all);

	json_object(j, "verdict_counts");
	for (unsigned i = 0; i < VERDICTS; i++)
		json_number(j, verdict_rows[i].name, sum.functions[i]);
	json_end_object(j);
	json_object(j, "verdict_bytes");
	for (unsigned i = 0; i < VERDICTS; i++)
		json_number(j, verdict_rows[i].name, sum.bytes[i]);
	json_end_object(j);
	json_object(j, "small");
	JSON_MEMBERS(j, &all->small, functions, stacks, bytes, count, late_bytes, grows);
	json_end_object(j);
	json_object(j, "held");
	json_number(j, "bytes", all->held_bytes);
	json_number(j, "count", all->held_count);
	json_bool(j, "matters", all->held_matters);
	json_end_object(j);
}

/* The verdicts that are wanted, and of them those of the page. */
static void find_page(struct answer_leaks *ret)
{
	const struct verdicts *all = ret->all;

	ret->page = xcalloc((size_t)all->count + 1, sizeof(*ret->page));
	for (uint32_t i = 0; i < all->count; i++) {
		if (ret->class != VERDICTS && all->rows[i].class != ret->class)
			continue;
		if (ret->rows++ >= ret->skip && ret->page_count < ret->count)
			ret->page[ret->page_count++] = i;
	}
}

static void draw_sparks(struct answer_leaks *ret, uint32_t points)
{
	uint32_t nodes = ret->view->model->tables.nodes.count + 1;

	ret->curve_of = xmalloc(nodes * sizeof(*ret->curve_of));
	memset(ret->curve_of, 0xff, nodes * sizeof(*ret->curve_of));
	for (uint32_t i = 0; i < ret->page_count; i++) {
		const struct verdict *v = &ret->all->rows[ret->page[i]];

		for (uint32_t k = 0; k < v->stacks; k++)
			ret->curve_of[v->stack_list[k]] = i;
	}
	ret->sparks = (struct sparks){ .view = ret->view,
				       .curve_of = ret->curve_of,
				       .curves = ret->page_count,
				       .points = points };
	sparks_draw(&ret->sparks);
}

static int leaks_compute(struct ask *a, void *answer)
{
	struct answer_leaks *ret = answer;
	uint32_t points = ask_count(a, "spark");
	struct verdict_options o = { .held = ask_bool(a, "held"), .all = ask_bool(a, "all") };
	const char *names[VERDICTS];

	for (unsigned i = 0; i < VERDICTS; i++)
		names[i] = verdict_rows[i].name;
	ret->class = ask_choice(a, "class", names, VERDICTS);
	ret->skip = ask_count(a, "skip");
	ret->count = ask_count(a, "count");
	ret->held = o.held;
	ret->everything = o.all;
	ret->by_stack = o.by_stack = !strcmp(ask_text(a, "by"), "stack");
	if (points && ret->count > SPARKS_MAX)
		return ask_fail(a, 400, "spark", "with count=%u at most", SPARKS_MAX);
	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	if (ret->view->bits || ret->view->responsible || o.all || o.by_stack) {
		verdicts_init(&ret->own, ret->view, &o);
		ret->all = &ret->own;
	} else {
		ret->all = snapshot_verdicts(a->snapshot, o.held);
	}
	find_page(ret);
	if (points)
		draw_sparks(ret, points);
	return 0;
}

static void write_spark(const struct answer_leaks *l, struct json *j, uint32_t curve)
{
	const struct sparks *s = &l->sparks;

	JSON_EACH(j, "spark", i, s->points)
		json_signed(j, NULL, s->values[(size_t)curve * s->points + i]);
}

static void leaks_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_leaks *l = answer;
	const struct view *v = l->view;
	auto_release(snapshot_answer_release) struct answer written = { 0 };

	snapshot_answer(a->snapshot, &written, v);
	json_number(j, "work_end_ns", l->all->end_ns);
	leaks_write_sums(j, l->all);
	JSON_ROWS_WHILE(j, "verdicts", i, i < l->page_count && !sink_turn(out)) {
		const struct verdict *row = &l->all->rows[l->page[i]];

		leaks_verdict(j, v, row);
		words_where(j, v, row->stack);
		answer_backtrace(&written, j, "backtrace", row->stack, row->call);
		if (l->sparks.points)
			write_spark(l, j, i);
	}
	json_number(j, "total_count", l->rows);
}

static void leaks_drop(void *answer)
{
	struct answer_leaks *l = answer;

	verdicts_release(&l->own);
	free(l->page);
	sparks_release(&l->sparks);
	free(l->curve_of);
}

static const struct param_row params[] = {
	{ "class", PARAM_CHOICE, NULL, "only these",
	  .values = "growing|unclear|bounded|sawtooth|start-up|pool", .letter = 'c' },
	{ "by", PARAM_CHOICE, "responsible", "what makes a row", .values = "responsible|stack",
	  .letter = 'b' },
	{ "all", PARAM_BOOL, "false", "with those too small to matter beside the peak",
	  .letter = 'a' },
	{ "held", PARAM_BOOL, "false", "with those whose blocks were all freed at exit" },
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },
	{ "count", PARAM_COUNT, "100", "rows at most", .option = "top", .letter = 'n' },
	{ "spark", PARAM_COUNT, "0", "figures of each row's bytes alive over the run",
	  .max = SPARK_MAX },
	{ 0 },
};

const struct question question_leaks = {
	.name = "leaks",
	.help = "verdicts on what was not freed",
	.params = params,
	.filters = true,
	.prefetch = (const struct prefetch[]){ { 21, "spark=80&skip=0&count=60" }, { 0 } },
	.size = sizeof(struct answer_leaks),
	.compute = leaks_compute,
	.write_members = leaks_json,
	.release = leaks_drop,
};
