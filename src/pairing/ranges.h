/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Parts of an address space that do not overlap, by address: which map each belongs to.
 *
 * For the model, which follows every map through a recording, and for the collector, which needs to
 * know where one map ends and the next begins inside a region.  Every operation takes time in the
 * logarithm of their number.  A zeroed one is empty. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start, end;
	uint32_t value;
};

struct range_node;
struct ranges {
	struct range_node *nodes; /* 0 is none */
	size_t room;
	uint32_t count;	 /* nodes that were ever used, 0 included */
	uint32_t unused; /* a list of those that are free again */
	uint32_t root;
	uint64_t seed;
};

/* The first one that ends behind an address: the one that holds it, or the next. */
bool ranges_from(const struct ranges *r, uint64_t address, struct range *ret_range);
/* Adds one, where none is; nothing if it is empty. */
void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t value);
/* Takes out the one that starts here, if there is one. */
void ranges_remove(struct ranges *r, uint64_t start);
/* Leaves nothing between the two; what lies partly there keeps the rest. */
void ranges_cut(struct ranges *r, uint64_t start, uint64_t end);
void ranges_release(struct ranges *r);
