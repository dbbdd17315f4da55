/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Curves of what is alive.  See verdict_curve.h. */
#include "query/verdict_curve.h"

#include <math.h>
#include <string.h>

#include "base/xalloc.h"

#define DROP 0.5	/* of what there was, to be a drop */
#define DROP_WORTH 0.25 /* of the most, to be looked at */

double work_active(const struct work *w, uint64_t stamp)
{
	double slot;
	unsigned i;

	if (stamp <= w->from)
		return 0;
	slot = (double)(stamp - w->from) / (double)(w->to - w->from) * CURVE_SLOTS;
	if (slot >= CURVE_SLOTS)
		return 1;
	i = (unsigned)slot;
	return w->active[i] + (w->active[i + 1] - w->active[i]) * (slot - i);
}

void work_cut(struct work *w)
{
	double span = (double)(w->to - w->from) / CURVE_SLOTS;
	unsigned slot = 0;

	for (unsigned i = 0; i <= CURVE_PIECES; i++) {
		double done = (double)i / CURVE_PIECES, inside;

		while (slot < CURVE_SLOTS - 1 && w->active[slot + 1] < done)
			slot++;
		inside = w->active[slot + 1] - w->active[slot];
		inside = inside > 0 ? (done - w->active[slot]) / inside : 0;
		w->borders[i] = w->from + (uint64_t)(span * (slot + (inside < 0 ? 0 : inside)));
	}
}

void curve_init(struct curve *c, const struct work *w, uint64_t count)
{
	memset(c, 0, sizeof(*c));
	c->work = w;
	c->coarse = count > CURVE_PIECES;
}

static struct curve_piece *piece_at(struct curve *c, uint64_t at)
{
	const uint64_t *borders = c->work->borders;
	uint32_t before = c->part;
	struct curve_piece *p;

	while (c->coarse && c->part < CURVE_PIECES - 1 && at >= borders[c->part + 1])
		c->part++;
	if (c->coarse && c->count && c->part == before)
		return &c->pieces[c->count - 1];
	if (c->count == c->room) {
		c->room = c->room ? c->room * 2 : 16;
		c->pieces = xrealloc(c->pieces, c->room * sizeof(*c->pieces));
	}
	p = &c->pieces[c->count++];
	*p = (struct curve_piece){ .first_at = at, .high = -INFINITY, .before = INFINITY };
	p->after = INFINITY;
	return p;
}

static void curve_take(struct curve *c)
{
	struct curve_piece *p = piece_at(c, c->pending_at);
	double now = c->now += c->pending;

	p->last_at = c->pending_at;
	p->end = now;
	p->allocations += c->pending_allocations;
	if (now > p->high) {
		p->before = fmin(fmin(p->before, p->after), now);
		p->high = p->after = now;
	} else if (now < p->after) {
		p->after = now;
	}
	c->most = now > c->most ? now : c->most;
}

void curve_add(struct curve *c, uint64_t at, double change, bool allocated)
{
	if (c->has_pending && at != c->pending_at) {
		curve_take(c);
		c->pending = 0;
		c->pending_allocations = 0;
	}
	c->has_pending = true;
	c->pending_at = at;
	c->pending += change;
	c->pending_allocations += allocated;
}

/* Falls by half or more, from something worth it; it must rise again before the next. */
struct falling {
	double most, high, low;
	bool fallen;
	uint32_t drops;
};

static void fall_to(struct falling *f, double now)
{
	if (f->fallen) {
		f->low = now < f->low ? now : f->low;
		if (now < f->low + f->most * DROP_WORTH)
			return;
		f->fallen = false;
		f->high = now;
	}
	f->high = now > f->high ? now : f->high;
	if (f->high < f->most * DROP_WORTH || now > f->high * (1 - DROP))
		return;
	f->drops++;
	f->fallen = true;
	f->low = now;
}

static uint32_t count_drops(const struct curve *c)
{
	struct falling f = { .most = c->most };

	for (uint32_t i = 0; i < c->count; i++) {
		const struct curve_piece *p = &c->pieces[i];

		fall_to(&f, p->before);
		fall_to(&f, p->high);
		fall_to(&f, p->after);
		fall_to(&f, p->end);
	}
	return f.drops;
}

static double least_in(const struct curve_piece *p)
{
	return p->before < p->after ? p->before : p->after;
}

void curve_end(struct curve *c)
{
	double now = 0, low = 0, high = 0;
	unsigned bucket = 0;

	if (c->has_pending)
		curve_take(c);
	c->has_pending = false;
	for (uint32_t i = 0; i <= c->count; i++) {
		const struct curve_piece *p = i < c->count ? &c->pieces[i] : NULL;
		unsigned to = CURVE_BUCKETS;

		if (p) {
			to = (unsigned)(work_active(c->work, p->first_at) * CURVE_BUCKETS);
			to = to < CURVE_BUCKETS ? to : CURVE_BUCKETS - 1;
		}
		for (; bucket < to; bucket++) {
			c->low[bucket] = low;
			c->middle[bucket] = (low + high) / 2;
			low = high = now;
		}
		if (i == c->count)
			break;
		low = fmin(low, least_in(p));
		high = fmax(high, p->high);
		now = p->end;
	}
	c->floors[CURVE_BUCKETS] = now;
	for (unsigned i = CURVE_BUCKETS; i-- > 0;)
		c->floors[i] = c->low[i] < c->floors[i + 1] ? c->low[i] : c->floors[i + 1];
	c->drops = count_drops(c);
}

void curve_release(struct curve *c)
{
	free(c->pieces);
	c->pieces = NULL;
}
