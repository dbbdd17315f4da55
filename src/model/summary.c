/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums by stack.  See summary.h. */
#include "model/summary.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hold_lock.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/model.h"
#include "model/stats.h"
#include "pairing/columns_window.h"
#include "wire/event.h"

#define BLOCK (1u << 16)

void summary_add(struct summary_sums *to, const struct summary_sums *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
	to->slack += from->slack;
	to->leaked_count += from->leaked_count;
	to->leaked_bytes += from->leaked_bytes;
	to->min_size = MIN(to->min_size, from->min_size);
	to->max_size = MAX(to->max_size, from->max_size);
	to->first_at = MIN(to->first_at, from->first_at);
	to->last_at = MAX(to->last_at, from->last_at);
}

struct finding {
	const struct model *m;
	_Atomic uint8_t *used; /* by node */
};

/* A stack whose nodes are missing counts as none. */
static uint32_t known(const struct nodes *nodes, uint32_t stack)
{
	return node_is_known(nodes, stack) ? stack : STACK_NONE;
}

static void find_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct finding *f = context;
	const struct nodes *nodes = &f->m->tables.nodes;
	struct columns_window w;

	EACH_WINDOW(at, n, first, count)
	{
		const struct columns *c = columns_window(&w, &f->m->allocations, at, n, WANT_stack);

		for (uint32_t i = at; i < at + n; i++) {
			_Atomic uint8_t *mark = &f->used[known(nodes, columns_stack(c, i))];

			if (!atomic_load_explicit(mark, memory_order_relaxed))
				atomic_store_explicit(mark, 1, memory_order_relaxed);
		}
	}
}

/* Gives every stack that allocated a row. */
static void number_stacks(const struct model *m, struct summary *s)
{
	const struct nodes *nodes = &m->tables.nodes;
	struct finding f = { .m = m };
	uint32_t none;

	s->node_count = nodes->count ? nodes->count : 1;
	f.used = xcalloc(s->node_count, 1);
	parallel_for(m->allocations.count, BLOCK, find_block, &f);
	for (size_t i = 0; i < m->tables.removed.count; i++)
		if (m->tables.removed.rows[i].count)
			f.used[known(nodes, m->tables.removed.rows[i].stack)] = 1;
	s->row_of = xcalloc(s->node_count, sizeof(*s->row_of));
	for (uint32_t i = 0; i < s->node_count; i++)
		s->row_of[i] = f.used[i] ? s->count++ : NO_SUMMARY;
	none = s->row_of[STACK_NONE];
	s->rows = xcalloc(s->count + 1, sizeof(*s->rows));
	for (uint32_t i = 0; i < s->node_count; i++) {
		if (s->row_of[i] != NO_SUMMARY)
			s->rows[s->row_of[i]] =
				(struct summary_row){ .stack = i, .sums = SUMMARY_NOTHING };
		else if (!node_is_known(nodes, i))
			s->row_of[i] = none;
	}
	free((void *)f.used);
}

struct summing {
	const struct model *m;
	const struct summary *s;
	struct summary_sums **sums; /* by worker */
	uint32_t **first;	    /* by worker: each stack's first row */
};

static void sum_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct summing *t = context;
	struct summary_sums *sums = t->sums[worker];
	uint32_t *firsts = t->first[worker];
	struct columns_window w;

	EACH_WINDOW(at, n, first, count)
	{
		const struct columns *c =
			columns_window(&w, &t->m->allocations, at, n,
				       WANT_stack | WANT_size | WANT_allocated_at | WANT_freed_at);

		for (uint32_t row = at; row < at + n; row++) {
			uint32_t i = summary_row_of(t->s, columns_stack(c, row));

			firsts[i] = MIN(firsts[i], row);
			summary_count(&sums[i], columns_size(c, row), columns_slack_of(c, row),
				      columns_allocated_at(c, row), columns_freed_at(c, row));
		}
	}
}

static void sum_rows(const struct model *m, struct summary *s)
{
	unsigned workers = parallel_workers();
	struct summing t = { .m = m, .s = s };

	t.sums = xcalloc(workers, sizeof(*t.sums));
	t.first = xcalloc(workers, sizeof(*t.first));
	for (unsigned w = 0; w < workers; w++) {
		t.sums[w] = xcalloc(s->count + 1, sizeof(**t.sums));
		t.first[w] = xcalloc(s->count + 1, sizeof(**t.first));
		for (uint32_t i = 0; i < s->count; i++) {
			t.sums[w][i] = SUMMARY_NOTHING;
			t.first[w][i] = UINT32_MAX;
		}
	}
	parallel_for(m->allocations.count, BLOCK, sum_block, &t);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t first = UINT32_MAX;

		for (unsigned w = 0; w < workers; w++) {
			summary_add(&s->rows[i].sums, &t.sums[w][i]);
			first = MIN(first, t.first[w][i]);
		}
		if (first != UINT32_MAX)
			s->rows[i].call = tags_call(columns_tags(&m->allocations, first));
	}
	for (unsigned w = 0; w < workers; w++) {
		free(t.sums[w]);
		free(t.first[w]);
	}
	free(t.sums);
	free(t.first);
}

/* What is not there any more was freed. */
static void add_removed(const struct model *m, struct summary *s)
{
	for (size_t i = 0; i < m->tables.removed.count; i++) {
		const struct statistics *r = &m->tables.removed.rows[i];
		struct summary_row *row;

		if (!r->count)
			continue;
		row = &s->rows[summary_row_of(s, r->stack)];
		if (r->first_at < row->sums.first_at)
			row->call = r->call;
		summary_add(&row->sums, &(struct summary_sums){ .count = r->count,
								.bytes = r->bytes,
								.slack = r->slack,
								.min_size = r->min_size,
								.max_size = r->max_size,
								.first_at = r->first_at,
								.last_at = r->last_at });
	}
}

const struct summary *model_summary(const struct model *m)
{
	struct model *mutable = (struct model *)m; /* a cache: what it says does not change */
	struct summary *s = atomic_load_explicit(&mutable->summary, memory_order_acquire);

	if (s)
		return s;
	parallel_whole(); /* it is kept for whoever asks next */
	hold_lock(&mutable->building_summary);
	s = atomic_load_explicit(&mutable->summary, memory_order_acquire);
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		number_stacks(m, s);
		sum_rows(m, s);
		add_removed(m, s);
		atomic_store_explicit(&mutable->summary, s, memory_order_release);
	}
	return s;
}

struct summary *summary_free(struct summary *s)
{
	if (!s)
		return NULL;
	if (s->mapped) {
		pages_free(s->rows, s->count * sizeof(*s->rows));
		pages_free(s->row_of, s->node_count * sizeof(*s->row_of));
	} else {
		free(s->rows);
		free(s->row_of);
	}
	free(s->peaks);
	free(s);
	return NULL;
}
