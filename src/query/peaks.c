/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each stack's own peak.  See peaks.h.
 *
 * One pass over the recording's events in time.  It is cut into stretches that are gone over at the
 * same time: each notes by how much every stack grew in it, and how far it was up at most; one
 * after the other they give the peaks. */
#include "query/peaks.h"

#include <string.h>

#include "base/buf.h"
#include "base/hold_lock.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "model/cache.h"
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
			uint32_t stack = columns_stack(c, t.row);
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

#define KIND ".peaks"

/* Those that somebody found before, by row of the summary; NULL: nobody did. */
static struct stack_peak *peaks_found_before(const struct model *m, const struct summary *s)
{
	uint32_t n = m->tables.nodes.count ? m->tables.nodes.count : 1;
	struct scratch file;
	size_t size;
	const struct stack_peak *found = cache_beside_map(m, KIND, &file, &size);
	struct stack_peak *peaks = NULL;

	if (found && size == s->count * sizeof(*found)) {
		peaks = xcalloc(n, sizeof(*peaks));
		for (uint32_t i = 0; i < s->count; i++)
			peaks[s->rows[i].stack] = found[i];
	}
	scratch_release(&file);
	return peaks;
}

static void keep_peaks(const struct model *m, const struct summary *s,
		       const struct stack_peak *peaks)
{
	auto_buf struct buf bytes = { 0 };

	for (uint32_t i = 0; i < s->count; i++) {
		struct stack_peak to;

		memset(&to, 0, sizeof(to)); /* no byte of it is by chance */
		to.bytes = peaks[s->rows[i].stack].bytes;
		to.count = peaks[s->rows[i].stack].count;
		to.at = peaks[s->rows[i].stack].at;
		buf_add(&bytes, &to, sizeof(to));
	}
	cache_beside_put(m, KIND, bytes.data, bytes.size);
}

const struct stack_peak *model_peaks(const struct model *m)
{
	struct summary *s = (struct summary *)model_summary(m); /* where it is kept */
	struct stack_peak *peaks;

	parallel_whole(); /* it is kept for whoever asks next */
	hold_lock(&s->making_peaks);
	peaks = s->peaks ? s->peaks : peaks_found_before(m, s);
	s->peaks = peaks;
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
		keep_peaks(m, s, peaks);
	}
	return peaks;
}
