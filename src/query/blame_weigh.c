/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The measure `pinned`.  See blame_weigh.h. */
#include "query/blame_weigh.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/summary.h"
#include "query/blame.h"

/* Stacks of each thread that have something alive, numbered; what a number is comes to `rows`. */
struct numbered {
	struct map map;
	struct stack_weight *rows;
	size_t room;
};

static void number_threads(struct numbered *n, const struct view *v, uint64_t at)
{
	const struct summary *s = model_summary(v->model);
	const struct columns *c = &v->model->allocations;
	uint32_t rows = columns_from(c, at + 1);

	for (uint32_t row = 0; row < rows; row++) {
		uint32_t stack, thread = tags_thread(columns_tags(c, row));
		uint64_t number;

		if (columns_freed_at(c, row) <= at)
			continue;
		stack = summary_row_of(s, columns_stack(c, row));
		if (!map_number(&n->map, (uint64_t)thread << 32 | stack, &number))
			continue;
		n->rows = xgrow(n->rows, number, &n->room, sizeof(*n->rows));
		n->rows[number] =
			(struct stack_weight){ .stack = s->rows[stack].stack, .thread = thread };
	}
}

ORDER(by_thread_and_stack, struct stack_weight, RISING(thread) ?: RISING(stack))

void blame_weigh(struct stack_weights *ret_weights, const struct view *v,
		 const struct measuring *how, bool by_thread)
{
	const struct summary *s = model_summary(v->model);
	struct blame_options o = { .at = how->at,
				   .unit = blame_usual_unit(v->model),
				   .holders = s->count };
	struct numbered n = { 0 };
	struct blame b;
	size_t room = 0;

	memset(ret_weights, 0, sizeof(*ret_weights));
	if (by_thread) {
		number_threads(&n, v, how->at);
		o.by_thread = &n.map;
		o.holders = (uint32_t)n.map.count;
	}
	blame_init(&b, v, &o);
	for (uint32_t i = 0; i < b.holder_count; i++) {
		const struct blamed *k = &b.holders[i];
		struct stack_weight w =
			by_thread ? n.rows[i] : (struct stack_weight){ .stack = s->rows[i].stack };

		if (!k->live.count)
			continue;
		w.weight = (struct weight){ k->alone + k->shared, k->live.count };
		w.first = k->first;
		w.last = k->last;
		weight_add(&ret_weights->total, &w.weight);
		*xpush(ret_weights->rows, ret_weights->count, room) = w;
	}
	if (by_thread)
		SORT(ret_weights->rows, ret_weights->count, by_thread_and_stack);
	blame_release(&b);
	map_release(&n.map);
	free(n.rows);
}
