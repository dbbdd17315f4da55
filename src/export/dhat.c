/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DHAT's JSON, version 2: what each stack allocated, and how long it lived.
 *
 * Of each stack: in all; when it had most bytes itself (mb); when the whole program had (gb); at
 * the end (eb).  Times are in microseconds.  What was read and written is not known (bkacc).  The
 * frames' table follows the stacks, when all frames are known.
 *
 * A reader refuses two stacks of the same frames, and knows a frame by its position in the table.
 * Two stacks may well read the same (a signal's and a call's way to one instruction), so the second
 * has an innermost frame of its own there. */
#include <inttypes.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/json.h"
#include "base/map.h"
#include "base/parallel.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "model/stats.h"
#include "query/clock.h"
#include "query/peaks.h"
#include "query/stacks.h"
#include "query/weigh.h"

#define SHORT_LIVED_US 500 /* what a viewer calls so */
#define FRAMES_BEFORE 1	   /* "[root]" is the first of the table */

struct dhat {
	const struct export *x;
	struct sink *out;
	struct json j;
	const struct stack_peak *peaks; /* by node, as the next three */
	struct weight *at_peak, *leaked;
	double *lifetimes;     /* ticks */
	uint32_t *first_frame; /* by location: position of its first frame in the table; 0: not
				  there */
	uint32_t *locations;   /* that are in the table, in its order */
	size_t location_count, location_room;
	uint32_t frame_count;
	uint32_t *reads_as; /* by node: equal for those that read the same; 0: not known */
	uint8_t *written;   /* by that */
};

struct living {
	const struct view *v;
	uint64_t end;
	uint32_t node_count;
	double **sums; /* by worker */
};

static void live(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct living *l = context;
	const struct columns *c = &l->v->model->allocations;
	const struct nodes *nodes = &l->v->model->tables.nodes;
	double *sums = l->sums[worker];

	if (!sums)
		sums = l->sums[worker] = xcalloc(l->node_count, sizeof(*sums));
	VIEW_EACH(l->v, first, count, row)
	{
		uint64_t end =
			columns_freed_at(c, row) == NEVER ? l->end : columns_freed_at(c, row);
		uint32_t stack =
			node_is_known(nodes, columns_stack(c, row)) ? columns_stack(c, row) : 0;

		if (end > columns_allocated_at(c, row))
			sums[stack] += (double)(end - columns_allocated_at(c, row));
	}
}

/* How long all blocks of each stack lived together: whole ticks, which a double holds to 2^53. */
static double *sum_lifetimes(const struct view *v)
{
	struct living l = {
		.v = v,
		.end = model_clock(v->model).end,
		.node_count = v->model->tables.nodes.count + 1,
		.sums = xcalloc(parallel_workers(), sizeof(*l.sums)),
	};
	double *all = xcalloc(l.node_count, sizeof(*all));

	parallel_for(v->model->allocations.count, VIEW_BLOCK, live, &l);
	for (unsigned w = 0; w < parallel_workers(); w++) {
		for (uint32_t i = 0; l.sums[w] && i < l.node_count; i++)
			all[i] += l.sums[w][i];
		free(l.sums[w]);
	}
	free(l.sums);
	return all;
}

static struct weight *weigh(const struct view *v, enum measure measure)
{
	struct weight *by_node = xcalloc(v->model->tables.nodes.count + 1, sizeof(*by_node));
	struct measuring how = measuring_of(v->model, measure, 0);
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };

	weigh_stacks(&weights, v, &how, false);
	for (uint32_t i = 0; i < weights.count; i++)
		by_node[weights.rows[i].stack] = weights.rows[i].weight;
	return by_node;
}

/* Parents come before their children. */
static void compare_stacks(struct dhat *d)
{
	const struct view *v = d->x->view;
	const struct nodes *n = &v->model->tables.nodes;
	auto_release(map_release) struct map known = { 0 };

	d->reads_as = xcalloc(n->count + 1, sizeof(*d->reads_as));
	d->written = xcalloc(n->count + 1, 1);
	for (uint32_t id = 1; id < n->count; id++) {
		uint64_t key, same;

		if (!node_is_known(n, id))
			continue;
		key = (uint64_t)d->reads_as[n->parent[id]] << 32 |
		      locations_of_node(v->locations, id);
		if (!map_get(&known, key, &same))
			map_set(&known, key, same = known.count + 1);
		d->reads_as[id] = (uint32_t)same;
	}
}

static uint32_t add_location(struct dhat *d, uint32_t location, unsigned count)
{
	uint32_t first = d->frame_count;

	d->frame_count += count;
	*xpush(d->locations, d->location_count, d->location_room) = location;
	return first;
}

static void put_frames_of(struct dhat *d, uint32_t stack)
{
	const struct view *v = d->x->view;
	const struct nodes *n = &v->model->tables.nodes;
	bool again = d->written[d->reads_as[stack]];

	d->written[d->reads_as[stack]] = 1;

	json_array(&d->j, "fs");
	if (!stack) /* what has none is the row after "[root]" */
		json_number(&d->j, NULL, FRAMES_BEFORE);
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);
		unsigned count;
		uint32_t first;

		locations_frames(v->locations, location, &count);
		if (again)
			first = add_location(d, location, count);
		else if (!d->first_frame[location])
			first = d->first_frame[location] = add_location(d, location, count);
		else
			first = d->first_frame[location];
		again = false;
		for (unsigned i = 0; i < count; i++)
			json_number(&d->j, NULL, first + i);
	}
	json_end_array(&d->j);
}

static uint64_t microseconds(double ticks, const struct model_clock *clock)
{
	return (uint64_t)(ticks * clock->ns_per_tick / 1000);
}

static void put_points(struct dhat *d, const struct model_clock *clock)
{
	const struct view *v = d->x->view;
	struct measuring all = measuring_of(v->model, MEASURE_ALLOCATED, 0);
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };

	weigh_stacks(&weights, v, &all, false);
	JSON_ROWS_WHILE(&d->j, "pps", i, i < weights.count && !sink_turn(d->out)) {
		const struct stack_weight *w = &weights.rows[i];

		json_number(&d->j, "tb", w->weight.bytes);
		json_number(&d->j, "tbk", w->weight.count);
		json_number(&d->j, "tl", microseconds(d->lifetimes[w->stack], clock));
		json_number(&d->j, "mb", d->peaks[w->stack].bytes);
		json_number(&d->j, "mbk", d->peaks[w->stack].count);
		json_number(&d->j, "gb", d->at_peak[w->stack].bytes);
		json_number(&d->j, "gbk", d->at_peak[w->stack].count);
		json_number(&d->j, "eb", d->leaked[w->stack].bytes);
		json_number(&d->j, "ebk", d->leaked[w->stack].count);
		put_frames_of(d, w->stack);
		export_progress(d->x, i, weights.count);
	}
}

static void put_table(struct dhat *d)
{
	const struct view *v = d->x->view;
	auto_buf struct buf label = { 0 };

	json_array(&d->j, "ftbl");
	json_text(&d->j, NULL, "[root]");
	json_text(&d->j, NULL, "0x0: (no stack)");
	for (size_t i = 0; i < d->location_count && !sink_turn(d->out); i++) {
		const struct location *location = locations_at(v->locations, d->locations[i]);
		unsigned count;
		const struct location_frame *frames =
			locations_frames(v->locations, d->locations[i], &count);

		for (unsigned k = 0; k < count; k++) {
			struct stack_frame f = {
				.function = frames[k].function,
				.file = frames[k].file,
				.line = frames[k].line,
				.module = location->module,
				.address = location->address,
			};

			buf_clear(&label);
			stack_frame_label(v, &f, &label);
			json_text(&d->j, NULL, label.data);
		}
	}
	json_end_array(&d->j);
}

static void put_head(struct dhat *d, const struct model_clock *clock)
{
	const struct model *m = d->x->view->model;
	auto_buf struct buf command = { 0 };

	export_command(d->x, &command);
	json_number(&d->j, "dhatFileVersion", 2);
	json_text(&d->j, "mode", "heap");
	json_text(&d->j, "verb", "Allocated");
	json_bool(&d->j, "bklt", true);
	json_bool(&d->j, "bkacc", false);
	json_text(&d->j, "tu", "µs");
	json_text(&d->j, "Mtu", "s");
	json_number(&d->j, "tuth", SHORT_LIVED_US);
	json_text(&d->j, "cmd", command.data);
	json_number(&d->j, "pid", model_info_number(m, "pid", 0));
	json_number(&d->j, "te", clock_ns(clock, clock->end) / 1000);
	json_number(&d->j, "tg", clock_ns(clock, m->totals.peak_at) / 1000);
}

static int write_dhat(const struct export *x, struct sink *out, struct err *err)
{
	const struct view *v = x->view;
	struct model_clock clock = model_clock(v->model);
	auto_free struct stack_peak *own = v->bits ? peaks_of_view(v) : NULL;
	struct dhat d = {
		.x = x,
		.out = out,
		.j = { .out = &out->buf, .compact = true },
		.peaks = own ? own : model_peaks(v->model),
		.at_peak = weigh(v, MEASURE_PEAK),
		.leaked = weigh(v, MEASURE_LEAKED),
		.lifetimes = sum_lifetimes(v),
		.first_frame = xcalloc(locations_count(v->locations) + 1, sizeof(*d.first_frame)),
		.frame_count = FRAMES_BEFORE + 1,
	};

	compare_stacks(&d);
	json_object(&d.j, NULL);
	put_head(&d, &clock);
	put_points(&d, &clock);
	put_table(&d);
	json_end_object(&d.j);
	free(d.at_peak);
	free(d.leaked);
	free(d.lifetimes);
	free(d.first_frame);
	free(d.locations);
	free(d.reads_as);
	free(d.written);
	return out->error;
}

const struct exporter exporter_dhat = {
	.name = "dhat",
	.extension = "dhat.json",
	.mime = "application/json",
	.viewer = "dh_view.html (Valgrind), Firefox Profiler",
	.help = "sizes and lifetimes of each stack: at its own peak, at the program's, at the end",
	.write = write_dhat,
};
