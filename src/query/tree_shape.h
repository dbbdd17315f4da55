/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* From a tree as it was grown to one that is pruned, sorted, and perhaps turned around.  Called by
 * tree.c, on the thread that asks for a tree. */
#include "query/tree.h"

struct grown_node {
	struct weight self, total;
	uint64_t first, last; /* once summed: of the whole branch */
	uint32_t parent, name;
};

struct grown_tree {
	struct grown_node *nodes; /* parents before their children */
	size_t count, room;
	uint32_t others; /* the name of what is pruned */
};

/* Fill the nodes of t, whose options and names are set; `g` is used up. */
void tree_shape_top_down(struct tree *t, struct grown_tree *g);
void tree_shape_bottom_up(struct tree *t, struct grown_tree *g);
