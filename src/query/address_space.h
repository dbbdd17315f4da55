/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The picture of the address space: how full cells of addresses are, and what of them is in memory,
 * by steps of time.  Any thread. */
#include "query/areas.h"
#include "query/view.h"

struct address_space {
	struct areas areas;	/* far from each other; a cell is of one only */
	uint32_t *first_row;	/* of each area, and behind the last */
	uint32_t rows, columns; /* of cells, in all areas; of time */
	uint64_t cell;		/* bytes */
	uint64_t from, to;	/* stamps */
	uint8_t *cells;		/* by row and column: 0 is empty, 255 is full */
	uint8_t *resident;	/* the same of what was in memory; NULL: not asked for, or never
				 * sampled */
};

struct address_space_options {
	uint32_t rows, columns;
	bool resident;	    /* the areas have what was resident, too, blocks or not */
	uint64_t low, high; /* of that: only between these */
};

/* Cells of one size for all areas, as small as `rows` allows. */
void address_space_init(struct address_space *s, const struct view *v,
			const struct address_space_options *o);
void address_space_release(struct address_space *s);
/* From the first header to the end of the last block of glibc's main arena; 0 to 0: there is none.
 */
struct area address_space_main_heap(const struct view *v);
