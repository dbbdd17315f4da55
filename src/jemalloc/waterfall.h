/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where resident memory went: step by step from what is resident to what the program was given.
 *
 * The steps add up to the byte.  Between active and allocated that is jemalloc's own arithmetic
 * (free regions of slabs, and a page for each large block where it is cache oblivious); what a
 * snapshot does not explain has a step of its own, which may be negative where counters were read
 * one after the other. */
#include "jemalloc/sampled.h"
#include "jemalloc/stats.h"

enum waterfall_step {
	WATERFALL_DIRTY, /* resident to active: freed pages that are kept for reuse */
	WATERFALL_MUZZY, /* freed pages that the kernel may take; before 5.3 counted as resident */
	WATERFALL_METADATA,	 /* jemalloc's own structures, outside its pages for the program */
	WATERFALL_ROUNDING,	 /* the rest of the pages that these structures are in, and what is
				    resident besides */
	WATERFALL_SLABS,	 /* active to allocated: regions of slabs that nobody has */
	WATERFALL_PADDING,	 /* the page that is added to a large block */
	WATERFALL_SAMPLED_PAGES, /* pages that blocks have because the heap profiler sampled them */
	WATERFALL_UNKNOWN,	 /* the rest; zero where bins and large classes were printed */
	WATERFALL_TCACHE,	 /* of allocated: what threads keep in their caches */
	WATERFALL_STASHED,	 /* of allocated: freed, and kept back by guards against misuse */
	WATERFALL_INTERNAL,	 /* of allocated: jemalloc's own blocks */
	WATERFALL_SAMPLED,	 /* of allocated: what such blocks take beyond their size */
	WATERFALL_STEP_COUNT
};

/* One bin with free regions. */
struct waterfall_bin {
	uint64_t size, regions, used, slabs;
	int64_t bytes; /* (regions - used) * size; negative: counters raced */
};

struct waterfall {
	uint64_t resident, active, allocated; /* STATS_NONE: not said, and its steps are zero */
	uint64_t program;	   /* what is left of allocated: the program's, at most */
	uint64_t retained, mapped; /* address space; beside the steps */
	int64_t step[WATERFALL_STEP_COUNT];
	uint64_t large_count;	    /* live large blocks */
	bool padded;		    /* each has a page more */
	struct sampled sampled;	    /* what the two steps of the heap profiler are made of */
	bool attributed;	    /* bins were printed, or nothing is left to explain */
	struct waterfall_bin *bins; /* most bytes first */
	size_t bin_count, bin_room;
};

struct waterfall_row {
	const char *name, *label;
};

extern const struct waterfall_row waterfall_rows[]; /* by step */

/* Zeroed before the first use; memory is kept between uses. */
void waterfall_make(struct waterfall *w, const struct stats *s, const struct stats_arena *a);
void waterfall_release(struct waterfall *w);
