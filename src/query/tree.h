/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Call trees: what a view weighs, by who called whom.
 *
 * Top-down, the root's children are where threads start and a node's children are what it called;
 * bottom-up, they are the innermost functions and a node's children are its callers.  The arrays
 * are flat, in the order of a walk (a node, then its children, heaviest first), so that a flame
 * graph is drawn and a file is written from front to back.  Any thread; a tree is its caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "model/locations.h"
#include "query/frame_kind.h"
#include "query/measure.h"
#include "query/view.h"

struct buf;
struct responsible;

enum tree_key { TREE_BY_FUNCTION, TREE_BY_LINE, TREE_BY_MODULE, TREE_KEYS };
extern const char *const tree_keys[TREE_KEYS]; /* "function", "line", "module" */

struct tree_options {
	struct measuring measuring;
	enum tree_key key;
	bool bottom_up;
	bool by_thread;			  /* the root's children are threads */
	bool by_count;			  /* blocks, not bytes, are what orders and prunes */
	double min_share;		  /* of the root; what is lighter joins "others" */
	uint32_t max_depth, max_children; /* 0: no limit */
	/* Of the view, where it is wanted whose frames are; else they all count as the program's.
	 */
	const struct responsible *responsible;
	uint32_t max_nodes; /* 0: no limit; what cannot be among so many of the heaviest joins
			     * "others", so that it is not made; a few more may be left */
};

enum tree_kind {
	TREE_ROOT,
	TREE_FRAME,
	TREE_THREAD,
	TREE_OTHERS,   /* children that were pruned, together */
	TREE_NO_STACK, /* what has none */
};

struct tree_name {
	enum tree_kind kind;
	uint32_t function, file; /* strings of locations; 0: not known */
	uint32_t raw_function;
	uint32_t line; /* TREE_BY_LINE only */
	uint32_t module;
	uint64_t address;      /* of a frame whose function is not known */
	uint32_t thread;       /* position in the model's table */
	enum frame_kind whose; /* of its frames' kinds the one that is preferred */
};

#define TREE_NONE UINT32_MAX

struct tree_node {
	struct weight total, self; /* self: stacks that end here */
	uint64_t first, last;	   /* stamps of the first and the last allocation */
	uint32_t name;
	uint32_t parent, first_child, next; /* TREE_NONE where there is none */
	uint32_t depth;			    /* the root's is 0 */
	uint32_t hidden; /* children that are not there: beyond max_depth, or joined here */
};

struct tree {
	struct tree_options options;
	struct locations *locations;
	const struct model *model;
	struct tree_node *nodes; /* the first is the root */
	uint32_t count;
	struct tree_name *names;
	uint32_t name_count;
	struct weight *own; /* by name: of stacks whose responsible frame it is; NULL: not wanted */
};

void tree_init(struct tree *t, const struct view *v, const struct tree_options *o);
void tree_release(struct tree *t);
/* What orders: bytes, or blocks. */
static inline uint64_t tree_weight(const struct tree_options *o, const struct weight *w)
{
	return o->by_count ? w->count : w->bytes;
}
/* The text of a name: "main", "main at a.c:12", "libc.so.6", "0x1234 in libx.so". */
void tree_name_text(const struct tree *t, uint32_t name, struct buf *out);

/* What each function (or line, or module) weighs wherever it stands: total counts a stack once
 * however often the function is in it. */
struct function_total {
	uint32_t name; /* of the tree */
	struct weight total, self;
	struct weight own;   /* what it is responsible for, where the tree knows */
	uint32_t node_count; /* of the tree */
};
/* Of a tree that is top-down and not pruned; by total, heaviest first.  The caller frees it. */
struct function_total *tree_functions(const struct tree *t, uint32_t *ret_count);
/* Of rows by name: those of frames that have nodes come to the front, in that order; how many. */
uint32_t functions_order(const struct tree *t, struct function_total *all);
/* By node: in the order of the walk its descendants follow it, up to here.  The caller frees it. */
uint32_t *tree_ends(const struct tree *t);
