/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the stacks of a view weigh, kept: flame graphs in all shapes, functions, lines and trees of
 * one question begin with the same sums, and only those look at every allocation.
 *
 * A view has this after view_keep_weights(); weigh_stacks() then asks it.  Any thread; what several
 * ask for at the same time is made once. */
#include "query/weigh.h"

#define WEIGHED_KEPT 8			 /* measures, moments */
#define WEIGHED_BYTES ((size_t)16 << 20) /* of all that is kept of a view */

struct weighed;
struct weighed *weighed_new(void);
struct weighed *weighed_free(struct weighed *k);
/* A copy of what is kept, or what `make` makes of it. */
void weighed_take(struct weighed *k, struct stack_weights *ret_weights, const struct view *v,
		  const struct measuring *how, bool by_thread,
		  void (*make)(struct stack_weights *ret_weights, const struct view *v,
			       const struct measuring *how, bool by_thread));
