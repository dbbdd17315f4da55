/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How full addresses are over time.  See address_space.h. */
#include "query/address_space.h"

#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/allocator.h"
#include "query/residency.h"
#include "query/series.h"

#define GAP (32ull << 20) /* that separates two areas */
#define CELL_MIN 4096ull
#define AREAS_LOOSE (1u << 16)

struct drawing {
	const struct view *v;
	const struct address_space *space;
	double per_tick;
	bool glibc;
	int64_t **changes; /* by worker: bytes, by row and column */
};

static uint32_t column_of(const struct drawing *p, uint64_t stamp)
{
	double at = stamp > p->space->from ? (double)(stamp - p->space->from) * p->per_tick : 0;

	return at < p->space->columns - 1 ? (uint32_t)at : p->space->columns - 1;
}

/* The area that an address is in. */
static size_t area_at(const struct drawing *p, uint64_t address)
{
	size_t low = 0, high = p->space->areas.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		*(p->space->areas.rows[middle].start <= address ? &low : &high) = middle;
	}
	return low;
}

static void add_block(const struct drawing *p, int64_t *changes, const struct area *b,
		      uint32_t from, uint32_t to)
{
	size_t area = area_at(p, b->start);
	uint64_t base = p->space->areas.rows[area].start;

	for (uint64_t at = b->start; at < b->end;) {
		uint64_t cell = (at - base) / p->space->cell,
			 end = base + (cell + 1) * p->space->cell;
		size_t row = p->space->first_row[area] + cell;
		int64_t bytes;

		end = end < b->end ? end : b->end;
		bytes = (int64_t)(end - at);
		if (row >= p->space->rows)
			return;
		changes[row * p->space->columns + from] += bytes;
		if (to < p->space->columns)
			changes[row * p->space->columns + to] -= bytes;
		at = end;
	}
}

static void draw_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	const struct drawing *p = context;
	const struct columns *c = &p->v->model->allocations;

	VIEW_EACH(p->v, first, count, row)
	{
		uint32_t from = column_of(p, columns_allocated_at(c, row));
		uint32_t to = columns_freed_at(c, row) == NEVER
				      ? p->space->columns
				      : column_of(p, columns_freed_at(c, row));
		struct area b;

		if (from == to)
			continue;
		b = area_of_row(p->v->model, row, p->glibc);
		add_block(p, p->changes[worker], &b, from, to);
	}
}

/* Cells of one size for all areas, as small as the number of rows allows. */
static void choose_cells(struct address_space *p, uint32_t most)
{
	uint64_t rows = 0, gap = GAP;

	/* More areas than rows: the nearest become one. */
	while (p->areas.count > most && gap < 1ull << 60) {
		gap *= 4;
		areas_join(&p->areas, gap);
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

/* 0 is nothing, 255 all of a cell. */
static uint8_t share_of(uint64_t bytes, uint64_t cell)
{
	uint64_t share = bytes ? 1 + bytes * 254 / cell : 0;

	return (uint8_t)MIN(share, 255);
}

/* Bytes in use, by row and column. */
static int64_t *draw(struct drawing *p)
{
	unsigned workers = parallel_workers();
	size_t count = (size_t)p->space->rows * p->space->columns;
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
		if (i % p->space->columns)
			all[i] += all[i - 1];
	}
	for (unsigned i = 1; i < workers; i++)
		free(p->changes[i]);
	free(p->changes);
	return all;
}

/* The last sample that was over when a column ends; `samples` if there is none. */
static size_t sample_of(const struct address_space *s, const struct regions *seen, uint32_t column)
{
	uint64_t end = s->from + (uint64_t)((double)(s->to - s->from) * (column + 1) / s->columns);
	size_t next = FIRST_WHERE(i, seen->sample_count, seen->samples[i].ended > end);

	if (column + 1 == s->columns) /* the last one is taken when all is over */
		next = seen->sample_count;
	return next ? next - 1 : seen->sample_count;
}

typedef void see_column(struct address_space *s, const struct address_space_options *o,
			const struct seen_regions *seen, uint32_t column, bool changed);

/* Shows each column the regions as they were then. */
static void see_columns(struct address_space *s, const struct address_space_options *o,
			const struct regions *from, see_column *see)
{
	size_t last = from->sample_count;
	struct seen_regions seen;

	seen_regions_init(&seen, from);
	for (uint32_t column = 0; column < s->columns; column++) {
		size_t sample = sample_of(s, from, column);

		if (sample == from->sample_count)
			continue;
		if (sample != last)
			seen_regions_advance(&seen, sample);
		see(s, o, &seen, column, sample != last);
		last = sample;
	}
	seen_regions_release(&seen);
}

static void add_resident_areas(struct address_space *s, const struct address_space_options *o,
			       const struct seen_regions *seen, uint32_t column, bool changed)
{
	for (size_t i = 0; i < seen->count && changed; i++) {
		const struct seen_region *r = &seen->list[i];
		uint64_t start = MAX(r->start, o->low), end = MIN(r->end, o->high);

		if (r->usage.rss && start < end && !(r->found->flags & MAP_IS_OWN))
			areas_add(&s->areas, start, end);
	}
	/* A program that maps and unmaps for hours has as many areas as there were at once. */
	if (changed && s->areas.count > AREAS_LOOSE)
		areas_join(&s->areas, GAP);
}

static void draw_resident(struct address_space *s, const struct address_space_options *o,
			  const struct seen_regions *seen, uint32_t column, bool changed)
{
	auto_release(residency_release) struct residency now = { 0 };

	if (changed)
		residency_init(&now, seen);
	for (size_t i = 0; i < s->areas.count; i++) {
		const struct area *a = &s->areas.rows[i];

		for (uint32_t row = s->first_row[i]; row < s->first_row[i + 1]; row++) {
			uint64_t start = a->start + (row - s->first_row[i]) * s->cell;
			uint8_t *cell = &s->resident[(size_t)row * s->columns + column];

			if (changed)
				*cell = share_of(
					residency_in(&now, start, MIN(start + s->cell, a->end)),
					s->cell);
			else
				*cell = cell[-1];
		}
	}
}

void address_space_init(struct address_space *s, const struct view *v,
			const struct address_space_options *o)
{
	const struct regions *seen = &v->model->tables.regions;
	bool resident = o->resident && seen->sample_count;
	struct drawing p = { .v = v, .space = s, .glibc = allocator_is_glibc(v->model) };
	auto_free int64_t *bytes = NULL;
	size_t count;

	*s = (struct address_space){ .columns = MAX(o->columns, 1) };
	series_whole(v->model, &s->from, &s->to);
	p.per_tick = s->to > s->from ? (double)s->columns / (double)(s->to - s->from) : 0;
	areas_coarse(&s->areas, v, GAP);
	if (resident) {
		see_columns(s, o, seen, add_resident_areas);
		areas_join(&s->areas, GAP);
	}
	choose_cells(s, MAX(o->rows, 1));
	bytes = draw(&p);
	count = (size_t)s->rows * s->columns;
	s->cells = xmalloc(count + 1);
	for (size_t i = 0; i < count; i++)
		s->cells[i] = share_of(bytes[i] > 0 ? (uint64_t)bytes[i] : 0, s->cell);
	if (resident) {
		s->resident = xcalloc(count + 1, 1);
		see_columns(s, o, seen, draw_resident);
	}
}

void address_space_release(struct address_space *s)
{
	areas_release(&s->areas);
	free(s->first_row);
	free(s->cells);
	free(s->resident);
	*s = (struct address_space){ 0 };
}

/* The stretch of glibc's main arena: from its first block's header to the last one's end. */
struct area address_space_main_heap(const struct view *v)
{
	const struct columns *c = &v->model->allocations;
	struct area all = { UINT64_MAX, 0 };

	if (!allocator_is_glibc(v->model))
		return (struct area){ 0, 0 };
	VIEW_EACH(v, 0, c->count, row)
	{
		struct area b;

		if (tags_flags(columns_tags(c, row)) & (TAG_MMAPPED | TAG_NON_MAIN_ARENA))
			continue;
		b = area_of_row(v->model, row, true);
		all.start = b.start < all.start ? b.start : all.start;
		all.end = b.end > all.end ? b.end : all.end;
	}
	return all.end ? all : (struct area){ 0, 0 };
}
