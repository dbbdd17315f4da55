/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where in the address space a view's blocks are. */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "query/view.h"

#define AREA_GRAIN_BITS 20 /* what is looked at together: 1 MiB */
#define AREA_UNIT 16u	   /* bytes; what an area is a multiple of */

struct area {
	uint64_t start, end;
};

struct areas {
	struct area *rows; /* by address, none touches the next */
	size_t count, room;
};

/* The bytes from the start of a block's header to its end, in whole units. */
struct area area_of_row(const struct model *m, uint32_t row, bool glibc);
/* All units that a block of the view has a byte in; those alive at `at` only, unless it is NEVER.
 */
void areas_exact(struct areas *a, const struct view *v, uint64_t at);
/* The same in whole grains, put together across gaps of up to `gap` bytes. */
void areas_coarse(struct areas *a, const struct view *v, uint64_t gap);
/* One more, which may touch others: until areas_join(). */
void areas_add(struct areas *a, uint64_t start, uint64_t end);
/* Sorts, and puts together what overlaps or has at most `gap` bytes in between. */
void areas_join(struct areas *a, uint64_t gap);
void areas_release(struct areas *a);
