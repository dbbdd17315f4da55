/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Memory that is not in use and cannot be given back: slack inside blocks, and regions (pages, 64
 * KiB, 2 MiB) that a few blocks keep.
 *
 * A block covers its usable size from its address; what the allocator keeps beside it is not seen
 * and counts as empty.  All of the program's blocks hold regions; a view only chooses whose stacks
 * are asked about.  Any thread; the result is its caller's. */
#include <stdint.h>

#include "query/measure.h"
#include "query/view.h"

enum fragmentation_level { LEVEL_PAGE, LEVEL_64K, LEVEL_2M, LEVELS };

struct level_row {
	unsigned shift; /* of an address: its region */
	const char *name;
};
extern const struct level_row level_rows[LEVELS];

#define OCCUPANCY_BINS 10

struct occupancy {
	uint64_t regions;      /* that hold at least one byte of a block */
	uint64_t live_bytes;   /* in them */
	uint64_t empty_bytes;  /* in them */
	uint64_t nearly_empty; /* regions of which less than a tenth is in use */
	struct {
		uint64_t regions, live_bytes, empty_bytes;
	} bins[OCCUPANCY_BINS]; /* by tenths in use; the last holds full ones too */
};

/* What one stack's blocks hold. */
struct holder {
	uint32_t stack;
	struct weight weight; /* requested bytes, blocks */
	uint64_t slack;
	struct {
		uint64_t regions;      /* that nobody else has a byte in */
		uint64_t pinned_bytes; /* empty bytes in those: free again if the stack's blocks
					* were gone */
		uint64_t shared_bytes; /* its part of the empty bytes of regions that it shares,
					* by number of stacks */
	} held[LEVELS];
};

/* Blocks of one size class: powers of two, as histograms have them. */
struct slack_class {
	uint64_t from, to;
	struct weight weight;
	uint64_t slack;
};
#define SLACK_CLASSES 65

struct fragmentation {
	uint64_t at; /* stamp */
	struct weight live;
	uint64_t slack;
	struct occupancy levels[LEVELS];
	struct holder
		*holders; /* of the view, with blocks at that moment; most pinned pages first */
	uint32_t holder_count;
	struct slack_class classes[SLACK_CLASSES];
};

/* At one moment. */
void fragmentation_init(struct fragmentation *f, const struct view *v, uint64_t at);
void fragmentation_release(struct fragmentation *f);
void fragmentation_sort(struct fragmentation *f, enum fragmentation_level level);

struct fragmentation_point {
	uint64_t at; /* the last stamp of its bucket */
	uint64_t requested, usable;
	uint64_t regions[LEVELS];      /* that were in use */
	uint64_t most_regions[LEVELS]; /* most at once, within the bucket */
};
/* Over time: `count` buckets of [from, to), into `points`. */
void fragmentation_series(const struct model *m, uint64_t from, uint64_t to, uint32_t count,
			  struct fragmentation_point *points);
