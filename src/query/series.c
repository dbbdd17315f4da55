/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time series.  See series.h.
 *
 * The events of the stretch are cut into pieces of about the same number that are gone over at the
 * same time, whatever the buckets are: a piece fills the buckets that it touches as if nothing had
 * been alive before it.  Put together one after the other, each is raised by what was. */
#include "query/series.h"

#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/event_iterator.h"
#include "wire/wide.h"

#define PIECES_MAX 64
#define ROWS_BLOCK 65536

struct sum {
	int64_t bytes, count, leaked_bytes, leaked_count;
};

/* A bucket, or the part of it that is in a piece. */
struct part {
	struct sum end; /* relative to the piece's start */
	int64_t most_bytes, most_count, most_bytes_count;
	uint64_t most_at;
	uint64_t allocated_bytes, allocated_count, freed_bytes, freed_count;
	bool any; /* most_* are set */
};

struct piece {
	uint32_t first, count; /* buckets */
	struct part *parts;
};

struct filling {
	const struct view *v;
	const struct series *s;
	uint64_t borders[PIECES_MAX + 1];
	struct piece pieces[PIECES_MAX];
	struct sum *before; /* by worker */
};

uint64_t series_edge(const struct series *s, uint32_t bucket)
{
	return s->from + wide_scale(s->to - s->from, bucket, s->count);
}

static uint32_t bucket_of(const struct series *s, uint64_t stamp)
{
	uint32_t b = (uint32_t)wide_scale(stamp - s->from, s->count, s->to - s->from);

	while (b + 1 < s->count && series_edge(s, b + 1) <= stamp)
		b++;
	return b;
}

static void note_most(struct part *p, const struct sum *now, uint64_t at)
{
	if (!p->any || now->bytes > p->most_bytes) {
		p->most_bytes = now->bytes;
		p->most_bytes_count = now->count;
		p->most_at = at;
	}
	if (!p->any || now->count > p->most_count)
		p->most_count = now->count;
	p->any = true;
}

static void add_event(struct part *p, struct sum *now, const struct columns *c, uint32_t row,
		      bool is_free)
{
	int64_t size = (int64_t)columns_size(c, row);

	if (is_free) {
		now->bytes -= size;
		now->count--;
		p->freed_bytes += (uint64_t)size;
		p->freed_count++;
		return;
	}
	now->bytes += size;
	now->count++;
	p->allocated_bytes += (uint64_t)size;
	p->allocated_count++;
	if (columns_freed_at(c, row) == NEVER) {
		now->leaked_bytes += size;
		now->leaked_count++;
	}
}

static void fill_piece(const struct filling *f, unsigned index)
{
	const struct columns *c = &f->v->model->allocations;
	uint64_t from = f->borders[index], to = f->borders[index + 1], edge;
	struct event_iterator t = event_iterator_between(f->v->model, from, to);
	const struct piece *piece = &f->pieces[index];
	struct part *p = piece->parts;
	uint32_t bucket = piece->first;
	struct sum now = { 0 };
	uint64_t looked_at = from; /* what is alive from here on was not looked at yet */
	bool more;

	edge = series_edge(f->s, bucket + 1);
	do {
		more = event_iterator_next(&t);
		if (more && !view_has(f->v, t.row))
			continue;
		/* What was alive until this event counts where it was alive for an instant. */
		while (p < piece->parts + piece->count && (!more || t.at >= edge)) {
			uint64_t end = edge < to ? edge : to;

			if (looked_at < end)
				note_most(p, &now, looked_at);
			p->end = now;
			looked_at = end;
			p++;
			bucket++;
			edge = series_edge(f->s, bucket + 1);
		}
		if (!more)
			break;
		if (looked_at < t.at)
			note_most(p, &now, looked_at);
		looked_at = t.at;
		add_event(p, &now, c, t.row, t.is_free);
	} while (more);
}

static void fill_part(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		fill_piece(context, (unsigned)i);
}

static void sum_before(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct filling *f = context;
	struct columns_window w;
	struct sum sum = { 0 };

	EACH_WINDOW(at, n, first, count)
	{
		const struct columns *c = view_window(f->v, &w, at, n, WANT_size | WANT_freed_at);

		VIEW_EACH(f->v, at, n, i)
		{
			int64_t size = (int64_t)columns_size(c, i);

			if (columns_freed_at(c, i) < f->s->from)
				continue;
			sum.bytes += size;
			sum.count++;
			if (columns_freed_at(c, i) == NEVER) {
				sum.leaked_bytes += size;
				sum.leaked_count++;
			}
		}
	}
	f->before[worker].bytes += sum.bytes;
	f->before[worker].count += sum.count;
	f->before[worker].leaked_bytes += sum.leaked_bytes;
	f->before[worker].leaked_count += sum.leaked_count;
}

static struct sum plus(struct sum a, struct sum b)
{
	return (struct sum){ a.bytes + b.bytes, a.count + b.count, a.leaked_bytes + b.leaked_bytes,
			     a.leaked_count + b.leaked_count };
}

static void set_end(struct series_point *point, struct sum end)
{
	point->bytes = (uint64_t)end.bytes;
	point->count = (uint64_t)end.count;
	point->leaked_bytes = (uint64_t)end.leaked_bytes;
	point->leaked_count = (uint64_t)end.leaked_count;
}

/* `seen`: this bucket has had a part already. */
static void raise(struct series_point *point, const struct part *p, struct sum base, bool seen)
{
	if (p->any) {
		uint64_t bytes = (uint64_t)(base.bytes + p->most_bytes);
		uint64_t count = (uint64_t)(base.count + p->most_count);

		if (!seen || bytes > point->most_bytes) {
			point->most_bytes = bytes;
			point->most_bytes_count = (uint64_t)(base.count + p->most_bytes_count);
			point->most_at = p->most_at;
		}
		if (!seen || count > point->most_count)
			point->most_count = count;
	}
	point->allocated_bytes += p->allocated_bytes;
	point->allocated_count += p->allocated_count;
	point->freed_bytes += p->freed_bytes;
	point->freed_count += p->freed_count;
	set_end(point, plus(base, p->end));
}

static void put_together(struct series *s, struct filling *f, unsigned pieces)
{
	struct sum base = { 0 };
	int64_t last = -1;

	for (unsigned w = 0; w < parallel_workers(); w++)
		base = plus(base, f->before[w]);
	set_end(&s->before, base);
	for (unsigned i = 0; i < pieces; i++) {
		struct piece *piece = &f->pieces[i];

		for (uint32_t k = 0; k < piece->count; k++) {
			uint32_t bucket = piece->first + k;

			raise(&s->points[bucket], &piece->parts[k], base, last == bucket);
			if (piece->parts[k].any)
				last = bucket;
		}
		base = plus(base, piece->parts[piece->count - 1].end);
		free(piece->parts);
	}
}

void series_init(struct series *s, const struct view *v, uint64_t from, uint64_t to, uint32_t count)
{
	unsigned pieces = parallel_workers() * 4 < PIECES_MAX ? parallel_workers() * 4 : PIECES_MAX;
	auto_free struct filling *f = xcalloc(1, sizeof(*f));

	memset(s, 0, sizeof(*s));
	s->from = from;
	s->to = to;
	s->count = count;
	s->points = xcalloc(count, sizeof(*s->points));
	f->v = v;
	f->s = s;
	f->before = xcalloc(parallel_workers(), sizeof(*f->before));
	model_free_order(v->model);
	pieces = event_iterator_cut(v->model, from, to, pieces, f->borders);
	for (unsigned i = 0; i < pieces; i++) {
		struct piece *piece = &f->pieces[i];

		piece->first = bucket_of(s, f->borders[i]);
		piece->count = bucket_of(s, f->borders[i + 1] - 1) - piece->first + 1;
		piece->parts = xcalloc(piece->count, sizeof(*piece->parts));
	}
	parallel_for(columns_from(&v->model->allocations, from), ROWS_BLOCK, sum_before, f);
	parallel_for(pieces, 1, fill_part, f);
	put_together(s, f, pieces);
	free(f->before);
}

void series_release(struct series *s)
{
	free(s->points);
	memset(s, 0, sizeof(*s));
}

void series_whole(const struct model *m, uint64_t *ret_from, uint64_t *ret_to)
{
	const struct totals *t = &m->totals;
	uint64_t from = model_info_number(m, "start_stamp", t->first_at), to = t->last_at;

	if (m->tables.clock_count && m->tables.last_clock.stamp > to)
		to = m->tables.last_clock.stamp;
	if (t->events && from > t->first_at)
		from = t->first_at;
	*ret_from = from;
	*ret_to = to < from ? from + 1 : to + 1;
}

struct view_peak view_peak(const struct view *v)
{
	struct view_peak peak = { 0 };
	auto_release(series_release) struct series s = { 0 };
	uint64_t from, to;

	series_whole(v->model, &from, &to);
	series_init(&s, v, from, to, 1);
	if (s.points[0].allocated_count)
		peak = (struct view_peak){ s.points[0].most_bytes, s.points[0].most_bytes_count,
					   s.points[0].most_at };
	return peak;
}
