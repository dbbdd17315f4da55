/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which stacks' blocks the resident pages hold, at one moment.  For resident.h.  One thread. */
#include <stddef.h>
#include <stdint.h>

#include "query/view.h"

/* Resident memory that blocks may be in: stretches by address that do not overlap. */
struct resident_runs {
	struct resident_run {
		uint64_t start, end;
	} * list;
	size_t count, room;
};

/* One behind all others; pages in a row become one run. */
void resident_runs_add(struct resident_runs *r, uint64_t start, uint64_t end);
void resident_runs_release(struct resident_runs *r);

/* Of one stack's blocks that are alive then.  `requested` and `rounding` are their resident bytes,
 * `size` is what they were asked for, resident or not. */
struct resident_stack {
	uint32_t stack;
	uint8_t call;
	uint64_t blocks, size, requested, rounding;
};

/* Returns how many stacks there are; *ret_stacks is the caller's to free. */
size_t resident_blocks(const struct view *v, uint64_t at, const struct resident_runs *runs,
		       struct resident_stack **ret_stacks);
