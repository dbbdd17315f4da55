/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How full addresses are over time.  See address_space.h. */
#include "query/address_space.h"

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/allocator.h"
#include "query/series.h"

#define GAP (32ull << 20) /* that separates two areas */
#define CELL_MIN 4096ull

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
		uint32_t from = column_of(p, c->allocated_at[row]);
		uint32_t to = c->freed_at[row] == NEVER ? p->space->columns
							: column_of(p, c->freed_at[row]);
		struct area b;

		if (from == to)
			continue;
		b = area_of_row(p->v->model, row, p->glibc);
		add_block(p, p->changes[worker], &b, from, to);
	}
}

/* Cells of one size for all areas, as small as the number of rows allows. */
static void choose_cells(struct address_space *p, const struct view *v, uint32_t most)
{
	uint64_t rows = 0, gap = GAP;

	/* More areas than rows: the nearest become one. */
	while (p->areas.count > most && gap < 1ull << 60) {
		gap *= 4;
		areas_release(&p->areas);
		areas_coarse(&p->areas, v, gap);
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

void address_space_init(struct address_space *s, const struct view *v, uint32_t columns,
			uint32_t rows)
{
	struct drawing p = { .v = v, .space = s, .glibc = allocator_is_glibc(v->model) };
	auto_free int64_t *bytes = NULL;
	size_t count;

	*s = (struct address_space){ .columns = columns ? columns : 1 };
	series_whole(v->model, &s->from, &s->to);
	p.per_tick = s->to > s->from ? (double)s->columns / (double)(s->to - s->from) : 0;
	areas_coarse(&s->areas, v, GAP);
	choose_cells(s, v, rows ? rows : 1);
	bytes = draw(&p);
	count = (size_t)s->rows * s->columns;
	s->cells = xmalloc(count + 1);
	for (size_t i = 0; i < count; i++) {
		int64_t share = bytes[i] <= 0 ? 0 : 1 + bytes[i] * 254 / (int64_t)s->cell;

		s->cells[i] = (uint8_t)(share > 255 ? 255 : share);
	}
}

void address_space_release(struct address_space *s)
{
	areas_release(&s->areas);
	free(s->first_row);
	free(s->cells);
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

		if (tags_flags(c->tags[row]) & (TAG_MMAPPED | TAG_NON_MAIN_ARENA))
			continue;
		b = area_of_row(v->model, row, true);
		all.start = b.start < all.start ? b.start : all.start;
		all.end = b.end > all.end ? b.end : all.end;
	}
	return all.end ? all : (struct area){ 0, 0 };
}
