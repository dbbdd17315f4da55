/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What each stack of a view weighs: the first step of every tree and difference.  Any thread;
 * weights are their caller's. */
#include <stdint.h>

#include "query/measure.h"
#include "query/view.h"

struct stack_weight {
	uint32_t stack;	 /* a node; 0: not known */
	uint32_t thread; /* position in the model's table; 0 when threads are not told apart */
	struct weight weight;
	uint64_t first, last; /* stamps of the first and the last allocation */
};

struct stack_weights {
	struct stack_weight *rows; /* by thread, then by stack */
	uint32_t count;
	struct weight total;
};

/* Stacks of which nothing counts are left out.  Of a whole recording (a view without a filter,
 * threads not told apart) what was removed from it counts too, as far as it is known. */
void weigh_stacks(struct stack_weights *ret_weights, const struct view *v,
		  const struct measuring *how, bool by_thread);
void stack_weights_release(struct stack_weights *s);
