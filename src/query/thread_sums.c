/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads, summed up on all cores.  See thread_sums.h. */
#include "query/thread_sums.h"

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/measure.h"

struct summing {
	const struct view *v;
	struct measuring peak;
	size_t threads;
	struct thread_sums **sums; /* by worker, then by thread; first and last are stamps */
};

static void sum_threads_window(const struct summing *s, struct thread_sums *sums,
			       const struct columns *c, uint32_t first, uint32_t count)
{
	bool has_peak = s->v->model->totals.peak_bytes;

	VIEW_EACH(s->v, first, count, row)
	{
		uint64_t size = columns_size(c, row), tags = columns_tags(c, row);
		struct thread_sums *t = &sums[tags_thread(tags)];
		bool freed = columns_freed_at(c, row) != NEVER;

		if (!t->allocated_count || columns_allocated_at(c, row) < t->first_ns)
			t->first_ns = columns_allocated_at(c, row);
		if (columns_allocated_at(c, row) > t->last_ns)
			t->last_ns = columns_allocated_at(c, row);
		t->allocated_bytes += size;
		t->allocated_count++;
		if (!freed) {
			t->leaked_bytes += size;
			t->leaked_count++;
		} else if (!(tags_flags(tags) & TAG_FREE_LOST) &&
			   tags_free_thread(tags) != tags_thread(tags)) {
			t->freed_by_other_bytes += size;
			t->freed_by_other_count++;
		}
		if (has_peak && measuring_takes(&s->peak, c, row)) {
			t->peak_bytes += size;
			t->peak_count++;
		}
		if (tags_flags(tags) & TAG_TEMPORARY) {
			t->temporary_bytes += size;
			t->temporary_count++;
		}
	}
}

static void sum_threads_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct summing *s = context;
	struct columns_window w;

	EACH_WINDOW(at, n, first, count)
	sum_threads_window(s, s->sums[worker],
			   view_window(s->v, &w, at, n,
				       WANT_size | WANT_tags | WANT_allocated_at | WANT_freed_at),
			   at, n);
}

static void add_thread(struct thread_sums *to, const struct thread_sums *t)
{
	uint64_t first = to->first_ns, last = to->last_ns;
	bool fresh = !to->allocated_count;

	if (!t->allocated_count)
		return;
#define X(name) to->name += t->name;
	THREAD_NUMBERS(X)
#undef X
	to->first_ns = fresh || t->first_ns < first ? t->first_ns : first;
	to->last_ns = t->last_ns > last ? t->last_ns : last;
}

struct thread_sums *thread_sums(const struct view *v)
{
	const struct model *m = v->model;
	unsigned workers = parallel_workers();
	struct summing s = { .v = v,
			     .peak = measuring_of(m, MEASURE_PEAK, 0),
			     .threads = m->tables.threads.count };
	struct thread_sums *all;

	s.sums = xcalloc(workers, sizeof(*s.sums));
	for (unsigned i = 0; i < workers; i++)
		s.sums[i] = xcalloc(s.threads + 1, sizeof(**s.sums));
	parallel_for(m->allocations.count, VIEW_BLOCK, sum_threads_block, &s);
	all = s.sums[0];
	for (unsigned i = 1; i < workers; i++) {
		for (size_t k = 0; k < s.threads; k++)
			add_thread(&all[k], &s.sums[i][k]);
		free(s.sums[i]);
	}
	free(s.sums);
	for (size_t k = 0; k < s.threads; k++)
		if (all[k].allocated_count) {
			all[k].first_ns = model_ns(m, all[k].first_ns);
			all[k].last_ns = model_ns(m, all[k].last_ns);
		}
	return all;
}
