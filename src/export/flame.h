/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Stacks joined to a tree of functions, weighed by several measures at once: what flame graphs are
 * drawn from.
 *
 * query/tree.h makes trees of one measure, for reading; here one tree has to serve every measure
 * and both directions, so that a page can hold it once. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "export/functions.h"
#include "query/measure.h"
#include "query/view.h"

#define FLAME_ROOT 0

struct flame_node {
	uint32_t parent; /* smaller than the node's own number; the root's is its own */
	uint32_t function;
	uint32_t depth; /* the root's is 0 */
};

/* Where a function's frames are: the lowest and the highest line; 0: not known. */
struct flame_lines {
	uint32_t first, last;
};

struct flame {
	const struct view *view;
	unsigned measures;
	struct flame_node *nodes; /* the first is the root, which is no function */
	struct weight *weights;	  /* by node and measure; with all that is below */
	size_t count, room, weight_room;
	struct functions functions;
	struct flame_lines *lines; /* by function */
	size_t lines_room;
	struct map children;
};

void flame_init(struct flame *f, const struct view *v, const struct measuring *how,
		unsigned measures);
void flame_release(struct flame *f);

static inline const struct weight *flame_weight(const struct flame *f, size_t node,
						unsigned measure)
{
	return &f->weights[node * f->measures + measure];
}

/* The number of a frame's function; a new one for one that is in no node. */
uint32_t flame_function(struct flame *f, const struct stack_frame *frame);

/* How much of the whole a node is by the measure and unit in which it is most: 0 … 1.  Never more
 * than its parent. */
double flame_share(const struct flame *f, size_t node);
/* The share that at most `limit` nodes exceed. */
double flame_cut(const struct flame *f, size_t limit);

/* "main", "0x1234 [libx.so]", "(no stack)", "all" for the root. */
void flame_name(const struct flame *f, uint32_t function, struct buf *out);

/* Colours depend on nothing but the name, so that a function looks the same in every file:
 * 0 … FLAME_COLOURS - 1 are warm, what is below 0 is grey, for libc and allocators. */
#define FLAME_HUES 24
#define FLAME_SHADES 5
#define FLAME_COLOURS (FLAME_HUES * FLAME_SHADES)
int flame_colour(const struct flame *f, uint32_t function);
/* The same by name, and by the path of the module. */
int flame_colour_of(const char *name, const char *module);
