/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Weights by stack.  See weigh.h.
 *
 * Every worker has sums of its own, an array by thread and stack, or a table where that would be
 * large and mostly empty; what they found is added up at the end. */
#include "query/weigh.h"

#include <string.h>

#include "base/map.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/summary.h"
#include "query/blame_weigh.h"
#include "query/view_source.h"
#include "query/weight_cache.h"

#define BLOCK 65536
#define SLOTS_MAX (2u << 20) /* in an array by thread and stack */

struct sums {
	struct stack_weight *rows;
	size_t count, room;
	struct map row_index; /* by thread and stack */
};

struct weighing {
	const struct view *v;
	struct measuring how;
	bool by_thread;
	bool in_table;
	const struct summary *summary;
	uint64_t slot_count;
	struct sums *sums; /* by worker */
};

static void merge_weights(struct stack_weight *into, const struct stack_weight *s)
{
	if (!s->weight.count)
		return;
	if (!into->weight.count || s->first < into->first)
		into->first = s->first;
	into->last = MAX(into->last, s->last);
	into->weight.bytes += s->weight.bytes;
	into->weight.count += s->weight.count;
}

static struct stack_weight *row_of(struct sums *s, uint32_t thread, uint32_t stack)
{
	uint64_t key = (uint64_t)thread << 32 | stack, index;

	if (map_number(&s->row_index, key, &index))
		*xpush(s->rows, s->count, s->room) =
			(struct stack_weight){ .stack = stack, .thread = thread };
	return &s->rows[index];
}

/* Those of 64 rows that a measure takes.  Without branches: which ones it takes nobody can
 * foresee. */
static inline uint64_t taken(const struct measuring *how, const struct columns *c, uint32_t base,
			     uint32_t rows)
{
	uint64_t word = 0;

	switch (how->measure) {
	case MEASURE_LEAKED:
		for (uint32_t i = 0; i < rows; i++)
			word |= (uint64_t)(columns_freed_at(c, base + i) == NEVER) << i;
		return word;
	case MEASURE_PEAK:
	case MEASURE_ALIVE_AT: /* of those that began in time: see rows_to_weigh() */
		for (uint32_t i = 0; i < rows; i++)
			word |= (uint64_t)(columns_freed_at(c, base + i) > how->at) << i;
		return word;
	case MEASURE_ALLOCATED:
		return UINT64_MAX;
	default:
		for (uint32_t i = 0; i < rows; i++)
			word |= (uint64_t)measuring_takes(how, c, base + i) << i;
		return word;
	}
}

/* Rows are in the order of their beginnings: what is alive at a moment is among the first ones. */
static uint64_t rows_to_weigh(const struct columns *c, const struct measuring *how)
{
	if ((how->measure != MEASURE_PEAK && how->measure != MEASURE_ALIVE_AT) || how->at == NEVER)
		return c->count;
	return columns_from(c, how->at + 1);
}

static inline void weigh_row(const struct weighing *w, struct sums *sums, const struct columns *c,
			     uint32_t row)
{
	uint32_t stack = summary_row_of(w->summary, columns_stack(c, row));
	uint32_t thread = w->by_thread ? tags_thread(columns_tags(c, row)) : 0;
	struct stack_weight *s =
		w->in_table ? row_of(sums, thread, w->summary->rows[stack].stack)
			    : &sums->rows[(uint64_t)thread * w->summary->count + stack];

	if (!s->weight.count || columns_allocated_at(c, row) < s->first)
		s->first = columns_allocated_at(c, row);
	s->last = MAX(s->last, columns_allocated_at(c, row));
	s->weight.bytes += columns_size(c, row);
	s->weight.count++;
}

static void weigh_window(const struct weighing *w, struct sums *sums, const struct columns *c,
			 uint32_t first, uint32_t count)
{
	struct measuring how = w->how;

	for (uint32_t at = first; at < first + count; at += 64) {
		uint32_t left = first + count - at, rows = MIN(left, 64u);
		uint64_t word = view_word(w->v, at / 64);

		if (rows < 64)
			word &= (1ull << rows) - 1;
		if (word)
			word &= taken(&how, c, at, rows);
		for (; word; word &= word - 1)
			weigh_row(w, sums, c, at + (uint32_t)__builtin_ctzll(word));
	}
}

static void weigh_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct weighing *w = context;
	struct sums *sums = &w->sums[worker];
	unsigned wanted = WANT_stack | WANT_allocated_at | WANT_size | measuring_wants(&w->how) |
			  (w->by_thread ? WANT_tags : 0);
	struct columns_window window;

	if (!w->in_table && !sums->rows)
		sums->rows = pages_grow(NULL, 0, w->slot_count * sizeof(*sums->rows));
	EACH_WINDOW(at, n, first, count)
	if (measuring_may_take(&w->how, &w->v->model->allocations, at, n))
		weigh_window(w, sums, view_window(w->v, &window, at, n, wanted), at, n);
}

static void add_row(struct stack_weights *out, size_t *room, const struct stack_weight *s)
{
	*xpush(out->rows, out->count, *room) = *s;
	out->total.bytes += s->weight.bytes;
	out->total.count += s->weight.count;
}

/* What culling or `memoir strip` took out counts where all of a recording is weighed.  It is known
 * by stack only, and what was alive at the peak of the whole takes the place of what is left. */
static void add_removed(struct weighing *w)
{
	const struct model *m = w->v->model;
	const struct removed *r = &m->tables.removed;

	if (w->v->bits || w->by_thread || !r->count || !w->slot_count)
		return;
	if (!w->sums[0].rows)
		w->sums[0].rows = pages_grow(NULL, 0, w->slot_count * sizeof(*w->sums[0].rows));
	for (size_t i = 0; i < r->count; i++) {
		const struct statistics *s = &r->rows[i];
		uint32_t stack = summary_row_of(w->summary, s->stack);
		struct stack_weight more = { .first = s->first_at, .last = s->last_at };

		if (w->how.measure == MEASURE_ALLOCATED)
			more.weight = (struct weight){ s->bytes, s->count };
		else if (w->how.measure == MEASURE_TEMPORARY)
			more.weight = (struct weight){ s->temporary_bytes, s->temporary };
		else if (w->how.measure == MEASURE_PEAK && m->peak_is_whole)
			more.weight = (struct weight){ s->peak_bytes, s->peak_count };
		else
			continue;
		if (stack == NO_SUMMARY)
			continue;
		for (unsigned k = 0; w->how.measure == MEASURE_PEAK && k < parallel_workers(); k++)
			if (w->sums[k].rows)
				w->sums[k].rows[stack].weight = (struct weight){ 0 };
		merge_weights(&w->sums[0].rows[stack], &more);
	}
}

static void gather_arrays(struct weighing *w, struct stack_weights *out)
{
	size_t room = 0;

	for (uint64_t slot = 0; slot < w->slot_count; slot++) {
		const struct summary *all = w->summary;
		struct stack_weight sum = { .stack = all->rows[slot % all->count].stack,
					    .thread = (uint32_t)(slot / all->count) };

		for (unsigned i = 0; i < parallel_workers(); i++)
			if (w->sums[i].rows)
				merge_weights(&sum, &w->sums[i].rows[slot]);
		if (sum.weight.count)
			add_row(out, &room, &sum);
	}
	for (unsigned i = 0; i < parallel_workers(); i++)
		pages_free(w->sums[i].rows, w->slot_count * sizeof(*w->sums[i].rows));
}

ORDER(compare, struct stack_weight, RISING(thread) ?: RISING(stack))

static void gather_tables(struct weighing *w, struct stack_weights *out)
{
	struct sums *all = &w->sums[0];
	size_t room = 0;

	for (unsigned i = 1; i < parallel_workers(); i++) {
		struct sums *s = &w->sums[i];

		for (size_t k = 0; k < s->count; k++)
			merge_weights(row_of(all, s->rows[k].thread, s->rows[k].stack),
				      &s->rows[k]);
		map_release(&s->row_index);
		free(s->rows);
	}
	SORT(all->rows, all->count, compare);
	for (size_t k = 0; k < all->count; k++)
		add_row(out, &room, &all->rows[k]);
	map_release(&all->row_index);
	free(all->rows);
}

static void weigh(struct stack_weights *ret_weights, const struct view *v,
		  const struct measuring *how, bool by_thread)
{
	struct weighing w = {
		.v = v,
		.how = *how,
		.by_thread = by_thread,
		.summary = model_summary(v->model),
		.sums = xcalloc(parallel_workers(), sizeof(*w.sums)),
	};

	memset(ret_weights, 0, sizeof(*ret_weights));
	if (how->measure == MEASURE_PINNED) {
		blame_weigh(ret_weights, v, how, by_thread);
		free(w.sums);
		return;
	}
	w.slot_count = w.summary->count;
	if (by_thread)
		w.slot_count *= v->model->tables.threads.count + 1;
	w.in_table = by_thread && w.slot_count > SLOTS_MAX;
	parallel_for(rows_to_weigh(&v->model->allocations, how), BLOCK, weigh_block, &w);
	add_removed(&w);
	if (w.in_table)
		gather_tables(&w, ret_weights);
	else
		gather_arrays(&w, ret_weights);
	free(w.sums);
}

void weigh_stacks(struct stack_weights *ret_weights, const struct view *v,
		  const struct measuring *how, bool by_thread)
{
	if (v->source)
		view_source_weigh(v->source, ret_weights, how, by_thread);
	else if (v->weight_cache)
		weight_cache_get(v->weight_cache, ret_weights, v, how, by_thread, weigh);
	else
		weigh(ret_weights, v, how, by_thread);
}

void view_source_weigh(struct view_source *s, struct stack_weights *ret_weights,
		       const struct measuring *how, bool by_thread)
{
	memset(ret_weights, 0, sizeof(*ret_weights));
	if (!s->error)
		s->error = s->weigh(s, ret_weights, how, by_thread, &s->err);
	if (s->error)
		stack_weights_release(ret_weights);
}

void stack_weights_release(struct stack_weights *s)
{
	free(s->rows);
	memset(s, 0, sizeof(*s));
}
