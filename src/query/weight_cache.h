/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A cache of what the stacks of a view weigh: flame graphs in all shapes, functions, lines and
 * trees of one question begin with the same sums, and only those look at every allocation.
 *
 * A view has this after view_cache_weights(); weigh_stacks() then asks it.  Any thread; what
 * several ask for at the same time is made once, or, where nobody waits any more for what its maker
 * computes, half made, and then by the next of them (base/parallel.h). */
#include "query/weigh.h"

#define WEIGHT_CACHE_COUNT 8		      /* measures, moments */
#define WEIGHT_CACHE_BYTES ((size_t)16 << 20) /* of a view's whole cache */

struct weight_cache;
struct weight_cache *weight_cache_new(void);
struct weight_cache *weight_cache_free(struct weight_cache *cache);
/* A copy of what is cached, or else what `make` makes. */
void weight_cache_get(struct weight_cache *cache, struct stack_weights *ret_weights,
		      const struct view *v, const struct measuring *how, bool by_thread,
		      void (*make)(struct stack_weights *ret_weights, const struct view *v,
				   const struct measuring *how, bool by_thread));
