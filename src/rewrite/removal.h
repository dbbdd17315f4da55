/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What strip.c is to remove: a bit for each row, and the sums of what will be gone. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/removed.h"

struct removal {
	uint64_t *keep; /* a bit a row */
	uint32_t rows;
	struct removed sums; /* what earlier removals left is in them */
	uint64_t removed, removed_bytes;
};

/* `m` must be finished; it is no longer needed afterwards. */
void removal_plan(struct removal *p, const struct model *m, uint64_t threshold_ns);
void removal_release(struct removal *p);

static inline bool removal_keeps(const struct removal *p, uint32_t row)
{
	return row >= p->rows || (p->keep[row / 64] >> row % 64 & 1);
}
