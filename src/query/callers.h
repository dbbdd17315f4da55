/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Who calls a function, and what it calls.  Any thread; an answer is its caller's. */
#include "query/tree.h"

struct callers {
	/* The function itself; node_count 0: nothing goes through it. */
	struct function_total function;
	struct weight no_caller; /* of stacks that begin with it */
	/* By total, heaviest first.  A caller's total is what the function weighs when that one
	 * calls it, its self what the function asks for by itself then; a callee's total and self
	 * are the callee's when the function calls it.  A stack counts once in each row, however
	 * often one calls the other in it. */
	struct function_total *callers, *callees;
	uint32_t caller_count, callee_count;
};

/* Of a tree that is top-down and not pruned.  `function` is a name as tree_name_text() writes it,
 * or without its parameters; several that are called so count as one. */
void callers_init(struct callers *c, const struct tree *t, const char *function);
void callers_release(struct callers *c);
