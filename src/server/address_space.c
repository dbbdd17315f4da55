/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/address_space, /regions: how full addresses are over time, and which ranges hold
 * blocks. */
#include <stdlib.h>
#include <string.h>

#include "answer/words.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/allocator.h"
#include "query/series.h"
#include "server/areas.h"
#include "server/request.h"

#define GAP (32ull << 20) /* that separates two areas */
#define COLUMNS_MOST 1000
#define ROWS_MOST 2000
#define CELL_MIN 4096ull

/* The picture: cells of addresses by steps of time. */
struct map_picture {
	const struct view *v;
	struct areas areas;
	uint32_t *first_row; /* of each area */
	uint32_t rows, columns;
	uint64_t cell; /* bytes */
	uint64_t from, to;
	double per_tick;
	bool glibc;
	int64_t **changes; /* by worker: bytes, by row and column */
};

static uint32_t column_of(const struct map_picture *p, uint64_t stamp)
{
	double at = stamp > p->from ? (double)(stamp - p->from) * p->per_tick : 0;

	return at < p->columns - 1 ? (uint32_t)at : p->columns - 1;
}

/* The area that an address is in. */
static size_t area_at(const struct map_picture *p, uint64_t address)
{
	size_t low = 0, high = p->areas.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		*(p->areas.rows[middle].start <= address ? &low : &high) = middle;
	}
	return low;
}

static void add_block(const struct map_picture *p, int64_t *changes, const struct area *b,
		      uint32_t from, uint32_t to)
{
	size_t area = area_at(p, b->start);
	uint64_t base = p->areas.rows[area].start;

	for (uint64_t at = b->start; at < b->end;) {
		uint64_t cell = (at - base) / p->cell, end = base + (cell + 1) * p->cell;
		size_t row = p->first_row[area] + cell;
		int64_t bytes;

		end = end < b->end ? end : b->end;
		bytes = (int64_t)(end - at);
		if (row >= p->rows)
			return;
		changes[row * p->columns + from] += bytes;
		if (to < p->columns)
			changes[row * p->columns + to] -= bytes;
		at = end;
	}
}

static void draw_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	const struct map_picture *p = context;
	const struct columns *c = &p->v->model->allocations;

	VIEW_EACH(p->v, first, count, row)
	{
		uint32_t from = column_of(p, c->allocated_at[row]);
		uint32_t to =
			c->freed_at[row] == NEVER ? p->columns : column_of(p, c->freed_at[row]);
		struct area b;

		if (from == to)
			continue;
		b = area_of_row(p->v->model, row, p->glibc);
		add_block(p, p->changes[worker], &b, from, to);
	}
}

/* Cells of one size for all areas, as small as the number of rows allows. */
static void choose_cells(struct map_picture *p, uint32_t most)
{
	uint64_t rows = 0, gap = GAP;

	/* More areas than rows: the nearest become one. */
	while (p->areas.count > most && gap < 1ull << 60) {
		gap *= 4;
		areas_release(&p->areas);
		areas_coarse(&p->areas, p->v, gap);
	}
	for (p->cell = CELL_MIN;; p->cell *= 2) {
		rows = 0;
		for (size_t i = 0; i < p->areas.count; i++)
			rows += (p->areas.rows[i].end - p->areas.rows[i].start + p->cell - 1) /
				p->cell;
		if (rows <= most)
			break;
	}
	p->rows = (uint32_t)rows;
	p->first_row = xcalloc(p->areas.count + 1, sizeof(*p->first_row));
	for (size_t i = 0; i < p->areas.count; i++)
		p->first_row[i + 1] =
			p->first_row[i] +
			(uint32_t)((p->areas.rows[i].end - p->areas.rows[i].start + p->cell - 1) /
				   p->cell);
}

static int64_t *draw(struct map_picture *p)
{
	unsigned workers = parallel_workers();
	size_t count = (size_t)p->rows * p->columns;
	int64_t *all;

	p->changes = xcalloc(workers, sizeof(*p->changes));
	for (unsigned i = 0; i < workers; i++)
		p->changes[i] = xcalloc(count + 1, sizeof(**p->changes));
	if (count)
		parallel_for(p->v->model->allocations.count, VIEW_BLOCK, draw_block, p);
	all = p->changes[0];
	for (size_t i = 0; i < count; i++) {
		for (unsigned w = 1; w < workers; w++)
			all[i] += p->changes[w][i];
		if (i % p->columns)
			all[i] += all[i - 1];
	}
	for (unsigned i = 1; i < workers; i++)
		free(p->changes[i]);
	free(p->changes);
	return all;
}

static void write_area(struct json *j, const struct map_picture *p, size_t i, const int64_t *cells)
{
	const struct area *a = &p->areas.rows[i];
	uint32_t first = p->first_row[i], rows = p->first_row[i + 1] - first;

	json_object(j, NULL);
	json_number(j, "start", a->start);
	json_number(j, "end", a->end);
	words_address(j, "start_s", a->start);
	words_address(j, "end_s", a->end);
	json_number(j, "cell_bytes", p->cell);
	json_number(j, "rows", rows);
	json_array(j, "cells");
	for (size_t k = (size_t)first * p->columns; k < (size_t)(first + rows) * p->columns; k++) {
		int64_t share = cells[k] <= 0 ? 0 : 1 + cells[k] * 254 / (int64_t)p->cell;

		json_number(j, NULL, share > 255 ? 255 : (uint64_t)share);
	}
	json_end_array(j);
	json_end_object(j);
}

static int answer(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	struct map_picture p = { .v = ask_view(&r->ask), .columns = ask_count(&r->ask, "columns") };
	int64_t *cells;
	struct json j;

	if (!p.v)
		return -1;
	p.columns = p.columns ? p.columns : 1;
	p.glibc = allocator_is_glibc(m);
	series_whole(m, &p.from, &p.to);
	p.per_tick = p.to > p.from ? (double)p.columns / (double)(p.to - p.from) : 0;
	areas_coarse(&p.areas, p.v, GAP);
	choose_cells(&p, ask_count(&r->ask, "rows") ? ask_count(&r->ask, "rows") : 1);
	cells = draw(&p);
	request_json(&j, out);
	json_object(&j, NULL);
	json_number(&j, "from_ns", model_ns(m, p.from));
	json_number(&j, "to_ns", model_ns(m, p.to));
	json_array(&j, "xs_ns");
	for (uint32_t i = 0; i <= p.columns; i++)
		json_number(
			&j, NULL,
			model_ns(m, p.from + (uint64_t)((double)(p.to - p.from) * i / p.columns)));
	json_end_array(&j);
	json_number(&j, "columns", p.columns);
	json_number(&j, "rows", p.rows);
	json_array(&j, "areas");
	for (size_t i = 0; i < p.areas.count; i++) {
		write_area(&j, &p, i, cells);
		sink_turn(out);
	}
	json_end_array(&j);
	json_end_object(&j);
	areas_release(&p.areas);
	free(p.first_row);
	free(cells);
	return 0;
}

/* The stretch of glibc's main arena: from its first block's header to the last one's end. */
static struct area main_heap(const struct view *v)
{
	const struct columns *c = &v->model->allocations;
	struct area all = { UINT64_MAX, 0 };

	if (!allocator_is_glibc(v->model))
		return (struct area){ 0, 0 };
	VIEW_EACH(v, 0, c->count, row)
	{
		struct area b;

		if (tags_flags(c->tags[row]) & (TAG_MMAPPED | TAG_NON_MAIN_ARENA))
			continue;
		b = area_of_row(v->model, row, true);
		all.start = b.start < all.start ? b.start : all.start;
		all.end = b.end > all.end ? b.end : all.end;
	}
	return all.end ? all : (struct area){ 0, 0 };
}

static int answer_regions(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	const struct view *v = ask_view(&r->ask);
	struct areas areas;
	struct area heap;
	struct json j;
	uint64_t ns;
	int error = 0;

	if (!v)
		return -1;
	heap = main_heap(v);
	areas_exact(&areas, v, ask_time(&r->ask, "at", m, &ns) ? measure_stamp(m, ns) : NEVER);
	request_json(&j, out);
	json_object(&j, NULL);
	json_number(&j, "main_heap_start", heap.start);
	json_number(&j, "main_heap_end", heap.end);
	words_address(&j, "main_heap_start_s", heap.start);
	words_address(&j, "main_heap_end_s", heap.end);
	json_number(&j, "total_count", areas.count);
	json_array(&j, "regions");
	for (size_t i = 0; i < areas.count && !error; i++) {
		json_array(&j, NULL);
		json_number(&j, NULL, areas.rows[i].start);
		json_number(&j, NULL, areas.rows[i].end);
		json_end_array(&j);
		error = sink_turn(out);
	}
	json_end_array(&j);
	json_end_object(&j);
	areas_release(&areas);
	return error;
}

static const struct param_row params[] = {
	{ "columns", PARAM_COUNT, "200", "steps of time", .max = COLUMNS_MOST },
	{ "rows", PARAM_COUNT, "256", "cells of addresses in all areas", .max = ROWS_MOST },
	{ 0 },
};

static const struct param_row regions_params[] = {
	{ "at", PARAM_TIME, NULL, "only what was alive then" },
	{ 0 },
};

const struct route routes_address_space[] = {
	{ "/data/{id}/address_space", METHOD_GET, "how full addresses are over time",
	  .params = params, .filters = true, .answer = answer },
	{ "/data/{id}/regions", METHOD_GET, "address ranges that hold blocks",
	  .params = regions_params, .filters = true, .way = ROUTE_STREAM,
	  .answer = answer_regions },
	{ 0 },
};
