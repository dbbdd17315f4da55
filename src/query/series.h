/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What was alive, allocated and freed over time.
 *
 * A stretch of time [from, to) is cut into buckets of equal width.  Every figure is exact: the most
 * that was alive is what was alive at some instant of the bucket, not at its borders.  Any thread;
 * a series is its caller's. */
#include <stdint.h>

#include "query/view.h"

struct series_point {
	uint64_t most_bytes, most_bytes_count, most_at; /* most bytes alive, blocks then, and when
							 * first */
	uint64_t most_count;   /* most blocks alive, perhaps at another moment */
	uint64_t bytes, count; /* alive at its end */
	uint64_t allocated_bytes, allocated_count;
	uint64_t freed_bytes, freed_count;
	uint64_t leaked_bytes, leaked_count; /* of what was alive at its end, what is never freed */
};

struct series {
	uint64_t from, to;	    /* stamps */
	struct series_point before; /* bytes, count and leaked: what was alive just before `from` */
	struct series_point *points;
	uint32_t count;
};

#define SERIES_MAX (1u << 20)

/* to > from, 1 <= count <= SERIES_MAX. */
void series_init(struct series *s, const struct view *v, uint64_t from, uint64_t to,
		 uint32_t count);
void series_release(struct series *s);
/* The first stamp of a bucket; of `count`: the end of the last. */
uint64_t series_edge(const struct series *s, uint32_t bucket);
/* A whole recording: from the start of the program to just behind its last event. */
void series_whole(const struct model *m, uint64_t *ret_from, uint64_t *ret_to);

struct view_peak {
	uint64_t bytes, count; /* blocks at that moment */
	uint64_t at;	       /* 0: nothing was ever alive */
};
/* When what is in a view had most bytes; the whole program's peak is in its totals. */
struct view_peak view_peak(const struct view *v);
