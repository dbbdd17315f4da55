/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Views.  See view.h. */
#include "query/view.h"

#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/condition.h"
#include "query/plan.h"
#include "query/responsible.h"
#include "query/view_source.h"
#include "query/weight_cache.h"

struct selecting {
	struct view *v;
	const struct plan *plan;
	struct {
		uint64_t count, bytes;
	} * sums; /* by worker */
};

static void sum_block(struct selecting *s, unsigned worker, uint32_t first, uint32_t count)
{
	struct columns_window w;
	uint64_t rows = 0, bytes = 0;

	EACH_WINDOW(at, n, first, count)
	{
		const struct columns *c = view_window(s->v, &w, at, n, WANT_size);

		VIEW_EACH(s->v, at, n, row)
		{
			rows++;
			bytes += columns_size(c, row);
		}
	}
	s->sums[worker].count += rows;
	s->sums[worker].bytes += bytes;
}

static void select_rows(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct selecting *s = context;

	for (uint64_t at = first; at < first + count; at += PLAN_BLOCK) {
		uint64_t left = first + count - at;

		plan_run(s->plan, (uint32_t)at, left < PLAN_BLOCK ? (uint32_t)left : PLAN_BLOCK,
			 &s->v->bits[at / 64]);
	}
	sum_block(s, worker, (uint32_t)first, (uint32_t)count);
}

struct view *view_new(const struct model *m, struct locations *p, const struct filter *f,
		      struct err *err)
{
	struct view *v = xcalloc(1, sizeof(*v));
	struct selecting s = { .v = v };
	struct plan *plan;
	unsigned workers = parallel_workers();

	*v = (struct view){ .model = m, .locations = p, .filter = f };
	if (f && (f->hidden || f->own)) {
		v->responsible = responsible_new(m, p, f, err);
		if (!v->responsible)
			return view_free(v);
	}
	if (filter_is_empty(f)) {
		v->count = m->allocations.count;
		v->bytes = m->recorded.allocated_bytes;
		return v;
	}
	plan = plan_new(v, f, err);
	if (!plan)
		return view_free(v);
	v->bits = xcalloc((size_t)m->allocations.count / 64 + PLAN_WORDS, sizeof(*v->bits));
	s.plan = plan;
	s.sums = xcalloc(workers, sizeof(*s.sums));
	parallel_for(m->allocations.count, VIEW_BLOCK, select_rows, &s);
	for (unsigned i = 0; i < workers; i++) {
		v->count += (uint32_t)s.sums[i].count;
		v->bytes += s.sums[i].bytes;
	}
	free(s.sums);
	plan_free(plan);
	return v;
}

/* A row by itself takes as long as a dozen that are unpacked one after the other. */
#define WORTH_UNPACKING 16

const struct columns *view_window(const struct view *v, struct columns_window *w, uint32_t first,
				  uint32_t count, unsigned wanted)
{
	const struct columns *c = &v->model->allocations;
	uint32_t matching = 0;

	if (!c->packed)
		return c;
	for (uint32_t i = first / 64; v->bits && i * 64 < first + count; i++)
		matching += (uint32_t)__builtin_popcountll(v->bits[i]);
	if (v->bits && matching <= count / WORTH_UNPACKING)
		return c;
	return columns_window_unpack(w, c, first, count, wanted);
}

struct view *view_free(struct view *v)
{
	if (!v)
		return NULL;
	v->weight_cache = weight_cache_free(v->weight_cache);
	responsible_free(v->responsible);
	free(v->bits);
	if (v->source)
		v->source->release(v->source);
	free(v);
	return NULL;
}

void view_cache_weights(struct view *v)
{
	if (!v->weight_cache)
		v->weight_cache = weight_cache_new();
}

uint32_t view_rows(const struct view *v, uint32_t n, uint32_t count, uint32_t *ret_rows)
{
	uint32_t end = v->model->allocations.count, row = 0, found = 0;

	if (!v->bits) {
		row = n < end ? n : end;
	} else { /* whole words are counted, not looked through */
		for (; row < end; row += 64) {
			uint32_t here = (uint32_t)__builtin_popcountll(v->bits[row / 64]);

			if (n < here)
				break;
			n -= here;
		}
		row = view_next(v, row, end);
		while (n-- && row < end)
			row = view_next(v, row + 1, end);
	}
	for (; row < end && found < count; row = view_next(v, row + 1, end))
		ret_rows[found++] = row;
	return found;
}
