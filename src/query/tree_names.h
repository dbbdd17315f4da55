/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The names of a tree's nodes while it is built: each different one has one number.  One thread at
 * a time. */
#include "base/map.h"
#include "query/tree.h"

struct tree_names {
	struct locations *locations;
	enum tree_key key;
	const struct responsible *responsible; /* NULL: all frames are the program's */
	struct tree_name *rows;
	size_t count, room;
	struct map pairs[3], addresses;
	/* The names of each location, outermost first. */
	struct {
		uint32_t first, count; /* count 0: not looked at yet */
	} * of_location;
	uint32_t *flat;
	size_t flat_count, flat_room;
};

void tree_names_init(struct tree_names *n, struct locations *p, const struct tree_options *o);
/* The rows stay: they are the tree's. */
void tree_names_release(struct tree_names *n);
const uint32_t *tree_names_of(struct tree_names *n, uint32_t location, uint32_t *ret_count);
/* The name of one frame of a location, whose names are known. */
uint32_t tree_names_of_frame(const struct tree_names *n, uint32_t location, uint32_t index);
uint32_t tree_names_add(struct tree_names *n, enum tree_kind kind, uint32_t thread);
