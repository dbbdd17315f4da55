/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Stacks joined to a tree of functions, weighed by several measures at once: what flame graphs are
 * drawn from.
 *
 * The caller puts stacks in from the root on (flame_tree_child), adds each one's amount where
 * it ends, and sums up once.  What a function is called only its maker knows, who answers through
 * struct flame_names when a picture is drawn. */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct buf;

#define FLAME_ROOT 0
#define FLAME_NO_FUNCTION UINT32_MAX /* the root's */

struct flame_node {
	uint32_t parent; /* smaller than the node's own number; the root's is its own */
	uint32_t function;
	uint32_t depth; /* the root's is 0 */
};

struct flame_amount {
	uint64_t bytes, count;
};

struct flame_tree {
	unsigned measures;
	struct flame_node *nodes;     /* the first is the root, which is no function */
	struct flame_amount *amounts; /* by node and measure; once summed with all that is below */
	size_t count, room, amount_room;
	struct map children;
};

void flame_tree_init(struct flame_tree *t, unsigned measures);
void flame_tree_release(struct flame_tree *t);
/* The node of a function below another one, which is made where there is none. */
uint32_t flame_tree_child(struct flame_tree *t, uint32_t parent, uint32_t function);
void flame_tree_add(struct flame_tree *t, uint32_t node, unsigned measure, uint64_t bytes,
		    uint64_t count);
void flame_tree_sum(struct flame_tree *t);

static inline const struct flame_amount *flame_tree_amount(const struct flame_tree *t, size_t node,
							   unsigned measure)
{
	return &t->amounts[node * t->measures + measure];
}

/* How much of the whole a node is by the measure and unit in which it is most: 0 … 1.  Never more
 * than its parent. */
double flame_tree_share(const struct flame_tree *t, size_t node);
/* The share that at most `limit` nodes exceed. */
double flame_tree_cut(const struct flame_tree *t, size_t limit);

/* Where a function's frames are; "" and 0: not known. */
struct flame_source {
	const char *module, *file;
	uint32_t first, last; /* the lowest and the highest line */
};

/* What functions are called. */
struct flame_names {
	const void *context;
	uint32_t count; /* all functions are below */
	/* Adds "main", "0x1234 [libx.so]" and the like; *ret is the function's source. */
	void (*describe)(const void *context, uint32_t function, struct buf *name,
			 struct flame_source *ret);
};

/* The same; "all" for the root.  What is in `name` before goes, and it is never without a text. */
void flame_names_of(const struct flame_names *names, uint32_t function, struct buf *name,
		    struct flame_source *ret);
/* Adds " (libx.so)  file.c:12–48", as far as it is known. */
void flame_source_put(const struct flame_source *s, struct buf *out);
