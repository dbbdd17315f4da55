/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A report as one HTML page that needs nothing else: what people attach to a bug.  See html.h. */
#include "export/html.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/series.h"
#include "query/verdict.h"

#define STACKS_SHOWN 50	 /* in each table */
#define FRAMES_INNER 150 /* of a stack that is longer than both */
#define FRAMES_OUTER 50
#define POINTS 800 /* of the series */

static const enum measure measures[] = { MEASURE_LEAKED, MEASURE_PEAK, MEASURE_ALLOCATED,
					 MEASURE_TEMPORARY };
#define MEASURES (sizeof(measures) / sizeof(measures[0]))

/* Tables beside that of the leaks. */
static const struct {
	const char *name;
	enum stack_order order;
} tables[] = {
	{ "peak", BY_PEAK_BYTES },
	{ "allocations", BY_COUNT },
	{ "temporary", BY_TEMPORARY },
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* Of each frame function and line, the innermost first; null stands for those left out. */
static void put_stack(struct html *p, uint32_t stack, unsigned call)
{
	json_text(p->j, "call", locations_call(p->x->view->locations, call));
	stack_frames_of(&p->frames, p->x->view, stack);
	json_number(p->j, "deep", p->frames.count);
	JSON_EACH(p->j, "frames", i, p->frames.count) {
		const struct stack_frame *f = &p->frames.rows[i];

		if (p->frames.count > FRAMES_INNER + FRAMES_OUTER && i == FRAMES_INNER) {
			json_null(p->j, NULL);
			i = p->frames.count - FRAMES_OUTER - 1;
			continue;
		}
		json_number(p->j, NULL, page_function(&p->page, flame_function(&p->flame, f)));
		json_number(p->j, NULL, f->line);
	}
}

static void put_verdict(struct html *p, const struct verdict *v)
{
	buf_clear(&p->text);
	verdict_evidence(&p->text, v, model_runtime_ns(p->model));
	json_object(p->j, NULL);
	json_number(p->j, "bytes", v->leaked_bytes);
	json_number(p->j, "count", v->leaked_count);
	json_text(p->j, "verdict", verdict_rows[v->class].name);
	json_text(p->j, "meaning", verdict_rows[v->class].help);
	json_text(p->j, "evidence", p->text.data);
	json_bool(p->j, "matters", v->matters);
	json_real(p->j, "sure", v->confidence, 2);
	json_real(p->j, "rate", v->bytes_per_second, 1);
	json_number(p->j, "most", v->most_bytes);
	put_stack(p, v->stack, v->call);
	json_end_object(p->j);
}

/* The growing ones first: those are what a reader came for. */
static void put_leaks(struct html *p)
{
	auto_release(verdicts_release) struct verdicts all = { 0 };

	verdicts_init(&all, p->x->view, &(struct verdict_options){ .by_stack = true, .all = true });
	json_object(p->j, "leaks");
	json_number(p->j, "stacks", all.count);
	JSON_EACH(p->j, "rows", i, MIN(all.count, STACKS_SHOWN))
		put_verdict(p, &all.rows[i]);
	json_end_object(p->j);
}

static struct weight weight_of(const struct stack_sum *s, enum stack_order order)
{
	if (order == BY_PEAK_BYTES)
		return (struct weight){ s->peak_bytes, s->peak_count };
	if (order == BY_TEMPORARY)
		return (struct weight){ s->temporary_bytes, s->temporary };
	return (struct weight){ s->bytes, s->count };
}

static void put_table(struct html *p, struct stack_sums *sums, unsigned number)
{
	uint32_t shown = stack_sums_top(sums, tables[number].order, STACKS_SHOWN), stacks = 0;

	for (uint32_t i = 0; i < sums->count; i++)
		stacks += weight_of(&sums->rows[i], tables[number].order).count != 0;
	json_object(p->j, tables[number].name);
	json_number(p->j, "stacks", stacks);
	JSON_ROWS(p->j, "rows", i, shown) {
		struct weight w = weight_of(&sums->rows[i], tables[number].order);

		JSON_MEMBERS(p->j, &w, bytes, count);
		put_stack(p, sums->rows[i].stack, sums->rows[i].call);
	}
	json_end_object(p->j);
}

static void put_tables(struct html *p)
{
	struct stack_sums sums;

	json_object(p->j, "tables");
	put_leaks(p);
	if (p->x->view->bits)
		stats_sum_selected(p->model, p->x->view->bits, &sums);
	else
		stats_sum_stacks(p->model, &sums);
	for (unsigned i = 0; i < TABLES; i++)
		put_table(p, &sums, i);
	stack_sums_release(&sums);
	json_end_object(p->j);
}

static const struct {
	const char *key;
	size_t at;
} series_rows[] = {
	{ "bytes", offsetof(struct series_point, most_bytes) },
	{ "count", offsetof(struct series_point, most_count) },
	{ "leaked", offsetof(struct series_point, leaked_bytes) },
	{ "allocated", offsetof(struct series_point, allocated_count) },
	{ "freed", offsetof(struct series_point, freed_count) },
	{ "allocated_bytes", offsetof(struct series_point, allocated_bytes) },
	{ "freed_bytes", offsetof(struct series_point, freed_bytes) },
};

static void put_series(struct html *p)
{
	auto_release(series_release) struct series s = { 0 };
	uint64_t from, to;

	series_whole(p->model, &from, &to);
	series_init(&s, p->x->view, from, to > from ? to : from + 1, POINTS);
	json_object(p->j, "series");
	json_number(p->j, "from_ns", model_ns(p->model, s.from));
	json_number(p->j, "to_ns", model_ns(p->model, s.to));
	for (size_t r = 0; r < sizeof(series_rows) / sizeof(series_rows[0]); r++)
		JSON_EACH(p->j, series_rows[r].key, i, s.count)
			json_number(p->j, NULL,
				    *(uint64_t *)((char *)&s.points[i] + series_rows[r].at));
	json_end_object(p->j);
}

static void put_data(struct html *p)
{
	const char *names[MEASURES];

	for (unsigned i = 0; i < MEASURES; i++)
		names[i] = measure_rows[measures[i]].name;
	json_object(p->j, NULL);
	html_program(p);
	html_totals(p);
	html_warnings(p);
	export_progress(p->x, 1, 4);
	put_series(p);
	export_progress(p->x, 2, 4);
	page_tree(&p->page, names);
	put_tables(p);
	export_progress(p->x, 3, 4);
	page_names(&p->page);
	json_end_object(p->j);
}

static int write_html(const struct export *x, struct sink *out, struct err *err)
{
	struct html p = { .x = x, .model = x->view->model };
	struct measuring how[MEASURES];
	auto_buf struct buf data = { 0 };
	struct flame_names names;

	for (unsigned i = 0; i < MEASURES; i++)
		how[i] = measuring_of(p.model, measures[i], 0);
	flame_init(&p.flame, x->view, how, MEASURES);
	names = flame_names(&p.flame);
	page_init(&p.page, &p.flame.tree, &names, &data);
	p.j = &p.page.j;
	put_data(&p);
	page_write(out, x->title, &data);
	buf_release(&p.text);
	stack_frames_release(&p.frames);
	page_release(&p.page);
	flame_release(&p.flame);
	return out->error;
}

const struct exporter exporter_html = {
	.name = "html",
	.extension = "html",
	.mime = "text/html; charset=utf-8",
	.viewer = "any browser, without a network",
	.help = "a report as one page: summary, flame graphs, tables, memory over time",
	.write = write_html,
};
