/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* An iterator over every event of a stretch of time, in order: each row is allocated, and most are
 * freed.
 *
 *	struct event_iterator t = event_iterator_between(m, from, to);
 *	while (event_iterator_next(&t))
 *		… t.row, t.at, t.is_free …
 *
 * At one stamp a free comes before an allocation, since a block is alive from the stamp of its
 * allocation to just before that of its free.  Any thread; an iterator is its caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

#define EVENT_ITERATOR_AHEAD 16 /* frees are all over the columns: asked for that much earlier */

struct event_iterator {
	const struct columns *c;
	const uint32_t *free_order;
	uint32_t start, start_to, freed, freed_to; /* what is left of both */
	uint64_t next_start, next_free;
	uint32_t row;
	uint64_t at;
	bool is_free;
};

static inline void event_iterator_peek(struct event_iterator *t)
{
	t->next_start = t->start < t->start_to ? columns_allocated_at(t->c, t->start) : NEVER;
	t->next_free =
		t->freed < t->freed_to ? columns_freed_at(t->c, t->free_order[t->freed]) : NEVER;
}

/* Events with from <= stamp < to; NEVER: to the last. */
static inline struct event_iterator event_iterator_between(const struct model *m, uint64_t from,
							   uint64_t to)
{
	const struct columns *c = &m->allocations;
	const struct free_order *e = model_free_order(m);
	struct event_iterator t = {
		.c = c,
		.free_order = e->rows,
		.start = columns_from(c, from),
		.start_to = columns_from(c, to),
		.freed = free_order_from(e, c, from),
		.freed_to = free_order_from(e, c, to),
	};

	event_iterator_peek(&t);
	return t;
}

static inline bool event_iterator_next(struct event_iterator *t)
{
	if (t->freed < t->freed_to && t->next_free <= t->next_start) {
		t->is_free = true;
		t->row = t->free_order[t->freed++];
		t->at = t->next_free;
		if (t->freed + EVENT_ITERATOR_AHEAD < t->freed_to) {
			uint32_t later = t->free_order[t->freed + EVENT_ITERATOR_AHEAD];

			columns_prefetch_freed_at(t->c, later);
			columns_prefetch_sizes(t->c, later);
		}
		t->next_free = t->freed < t->freed_to
				       ? columns_freed_at(t->c, t->free_order[t->freed])
				       : NEVER;
		return true;
	}
	if (t->start >= t->start_to)
		return false;
	t->is_free = false;
	t->row = t->start++;
	t->at = t->next_start;
	t->next_start = t->start < t->start_to ? columns_allocated_at(t->c, t->start) : NEVER;
	return true;
}

/* Cuts [from, to) into at most `pieces` stretches with about as many allocations each: their
 * borders, one more than stretches, go to `borders`; returns how many stretches there are. */
static inline unsigned event_iterator_cut(const struct model *m, uint64_t from, uint64_t to,
					  unsigned pieces, uint64_t *borders)
{
	const struct columns *c = &m->allocations;
	uint32_t first = columns_from(c, from), last = columns_from(c, to);
	unsigned n = 0;

	borders[n] = from;
	for (unsigned i = 1; i < pieces; i++) {
		uint32_t row = first + (uint32_t)((uint64_t)(last - first) * i / pieces);

		if (row < last && columns_allocated_at(c, row) > borders[n])
			borders[++n] = columns_allocated_at(c, row);
	}
	borders[++n] = to;
	return n;
}
