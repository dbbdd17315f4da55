/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What changed between two recordings, by stack and by function.
 *
 * Stacks are the same when the names of their functions are, from the root: addresses, modules'
 * paths and lines may differ, so builds and machines may.  What has no name is told apart by its
 * address in its module.  Any thread; a diff is its caller's. */
#include <stdint.h>

#include "base/strings.h"
#include "query/tree.h"

enum diff_status { DIFF_NEW, DIFF_GONE, DIFF_GROWN, DIFF_SHRUNK, DIFF_SAME, DIFF_STATUSES };
extern const char *const diff_statuses[DIFF_STATUSES];

struct diff_pair {
	struct weight before, after;
};

/* A function below functions: a node of both trees put together; the first is the root. */
struct diff_node {
	uint32_t parent;
	uint32_t name; /* a string; 0 is the root's */
	struct diff_pair total, self;
};

struct diff_stack {
	uint32_t node; /* where it ends; its parents lead to the root */
	struct diff_pair weight;
};

struct diff_function {
	uint32_t name;
	struct diff_pair total, self; /* a stack counts once, as in tree_functions() */
	struct diff_pair own;	      /* of stacks that it is responsible for (responsible.h) */
};

struct diff {
	bool by_count; /* what decides about order and status */
	struct strings names;
	uint8_t *whose; /* by name: enum frame_kind */
	struct diff_node *nodes;
	uint32_t node_count;
	struct diff_stack *stacks; /* the largest change first */
	uint32_t stack_count;
	struct diff_function *functions; /* whose own changed most first, then by their total */
	uint32_t function_count;
};

/* `how` is what of each is compared: the same measure, at each one's own moment. */
void diff_init(struct diff *d, const struct view *before, const struct measuring *how_before,
	       const struct view *after, const struct measuring *how_after, bool by_count);
void diff_release(struct diff *d);
enum diff_status diff_status(const struct diff *d, const struct diff_pair *p);
/* After minus before, of bytes or blocks. */
int64_t diff_change(const struct diff *d, const struct diff_pair *p);
