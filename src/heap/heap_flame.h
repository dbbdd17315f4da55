/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A profile as a tree for flame graphs (draw/flame_tree.h), by what is alive and by what there ever
 * was.
 *
 * Trees count in whole bytes.  Sums are rounded, not stacks, so that a tree's whole is the
 * profile's total, cut as reports cut it.  Of a difference a node's amount is what changed in
 * either direction, and beside it there is by how much it became more or less. */
#include "draw/flame_draw.h"
#include "draw/flame_tree.h"
#include "heap/profile.h"
#include "heap/top.h"

struct heap_flame {
	const struct profile *profile;
	struct flame_tree tree;
	struct flame_names names;
	struct flame_change *changes; /* by node, of the first measure; NULL: it is no difference */
};

/* A tree has bytes and objects of each measure, so it does not matter which of the two is asked
 * for. `differs`: of the profile a base was taken away. */
void heap_flame_init(struct heap_flame *f, const struct profile *p,
		     const enum heap_measure *measures, unsigned count, bool differs);
void heap_flame_release(struct heap_flame *f);
