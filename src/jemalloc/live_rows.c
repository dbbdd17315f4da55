/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows of a running process.  See live_rows.h. */
#include "jemalloc/live_rows.h"

#include "base/order.h"
#include "base/xalloc.h"

const char *const live_sorts[] = { "size", "growth", "free" };

static struct live_row *add_row(struct live_rows *e)
{
	*xpush(e->list, e->count, e->room) = (struct live_row){ 0 };
	return &e->list[e->count - 1];
}

static double sort_key(const struct live_row *e, enum live_sort sort)
{
	switch (sort) {
	case LIVE_BY_GROWTH:
		return e->growth ? e->growth->slope : 0;
	case LIVE_BY_FREE:
		return (double)e->free_bytes;
	default:
		return (double)e->bytes;
	}
}

ORDER_WITH(by_key, struct live_row, enum live_sort,
	   COMPARE(sort_key(y, *context), sort_key(x, *context)) ?: FALLING(bytes) ?: RISING(key))

static void sort_rows(struct live_rows *e, enum live_sort sort)
{
	SORT_WITH(e->list, e->count, by_key, &sort);
}

void live_rows_arenas(struct live_rows *e, const struct stats *s, const struct growth *growth,
		      enum live_sort sort)
{
	uint64_t page = stats_known(s->shape[STATS_SHAPE_PAGE]);

	for (size_t i = 0; i < s->arena_count; i++) {
		const struct stats_arena *a = &s->arenas[i];
		struct live_row *row;

		if (a->id < 0)
			continue;
		row = add_row(e);
		row->key = (uint64_t)a->id;
		row->bytes = stats_known(a->value[STATS_ARENA_TOTAL_ALLOCATED]);
		row->active = stats_known(a->value[STATS_ARENA_ACTIVE]);
		row->free_bytes = row->active > row->bytes ? row->active - row->bytes : 0;
		row->dirty = stats_known(a->value[STATS_ARENA_PDIRTY]) * page;
		row->count = stats_known(a->value[STATS_ARENA_NTHREADS]);
		row->growth = growth_find(growth, row->key);
	}
	sort_rows(e, sort);
}

void live_rows_classes(struct live_rows *e, const struct stats_arena *whole,
		       const struct growth *growth, enum live_sort sort)
{
	for (size_t i = 0; i < whole->bins.count; i++) {
		const uint64_t *b = stats_row(&whole->bins, i);
		uint64_t regions =
			stats_known(b[STATS_BIN_NREGS]) * stats_known(b[STATS_BIN_CURSLABS]);
		struct live_row *row;

		if (!stats_known(b[STATS_BIN_CURSLABS]) || b[STATS_BIN_SIZE] >= STATS_NONE)
			continue;
		row = add_row(e);
		row->key = b[STATS_BIN_SIZE];
		row->bytes = stats_known(b[STATS_BIN_ALLOCATED]);
		row->count = stats_known(b[STATS_BIN_CURREGS]);
		row->active = regions * row->key;
		row->free_bytes = regions > row->count ? (regions - row->count) * row->key : 0;
		row->growth = growth_find(growth, row->key);
	}
	for (size_t i = 0; i < whole->large.count; i++) {
		const uint64_t *l = stats_row(&whole->large, i);
		struct live_row *row;

		if (!stats_known(l[STATS_LARGE_COUNT]) || l[STATS_LARGE_SIZE] >= STATS_NONE)
			continue;
		row = add_row(e);
		row->key = l[STATS_LARGE_SIZE];
		row->bytes = row->active = stats_known(l[STATS_LARGE_ALLOCATED]);
		row->count = stats_known(l[STATS_LARGE_COUNT]);
		row->growth = growth_find(growth, row->key);
	}
	sort_rows(e, sort);
}
