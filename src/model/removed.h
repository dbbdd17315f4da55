/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What culling or `memoir strip` took out of a recording: sums by stack, and its part of the
 * totals.
 *
 * The rows come from CHUNK_STATISTICS (wire/statistics.h), the totals' part from CHUNK_COUNTERS. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "pairing/pair.h"
#include "wire/statistics.h"

struct tables;

struct removed {
	struct statistics *rows; /* one a stack */
	size_t count, room;
	struct map by_stack; /* position in rows */
};

/* Takes one row of a chunk and advances *p; false if there is none. */
bool removed_add(struct removed *r, const uint8_t **p, const uint8_t *end);
/* The row of a stack, or NULL. */
const struct statistics *removed_find(const struct removed *r, uint32_t stack);
void removed_release(struct removed *r);

/* Adds what was removed to totals that were counted from events.  Returns whether the peak is the
 * whole one now; it is not while a recording grows and the events have gone beyond it. */
bool removed_add_totals(const struct tables *tables, struct totals *totals);
