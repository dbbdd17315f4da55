/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regions in use over time.  See fragmentation.h.
 *
 * One pass over the events.  Every region that a block's end lies in has a count of its bytes in
 * use; they lie together for each 2 MiB, so that a block costs one look-up in a small table.
 * Regions inside a block are its own, and are counted without being looked at. */
#include "base/map.h"
#include "base/xalloc.h"
#include "query/event_iterator.h"
#include "query/fragmentation.h"
#include "wire/wide.h"

#define PAGES 512u /* in 2 MiB */
#define WIDE 32u   /* 64 KiB in 2 MiB */

/* Bytes in use. */
struct chunk_use {
	uint32_t page[PAGES], wide[WIDE], whole;
};

struct counting {
	struct map chunk_index; /* by 2 MiB */
	struct chunk_use *chunks;
	size_t count, room;
	uint64_t last_chunk, last_index; /* looked up last; plus one */
	int64_t requested, usable;
	int64_t regions[LEVELS], most[LEVELS];
};

static struct chunk_use *chunk_at(struct counting *n, uint64_t chunk)
{
	uint64_t index;

	if (n->last_chunk == chunk + 1)
		return &n->chunks[n->last_index];
	if (map_number(&n->chunk_index, chunk, &index))
		*xpush(n->chunks, n->count, n->room) = (struct chunk_use){ 0 };
	n->last_chunk = chunk + 1;
	n->last_index = index;
	return &n->chunks[index];
}

static uint32_t *count_at(struct counting *n, unsigned level, uint64_t region)
{
	switch (level) {
	case LEVEL_PAGE:
		return &chunk_at(n, region / PAGES)->page[region % PAGES];
	case LEVEL_64K:
		return &chunk_at(n, region / WIDE)->wide[region % WIDE];
	default:
		return &chunk_at(n, region)->whole;
	}
}

static void change(struct counting *n, unsigned level, uint64_t region, uint32_t bytes,
		   bool is_free)
{
	uint32_t *count = count_at(n, level, region);

	if (is_free) {
		*count -= bytes;
		n->regions[level] -= !*count;
		return;
	}
	n->regions[level] += !*count;
	*count += bytes;
}

static void count_event(struct counting *n, const struct columns *c, uint32_t row, bool is_free)
{
	uint64_t requested = columns_size(c, row), usable = requested + columns_slack(c, row);
	uint64_t address = columns_address(c, row), end = address + usable;
	int64_t sign = is_free ? -1 : 1;

	n->requested += sign * (int64_t)requested;
	n->usable += sign * (int64_t)usable;
	if (!usable)
		return;
	for (unsigned level = 0; level < LEVELS; level++) {
		unsigned shift = level_rows[level].shift;
		uint64_t size = 1ull << shift, first = address >> shift, last = (end - 1) >> shift;

		if (first == last) {
			change(n, level, first, (uint32_t)usable, is_free);
		} else {
			change(n, level, first, (uint32_t)(size - (address & (size - 1))), is_free);
			change(n, level, last, (uint32_t)((end - 1) & (size - 1)) + 1, is_free);
			n->regions[level] += sign * (int64_t)(last - first - 1);
		}
		if (n->regions[level] > n->most[level])
			n->most[level] = n->regions[level];
	}
}

static void finish_bucket(struct counting *n, struct fragmentation_point *p, uint64_t end)
{
	p->at = end - 1;
	p->requested = (uint64_t)n->requested;
	p->usable = (uint64_t)n->usable;
	for (unsigned level = 0; level < LEVELS; level++) {
		p->regions[level] = (uint64_t)n->regions[level];
		p->most_regions[level] = (uint64_t)n->most[level];
		n->most[level] = n->regions[level];
	}
}

void fragmentation_series(const struct model *m, uint64_t from, uint64_t to, uint32_t count,
			  struct fragmentation_point *points)
{
	struct event_iterator t = event_iterator_between(m, 0, to);
	struct counting n = { 0 };
	uint32_t bucket = 0;
	uint64_t edge = from + (to - from) / count;
	bool inside = false;

	while (event_iterator_next(&t)) {
		if (t.at >= from && !inside) {
			for (unsigned level = 0; level < LEVELS; level++)
				n.most[level] = n.regions[level];
			inside = true;
		}
		for (; inside && t.at >= edge && bucket + 1 < count; bucket++) {
			finish_bucket(&n, &points[bucket], edge);
			edge = from + wide_scale(to - from, bucket + 2, count);
		}
		count_event(&n, &m->allocations, t.row, t.is_free);
	}
	for (; bucket < count; bucket++) {
		edge = from + wide_scale(to - from, bucket + 1, count);
		if (!inside)
			for (unsigned level = 0; level < LEVELS; level++)
				n.most[level] = n.regions[level];
		finish_bucket(&n, &points[bucket], edge);
	}
	map_release(&n.chunk_index);
	free(n.chunks);
}
