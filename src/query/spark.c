/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small curves.  See spark.h. */
#include "query/spark.h"

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/series.h"

struct drawing {
	const struct sparks *s;
	uint64_t from;
	double per_tick;   /* points */
	int64_t **changes; /* by worker: by curve and point */
};

static uint32_t point_of(const struct drawing *d, uint64_t stamp)
{
	double at = stamp > d->from ? (double)(stamp - d->from) * d->per_tick : 0;

	return at < d->s->points - 1 ? (uint32_t)at : d->s->points - 1;
}

static void draw_window(const struct drawing *d, int64_t *changes, const struct columns *c,
			uint32_t first, uint32_t count)
{
	const struct sparks *s = d->s;
	const struct model *m = s->view->model;

	VIEW_EACH(s->view, first, count, row)
	{
		uint32_t key = s->by_thread ? tags_thread(columns_tags(c, row))
					    : answer_stack(m, columns_stack(c, row));
		uint32_t curve = s->curve_of[key];
		int64_t size = (int64_t)columns_size(c, row);

		if (curve == SPARK_NONE)
			continue;
		changes[(size_t)curve * s->points + point_of(d, columns_allocated_at(c, row))] +=
			size;
		if (columns_freed_at(c, row) != NEVER)
			changes[(size_t)curve * s->points +
				point_of(d, columns_freed_at(c, row))] -= size;
	}
}

static void draw_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct drawing *d = context;
	unsigned wanted = WANT_size | WANT_allocated_at | WANT_freed_at |
			  (d->s->by_thread ? WANT_tags : WANT_stack);
	struct columns_window w;

	EACH_WINDOW(at, n, first, count)
	draw_window(d, d->changes[worker], view_window(d->s->view, &w, at, n, wanted), at, n);
}

void sparks_draw(struct sparks *s)
{
	unsigned workers = parallel_workers();
	size_t count = (size_t)s->curves * s->points;
	struct drawing d = { .s = s };
	uint64_t to;

	series_whole(s->view->model, &d.from, &to);
	d.per_tick = to > d.from ? (double)s->points / (double)(to - d.from) : 0;
	d.changes = xcalloc(workers, sizeof(*d.changes));
	for (unsigned i = 0; i < workers; i++)
		d.changes[i] = xcalloc(count + 1, sizeof(**d.changes));
	if (count)
		parallel_for(s->view->model->allocations.count, VIEW_BLOCK, draw_block, &d);
	s->values = d.changes[0];
	for (size_t i = 0; i < count; i++) {
		for (unsigned w = 1; w < workers; w++)
			s->values[i] += d.changes[w][i];
		if (i % s->points)
			s->values[i] += s->values[i - 1];
	}
	for (unsigned i = 1; i < workers; i++)
		free(d.changes[i]);
	free(d.changes);
}

void sparks_release(struct sparks *s)
{
	free(s->values);
	s->values = NULL;
}
