/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The rows of a recording in the order in which they were freed.
 *
 * Rows themselves are in the order of allocation, so both together are every event of the recording
 * in time.  Built when it is first asked for, four bytes for each row that was freed, and kept with
 * the model; where that is much, in a file and not in memory of our own. */
#include <stdint.h>

#include "base/scratch.h"
#include "pairing/columns.h"

struct free_order {
	uint32_t *rows;
	uint32_t count;
	struct scratch scratch; /* that they are in */
};

struct model;
const struct free_order *model_free_order(const struct model *m);
struct free_order *free_order_new(const struct columns *c);
struct free_order *free_order_free(struct free_order *e);

/* The first row that was allocated at `stamp` or later. */
uint32_t columns_from(const struct columns *c, uint64_t stamp);
/* The index in `e` of the first row that was freed at `stamp` or later. */
uint32_t free_order_from(const struct free_order *e, const struct columns *c, uint64_t stamp);
