/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The trie of stacks cut into runs that are long: what is made for each node once and laid out in
 * this order can be used for whole stacks, a few pieces each.
 *
 * From every node a run goes on to the callee with the most nodes inside, so there is a new run
 * only where that halves: however deep a stack is, it crosses at most 32, and mostly three or four.
 * Every node has a place, and the nodes of a run have consecutive ones, from the outermost on. Made
 * by one thread, then only read, by any. */
#include <stdint.h>

#include "model/tables.h"

#define SPINES_RUNS 33

struct spine {
	uint32_t parent; /* 0: outside all frames */
	uint32_t depth;	 /* of the outermost: 1 */
	uint32_t top;	 /* the first node of its run */
	uint32_t place;
};

struct spines {
	struct spine *of; /* by node; [0] and those that are not known are all zeros */
	uint32_t *order;  /* by place: the node */
	uint32_t count;	  /* of places */
	uint32_t node_count;
	uint32_t deepest;
};

struct spine_run {
	uint32_t first, count; /* places */
};

/* `wanted`: by node, those that are not 0, and all outside them; NULL: every known one. */
void spines_init(struct spines *s, const struct nodes *n, const uint8_t *wanted);
void spines_release(struct spines *s);

/* The node, or 0 if it is not known. */
static inline uint32_t spines_known(const struct spines *s, uint32_t node)
{
	return node < s->node_count && s->of[node].depth ? node : 0;
}

/* The innermost node that both stacks have; 0 if none.  Both must be known. */
static inline uint32_t spines_common(const struct spines *s, uint32_t a, uint32_t b)
{
	while (s->of[a].top != s->of[b].top) {
		uint32_t a_top = s->of[a].top, b_top = s->of[b].top;

		if (s->of[a_top].depth >= s->of[b_top].depth)
			a = s->of[a_top].parent;
		else
			b = s->of[b_top].parent;
	}
	return s->of[a].depth < s->of[b].depth ? a : b;
}

/* The runs of a stack from the frame that is `outside` deep on (0: all), outermost first; returns
 * how many.  The node must be known. */
unsigned spines_runs(const struct spines *s, uint32_t node, uint32_t outside,
		     struct spine_run runs[SPINES_RUNS]);
