/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fragmentation at one moment.  See fragmentation.h; over time: fragmentation_series.c.
 *
 * A block fills the regions inside it whole and touches at most two more, at its ends.  So there
 * are at most two pieces a block and level; sorted by region they say who is in each. */
#include "query/fragmentation.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"

const struct level_row level_rows[LEVELS] = {
	[LEVEL_PAGE] = { 12, "4 KiB" },
	[LEVEL_64K] = { 16, "64 KiB" },
	[LEVEL_2M] = { 21, "2 MiB" },
};

#define OUTSIDE UINT32_MAX /* the holder of what is not in the view */

struct piece {
	uint64_t region;
	uint32_t bytes, holder;
};

struct pieces {
	struct piece *rows;
	size_t count, room;
};

struct looking {
	struct fragmentation *f;
	struct pieces pieces[LEVELS];
	uint32_t *holder_of; /* by stack: plus one */
	size_t holder_room;
};

static uint32_t holder_of(struct looking *l, uint32_t stack)
{
	struct fragmentation *f = l->f;

	if (!l->holder_of[stack]) {
		*xpush(f->holders, f->holder_count, l->holder_room) =
			(struct holder){ .stack = stack };
		l->holder_of[stack] = f->holder_count;
	}
	return l->holder_of[stack] - 1;
}

static void add_piece(struct pieces *p, uint64_t region, uint64_t bytes, uint32_t holder)
{
	*xpush(p->rows, p->count, p->room) = (struct piece){ region, (uint32_t)bytes, holder };
}

static void add_full(struct occupancy *o, uint64_t regions, unsigned shift)
{
	o->regions += regions;
	o->live_bytes += regions << shift;
	o->bins[OCCUPANCY_BINS - 1].regions += regions;
	o->bins[OCCUPANCY_BINS - 1].live_bytes += regions << shift;
}

static void add_block(struct looking *l, uint64_t address, uint64_t usable, uint32_t holder)
{
	for (unsigned level = 0; level < LEVELS; level++) {
		unsigned shift = level_rows[level].shift;
		uint64_t size = 1ull << shift, end = address + usable;
		uint64_t first = address >> shift, last = (end - 1) >> shift;

		if (first == last) {
			add_piece(&l->pieces[level], first, usable, holder);
			continue;
		}
		add_piece(&l->pieces[level], first, size - (address & (size - 1)), holder);
		add_piece(&l->pieces[level], last, ((end - 1) & (size - 1)) + 1, holder);
		add_full(&l->f->levels[level], last - first - 1, shift);
	}
}

static void add_rows(struct looking *l, const struct view *v)
{
	const struct columns *c = &v->model->allocations;
	const struct nodes *nodes = &v->model->tables.nodes;
	struct fragmentation *f = l->f;

	for (uint32_t row = 0; row < c->count && columns_allocated_at(c, row) <= f->at; row++) {
		uint64_t size, slack;
		uint32_t holder = OUTSIDE;

		if (columns_freed_at(c, row) <= f->at)
			continue;
		size = columns_size(c, row);
		slack = columns_slack(c, row);
		if (view_has(v, row)) {
			unsigned class = size ? 64 - (unsigned)__builtin_clzll(size) : 0;
			struct holder *h;

			holder = holder_of(l, node_is_known(nodes, columns_stack(c, row))
						      ? columns_stack(c, row)
						      : 0);
			h = &f->holders[holder];
			h->weight.bytes += size;
			h->weight.count++;
			h->slack += slack;
			f->classes[class].weight.bytes += size;
			f->classes[class].weight.count++;
			f->classes[class].slack += slack;
			f->live.bytes += size;
			f->live.count++;
			f->slack += slack;
		}
		if (size + slack)
			add_block(l, columns_address(c, row), size + slack, holder);
	}
}

ORDER(by_region, struct piece, RISING(region) ?: RISING(holder))

static void look_at_region(struct fragmentation *f, unsigned level, const struct piece *p,
			   size_t count)
{
	struct occupancy *o = &f->levels[level];
	uint64_t size = 1ull << level_rows[level].shift, live = 0, empty;
	unsigned holders = 0, bin;

	for (size_t i = 0; i < count; i++) {
		live += p[i].bytes;
		holders += !i || p[i].holder != p[i - 1].holder;
	}
	/* Blocks that overlap are a recording's fault (a free that was lost). */
	live = live < size ? live : size;
	empty = size - live;
	bin = (unsigned)(live * OCCUPANCY_BINS / size);
	bin = bin < OCCUPANCY_BINS ? bin : OCCUPANCY_BINS - 1;
	o->regions++;
	o->live_bytes += live;
	o->empty_bytes += empty;
	o->nearly_empty += bin == 0;
	o->bins[bin].regions++;
	o->bins[bin].live_bytes += live;
	o->bins[bin].empty_bytes += empty;
	for (size_t i = 0; i < count; i++) {
		struct holder *h;

		if ((i && p[i].holder == p[i - 1].holder) || p[i].holder == OUTSIDE)
			continue;
		h = &f->holders[p[i].holder];
		if (holders > 1) {
			h->held[level].shared_bytes += empty / holders;
			continue;
		}
		h->held[level].regions++;
		h->held[level].pinned_bytes += empty;
	}
}

static void look_at_level(struct looking *l, unsigned level)
{
	struct pieces *p = &l->pieces[level];

	SORT(p->rows, p->count, by_region);
	for (size_t i = 0; i < p->count;) {
		size_t first = i;

		while (i < p->count && p->rows[i].region == p->rows[first].region)
			i++;
		look_at_region(l->f, level, &p->rows[first], i - first);
	}
	free(p->rows);
}

ORDER_WITH(by_pinned, struct holder, enum fragmentation_level,
	   FALLING(held[*context].pinned_bytes)
		   ?: FALLING(held[*context].shared_bytes)
		   ?: RISING(stack))

void fragmentation_sort(struct fragmentation *f, enum fragmentation_level level)
{
	SORT_WITH(f->holders, f->holder_count, by_pinned, &level);
}

void fragmentation_init(struct fragmentation *f, const struct view *v, uint64_t at)
{
	struct looking l = { .f = f };

	memset(f, 0, sizeof(*f));
	f->at = at;
	for (unsigned i = 0; i < SLACK_CLASSES; i++) {
		f->classes[i].from = i ? 1ull << (i - 1) : 0;
		f->classes[i].to = i < 64 ? 1ull << i : NEVER;
	}
	l.holder_of = xcalloc(v->model->tables.nodes.count + 1, sizeof(*l.holder_of));
	add_rows(&l, v);
	for (unsigned level = 0; level < LEVELS; level++)
		look_at_level(&l, level);
	free(l.holder_of);
	fragmentation_sort(f, LEVEL_PAGE);
}

void fragmentation_release(struct fragmentation *f)
{
	free(f->holders);
	memset(f, 0, sizeof(*f));
}
