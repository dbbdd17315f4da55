/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory maps over time.  See map_series.h. */
#include "query/map_series.h"

#include "base/xalloc.h"
#include "query/process_memory.h"

static void add_point(struct map_point *p, const struct map_history *m, const struct map_usage *u,
		      bool less)
{
	const struct region_usage *b = &u->bytes;
	uint64_t sign = less ? UINT64_MAX : 1;

	p->address_space += sign * u->address_space;
	p->rss += sign * b->rss;
	p->anonymous += sign * b->anonymous;
	p->dirty += sign * (b->shared_dirty + b->private_dirty);
	p->clean += sign * (b->shared_clean + b->private_clean);
	p->swap += sign * b->swap;
	if (map_is_programs(&m->rows[u->map]))
		p->mapped += sign * u->address_space;
}

/* Of many points, the last one of each of `count` equal parts of the time. */
static size_t thin_out(struct map_point *points, size_t n, size_t count)
{
	uint64_t from = points[0].at, to = points[n - 1].at;
	double part = (double)(to - from) / (double)count;
	size_t remaining = 0;

	for (size_t i = 0; i < n; i++) {
		double next = (double)(remaining + 1) * part;

		/* The next one is in the same part. */
		if (i + 1 < n && (double)(points[i + 1].at - from) < next)
			continue;
		points[remaining] = points[i];
		if (++remaining == count)
			break;
	}
	points[remaining - 1] = points[n - 1];
	return remaining;
}

size_t map_series(const struct map_list *l, size_t count, struct map_point **ret_points)
{
	const struct map_history *m = l->maps;
	struct map_point now = { 0 }, *points = NULL;
	size_t n = 0, room = 0;

	for (uint32_t i = 0; i < m->usage_count; i++) {
		uint32_t at = m->usage_order[i];
		const struct map_usage *u = &m->usages[at];

		if (!view_has(l->view, u->map))
			continue;
		if (at > m->rows[u->map].first_usage)
			add_point(&now, m, &m->usages[at - 1], true);
		add_point(&now, m, u, false);
		if (n && points[n - 1].at == u->at)
			n--;
		now.at = u->at;
		*xpush(points, n, room) = now;
	}
	*ret_points = points;
	return n > count && count ? thin_out(points, n, count) : n;
}
