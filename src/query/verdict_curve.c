/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Curves and what they mean.  See verdict_curve.h; docs/verdicts.md has the rules in words. */
#include "query/verdict_curve.h"

#include <math.h>
#include <string.h>

#define START_UP_SHARE 0.15 /* of the run: what grew only until then belongs to its start */
#define QUANTILES 50
#define DROP 0.5	/* of what there was, to be a drop */
#define DROP_WORTH 0.25 /* of the most, to be looked at */
#define SAW_DROPS 3
#define SAW_KEPT 0.35	    /* of the most: a saw keeps less */
#define LATE 0.12	    /* of the growth in the last third, to be still growing */
#define TREND 0.10	    /* of the most: rise of the line through the last half */
#define TREND_STRAIGHT 0.02 /* the same, where the line fits */
#define FIT_STRAIGHT 0.9
#define GAP 1.6		    /* pauses as long as this times the longest before are an end */
#define DOUBLING 0.4	    /* of all in the last step: a table that grows by doubling */
#define GAP_DOUBLING 2.0    /* its pauses double too */
#define PAUSE_MIN 0.12	    /* of the work */
#define STEADY_BUCKETS 0.75 /* of the last half in which something was added, to be steady */
#define STEADY_PACE 0.7	    /* of what the quarter before brought, in the last quarter */
#define STEADY_LEAST 0.005  /* of what there is, in the last half */
#define LEVEL 1.05	    /* times what there was before is not more */
#define SLOWING 0.6	    /* of what the quarter before brought is less and less */
#define SLOWED 0.9	    /* of the run: what slows down and grew until later may go on */
#define LEVEL_SURE 0.6	    /* what is level is bounded, though it moves to the end */
#define SURE_ENOUGH 0.45    /* less is not called by a name that says what it is */

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

/* Falls by half or more, from something worth it; it must rise again before the next. */
static void count_drops(struct curve *c, const struct curve_event *events, size_t count)
{
	double now = 0, high = 0, low = 0;
	bool fallen = false;

	for (size_t i = 0; i < count; i++) {
		now += events[i].change;
		if (fallen) {
			low = now < low ? now : low;
			if (now < low + c->most * DROP_WORTH)
				continue;
			fallen = false;
			high = now;
		}
		high = now > high ? now : high;
		if (high < c->most * DROP_WORTH || now > high * (1 - DROP))
			continue;
		c->drops++;
		fallen = true;
		low = now;
	}
}

void curve_draw(struct curve *c, const struct work *w, const struct curve_event *events,
		size_t count)
{
	double now = 0, low = 0, high = 0;
	unsigned bucket = 0;

	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i <= count; i++) {
		unsigned to = CURVE_BUCKETS;

		if (i < count) {
			to = (unsigned)(work_active(w, events[i].at) * CURVE_BUCKETS);
			to = to < CURVE_BUCKETS ? to : CURVE_BUCKETS - 1;
		}
		for (; bucket < to; bucket++) {
			c->low[bucket] = low;
			c->middle[bucket] = (low + high) / 2;
			low = high = now;
		}
		if (i == count)
			break;
		now += events[i].change;
		low = now < low ? now : low;
		high = now > high ? now : high;
		c->most = now > c->most ? now : c->most;
	}
	c->last = now;
	c->floors[CURVE_BUCKETS] = now;
	for (unsigned i = CURVE_BUCKETS; i-- > 0;)
		c->floors[i] = c->low[i] < c->floors[i + 1] ? c->low[i] : c->floors[i + 1];
	count_drops(c, events, count);
}

struct line {
	double slope, fit; /* a bucket; R² */
};

static struct line fit_line(const double *y, unsigned n)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, a, b;

	for (unsigned i = 0; i < n; i++) {
		sx += i;
		sy += y[i];
		sxx += (double)i * i;
		sxy += i * y[i];
		syy += y[i] * y[i];
	}
	a = n * sxy - sx * sy;
	b = (n * sxx - sx * sx) * (n * syy - sy * sy);
	return (struct line){
		.slope = n > 1 ? a / (n * sxx - sx * sx) : 0,
		.fit = b > 0 ? a * a / b : 0,
	};
}

/* When each fiftieth of what is kept was there for good. */
struct growth {
	double at[QUANTILES];	     /* 0 … 1 of the active time */
	double longest;		     /* pause between two of them */
	unsigned steps, first, last; /* buckets of the first and the last */
};

static void find_growth(struct growth *g, const struct curve *c)
{
	unsigned bucket = 0, before = UINT32_MAX;

	memset(g, 0, sizeof(*g));
	for (unsigned q = 0; q < QUANTILES; q++) {
		double level = c->last * (q + 0.5) / QUANTILES;

		while (bucket < CURVE_BUCKETS && c->floors[bucket + 1] < level)
			bucket++;
		g->at[q] = (bucket + 0.5) / CURVE_BUCKETS;
		if (!q)
			g->first = bucket;
		else if (g->at[q] - g->at[q - 1] > g->longest)
			g->longest = g->at[q] - g->at[q - 1];
		g->steps += bucket != before;
		before = bucket;
	}
	g->last = bucket < CURVE_BUCKETS ? bucket : CURVE_BUCKETS - 1;
}

/* The stamps of the first and of the last growth: when what is kept at the end was reached, less
 * the last fiftieth. */
static void find_times(struct verdict *v, const struct curve *c, const struct work *w,
		       const struct curve_event *events, size_t count)
{
	double now = c->last, low = c->last;
	uint64_t grown = w->to, first = w->to;

	/* Backwards: `low` is the least that there is from here on. */
	for (size_t i = count; i-- > 0;) {
		now -= events[i].change;
		low = now < low ? now : low;
		if (low >= c->last * (1 - 1.0 / QUANTILES))
			grown = events[i].at;
		if (low >= c->last / QUANTILES / 2)
			first = events[i].at;
		else
			break;
	}
	/* The event that led there is the one before. */
	for (size_t i = count; i-- > 0;) {
		if (events[i].at < first) {
			first = events[i].at;
			break;
		}
	}
	for (size_t i = count; i-- > 0;) {
		if (events[i].at < grown) {
			grown = events[i].at;
			break;
		}
	}
	v->first_ns = (uint64_t)((double)(first - w->from) * w->ns_per_tick);
	v->grown_ns = (uint64_t)((double)(grown - w->from) * w->ns_per_tick);
	v->grown_share = (double)(grown - w->from) / (double)(w->to - w->from);
	for (size_t i = 0; i < count; i++)
		v->later_count += events[i].allocated && events[i].at > grown;
}

static bool still_growing(const struct curve *c, const struct growth *g, double late)
{
	unsigned half = CURVE_BUCKETS / 2;
	struct line line = fit_line(c->middle + half, half);
	double rise = line.slope * half / c->most, pause = 1 - g->at[QUANTILES - 1];
	double last_step = c->floors[g->last + 1] - c->floors[g->last];

	if (g->steps < 3)
		return false;
	/* Something that is added to all the time, and doubles when it is full. */
	if (last_step >= c->last * DOUBLING && pause <= g->longest * GAP_DOUBLING)
		return true;
	if (late < LATE)
		return false;
	if (pause > PAUSE_MIN && pause > g->longest * GAP)
		return false;
	return rise >= TREND || (rise >= TREND_STRAIGHT && line.fit >= FIT_STRAIGHT);
}

/* Adds as much as before, all the time, be it little beside what came first, or beside what is
 * freed again: a leak of a stack that has done something else too. */
static bool is_steady(const struct curve *c)
{
	unsigned half = CURVE_BUCKETS / 2, quarter = CURVE_BUCKETS * 3 / 4, rising = 0;
	double before = c->floors[quarter] - c->floors[half];
	double last = c->floors[CURVE_BUCKETS] - c->floors[quarter];

	for (unsigned i = half; i < CURVE_BUCKETS; i++)
		rising += c->floors[i + 1] > c->floors[i];
	return rising >= half * STEADY_BUCKETS && last >= before * STEADY_PACE &&
	       before + last >= c->last * STEADY_LEAST;
}

static double mean(const double *y, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += y[i];
	return sum / n;
}

/* Has no more in the last quarter than in the half before it. */
static bool is_level(const struct curve *c)
{
	unsigned quarter = CURVE_BUCKETS / 4;

	return mean(c->middle + 3 * quarter, quarter) <=
	       mean(c->middle + quarter, 2 * quarter) * LEVEL;
}

/* Each quarter brings much less than the one before: a table that has nearly all of its keys. */
static bool is_slowing(const struct curve *c)
{
	unsigned quarter = CURVE_BUCKETS / 4;
	double second = c->floors[2 * quarter] - c->floors[quarter];
	double third = c->floors[3 * quarter] - c->floors[2 * quarter];
	double last = c->floors[4 * quarter] - c->floors[3 * quarter];

	return third <= second * SLOWING && last <= third * SLOWING;
}

static double limited(double value)
{
	return value < 0.3 ? 0.3 : value > 0.99 ? 0.99 : value;
}

void curve_judge(struct verdict *v, const struct curve *c, const struct work *w,
		 const struct curve_event *events, size_t count)
{
	double seconds = (double)(w->to - w->from) * w->ns_per_tick / 1e9, late;
	struct growth g;
	struct line line;

	find_growth(&g, c);
	find_times(v, c, w, events, count);
	line = fit_line(c->middle + g.first, CURVE_BUCKETS - g.first);
	late = c->last > 0 ? (c->last - c->floors[CURVE_BUCKETS * 2 / 3]) / c->last : 0;
	v->late_share = late < 0 ? 0 : late;
	v->steps = g.steps;
	v->drops = c->drops;
	v->fit = line.fit;
	/* A bucket is a part of the active time, not of all. */
	v->bytes_per_second = seconds > 0 ? line.slope * CURVE_BUCKETS / seconds : 0;
	if (!(c->last > 0)) {
		/* What is left was allocated when the work was done. */
		v->class = c->drops >= SAW_DROPS ? VERDICT_SAWTOOTH : VERDICT_UNCLEAR;
		v->confidence = c->drops >= SAW_DROPS ? limited(c->drops / 6.0) : 0.3;
	} else if (v->grown_share <= START_UP_SHARE && c->drops < SAW_DROPS &&
		   v->later_count * 20 <= v->allocated_count) {
		v->class = VERDICT_START_UP;
		v->confidence = limited(1 - v->grown_share / START_UP_SHARE / 2);
	} else if (is_steady(c) && !still_growing(c, &g, late)) {
		v->class = VERDICT_GROWING;
		line = fit_line(c->floors + CURVE_BUCKETS / 2, CURVE_BUCKETS / 2 + 1);
		v->fit = line.fit;
		v->bytes_per_second = seconds > 0 ? line.slope * CURVE_BUCKETS / seconds : 0;
		v->confidence = limited(line.fit);
	} else if (c->drops >= SAW_DROPS &&
		   c->floors[CURVE_BUCKETS * 6 / 10] <= c->most * SAW_KEPT) {
		v->class = VERDICT_SAWTOOTH;
		v->confidence = limited(c->drops / 6.0);
	} else if (still_growing(c, &g, late)) {
		v->class = VERDICT_GROWING;
		v->confidence = limited(sqrt(line.fit) * fmin(1, g.steps / 8.0));
	} else {
		double pause =
			1 -
			work_active(w, w->from + (uint64_t)((double)v->grown_ns / w->ns_per_tick));

		v->class = VERDICT_BOUNDED;
		v->confidence = limited(pause * 2);
		if (v->confidence < LEVEL_SURE) {
			v->level = is_level(c);
			if (v->level || (is_slowing(c) && v->grown_share < SLOWED))
				v->confidence = LEVEL_SURE;
		}
	}
	if (v->confidence < SURE_ENOUGH)
		v->class = VERDICT_UNCLEAR;
}
