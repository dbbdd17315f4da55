/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each stack's own peak.  See peaks.h.
 *
 * One pass over the recording's events in time.  It is cut into stretches that are gone over at the
 * same time: each notes by how much every stack grew in it, and how far it was up at most; one
 * after the other they give the peaks. */
#include "query/peaks.h"

#include <pthread.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/event_iterator.h"

#define STRETCHES_MAX 8

struct growth {
	int64_t bytes, most;
	int32_t count, most_count;
	uint64_t at; /* of `most`; 0: nothing was allocated */
};

struct peaking {
	const struct view *v;
	uint64_t borders[STRETCHES_MAX + 1];
	struct growth *growths[STRETCHES_MAX];
};

static void walk_stretch(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct peaking *p = context;
	const struct model *m = p->v->model;
	const struct columns *c = &m->allocations;
	const struct nodes *nodes = &m->tables.nodes;

	for (uint64_t i = first; i < first + count; i++) {
		struct event_iterator t =
			event_iterator_between(m, p->borders[i], p->borders[i + 1]);

		while (event_iterator_next(&t)) {
			uint32_t stack = c->stack[t.row];
			struct growth *g = &p->growths[i][node_is_known(nodes, stack) ? stack : 0];
			int64_t size = (int64_t)columns_size(c, t.row);

			if (!view_has(p->v, t.row))
				continue;
			if (t.is_free) {
				g->bytes -= size;
				g->count--;
				continue;
			}
			g->bytes += size;
			g->count++;
			if (!g->at || g->bytes > g->most) {
				g->most = g->bytes;
				g->most_count = g->count;
				g->at = t.at;
			}
		}
	}
}

struct stack_peak *peaks_of_view(const struct view *v)
{
	const struct model *m = v->model;
	uint32_t n = m->tables.nodes.count ? m->tables.nodes.count : 1;
	struct stack_peak *peaks = xcalloc(n, sizeof(*peaks));
	unsigned pieces = parallel_workers() < STRETCHES_MAX ? parallel_workers() : STRETCHES_MAX;
	struct peaking p = { .v = v };
	size_t size = n * sizeof(struct growth);

	model_free_order(m);
	pieces = event_iterator_cut(m, 0, NEVER, pieces, p.borders);
	for (unsigned i = 0; i < pieces; i++)
		p.growths[i] = pages_grow(NULL, 0, size);
	parallel_for(pieces, 1, walk_stretch, &p);
	for (uint32_t stack = 0; stack < n; stack++) {
		struct stack_peak *peak = &peaks[stack];
		int64_t bytes = 0;
		int32_t count = 0;

		for (unsigned i = 0; i < pieces; i++) {
			const struct growth *g = &p.growths[i][stack];

			if (g->at && (!peak->at || bytes + g->most > (int64_t)peak->bytes)) {
				peak->bytes = (uint64_t)(bytes + g->most);
				peak->count = (uint32_t)(count + g->most_count);
				peak->at = g->at;
			}
			bytes += g->bytes;
			count += g->count;
		}
	}
	for (unsigned i = 0; i < pieces; i++)
		pages_free(p.growths[i], size);
	return peaks;
}

struct stack_peak *peaks_of_stacks(const struct model *m)
{
	return peaks_of_view(&(struct view){ .model = m });
}

const struct stack_peak *model_peaks(const struct model *m)
{
	struct summary *s = (struct summary *)model_summary(m); /* where it is kept */
	struct stack_peak *peaks;

	pthread_mutex_lock(&s->making_peaks);
	peaks = s->peaks;
	if (!peaks) {
		peaks = peaks_of_stacks(m);
		for (size_t i = 0; i < m->tables.removed.count; i++) {
			const struct statistics *r = &m->tables.removed.rows[i];

			if (node_is_known(&m->tables.nodes, r->stack) && r->own_peak_at)
				peaks[r->stack] = (struct stack_peak){
					.bytes = r->own_peak_bytes,
					.count = (uint32_t)r->own_peak_count,
					.at = r->own_peak_at,
				};
		}
		s->peaks = peaks;
	}
	pthread_mutex_unlock(&s->making_peaks);
	return peaks;
}
