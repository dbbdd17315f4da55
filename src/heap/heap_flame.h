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

/* What of a stack's amount counts. */
enum heap_part {
	HEAP_WHOLE,   /* of one dump; what is below 0 is nothing */
	HEAP_CHANGED, /* of a difference: either way */
	HEAP_MORE,    /* what was added */
	HEAP_LESS,    /* what went */
};

struct heap_flame_measure {
	enum heap_measure measure; /* bytes or objects: a tree has both */
	enum heap_part part;
};

struct heap_flame {
	const struct profile *profile;
	struct flame_tree tree;
	struct flame_names names;
	struct flame_change
		*changes; /* by node, of a first measure that is HEAP_CHANGED; else NULL */
};

void heap_flame_init(struct heap_flame *f, const struct profile *p,
		     const struct heap_flame_measure *measures, unsigned count);
/* A stack's bytes and objects, of which the part counts. */
void heap_flame_amounts(const struct heap_flame_measure *m, const struct profile_stack *s,
			double *bytes, double *count);
void heap_flame_release(struct heap_flame *f);
