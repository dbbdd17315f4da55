/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which blocks keep resident memory resident.
 *
 * A page cannot be given back while a live block, or the allocator's head in front of one, has a
 * byte in it.  What is resident of a page (or 64 KiB, 2 MiB, a slab) that the blocks of one holder
 * alone are in is kept by it alone: it could go back if that holder freed them.  What several are
 * in is shared out evenly.  So what all holders keep, alone and shared, is what is resident of the
 * units that have live blocks.  A holder is a stack, or whatever stacks are put together by. Blocks
 * that are not in a view keep memory too; a view only chooses whose are asked about.
 *
 * What is resident is what samples of the memory maps before and after the moment say
 * (residency.h): the nearer one, unless all blocks of a unit are younger than the one, or gone at
 * the other. Where neither can tell, a unit with a block is taken to be resident.
 *
 * A slab is what jemalloc (4 and later, pages of 4 KiB) cuts into blocks of one small size class:
 * the fewest pages that such blocks fill without a rest.  So a block's address and size tell where
 * it begins.  Everything else there is kept page by page.  Any thread; a result is its caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "query/measure.h"
#include "query/view.h"

enum blame_unit { BLAME_PAGE, BLAME_64K, BLAME_2M, BLAME_SLAB, BLAME_UNITS };

struct blame_unit_row {
	const char *name; /* "page" */
	unsigned shift;	  /* of an address: its unit; of slabs: a page's */
	const char *title, *titles;
};
extern const struct blame_unit_row blame_units[BLAME_UNITS];

/* Slabs where blocks are jemalloc's, else pages. */
enum blame_unit blame_usual_unit(const struct model *m);
bool blame_has_slabs(const struct model *m);
/* The moment that blame is about unless another is asked for: the last sample of the maps, or the
 * end. */
uint64_t blame_moment(const struct model *m);

struct blame_options {
	uint64_t at; /* stamp */
	enum blame_unit unit;
	/* By row of the model's summary: whose a stack's blocks are, below `holders`; NULL: each
	 * row is its own. */
	const uint32_t *holder_of;
	/* The same by thread and row, thread first; NULL: threads are not told apart. */
	const struct map *by_thread;
	uint32_t holders;
};

/* What one holder keeps. */
struct blamed {
	struct weight live; /* its blocks: bytes as requested */
	uint64_t usable;
	uint64_t alone, shared; /* resident bytes; its part of those that others keep, too */
	uint64_t alone_units, shared_units;
	uint64_t first, last; /* stamps of allocations of those blocks */
};

struct blame {
	uint64_t at, sampled_at; /* stamps; NEVER: the maps were never looked at */
	enum blame_unit unit;
	struct blamed *holders; /* zeroed where nothing is alive */
	uint32_t holder_count;
	struct blamed total;	  /* of them */
	struct blamed outside;	  /* of blocks that are not in the view */
	uint64_t resident, units; /* of units with live blocks */
};

void blame_init(struct blame *b, const struct view *v, const struct blame_options *o);
void blame_release(struct blame *b);
