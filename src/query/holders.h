/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which stacks hold the blocks of a view at a moment, and where.  Any thread. */
#include <stddef.h>
#include <stdint.h>

#include "query/measure.h"
#include "query/view.h"

/* What one stack holds. */
struct range_holder {
	uint32_t stack;
	struct weight weight;
	uint64_t slack, low, high; /* addresses: of the first byte, behind the last */
	uint64_t oldest, newest;   /* stamps */
};

struct range_holders {
	struct range_holder *rows; /* most bytes first */
	size_t count, room;
	struct weight total;
};

void range_holders_init(struct range_holders *all, const struct view *v, uint64_t at);
void range_holders_release(struct range_holders *all);
