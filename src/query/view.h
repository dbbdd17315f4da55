/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A filter applied to a recording: which allocations match.  What groups, trees and series take. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct places;
struct filter;

struct view {
	const struct model *model;
	struct places *places;
	const struct filter *filter;
	uint64_t *bits; /* one per row; NULL: all rows */
	uint32_t count;
	uint64_t bytes;
};

static inline bool view_has(const struct view *v, uint32_t row)
{
	return !v->bits || (v->bits[row / 64] >> row % 64 & 1);
}
