/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a curve means.  See verdict_curve.h; docs/verdicts.md has the rules in words. */
#include <math.h>
#include <string.h>

#include "query/verdict_curve.h"

#define START_UP_SHARE 0.15 /* of the run: what grew only until then belongs to its start */
#define QUANTILES 50
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
		double level = c->now * (q + 0.5) / QUANTILES;

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

/* The first piece from which on there never is less than `level`, and the stamp of the event in it
 * that led there: the last one, where the piece has several. */
static uint32_t reached_for_good(const struct curve *c, double level, uint64_t *ret_at)
{
	for (uint32_t i = c->count; i-- > 0;) {
		const struct curve_piece *p = &c->pieces[i];

		if (fmin(p->before, p->after) < level) {
			/* Its end is not below, or the piece behind it had been found. */
			*ret_at = p->last_at;
			return i;
		}
		if (!i || c->pieces[i - 1].end < level) {
			*ret_at = p->first_at;
			return i;
		}
	}
	*ret_at = c->work->to;
	return 0;
}

/* The stamps of the first and of the last growth: when what is kept at the end was reached, less
 * the last fiftieth. */
static void find_times(struct verdict *v, const struct curve *c)
{
	const struct work *w = c->work;
	uint64_t first, grown;
	uint32_t i;

	reached_for_good(c, c->now / QUANTILES / 2, &first);
	i = reached_for_good(c, c->now * (1 - 1.0 / QUANTILES), &grown);
	while (++i < c->count)
		v->later_count += c->pieces[i].allocations;
	v->first_ns = (uint64_t)((double)(first - w->from) * w->ns_per_tick);
	v->grown_ns = (uint64_t)((double)(grown - w->from) * w->ns_per_tick);
	v->grown_share = (double)(grown - w->from) / (double)(w->to - w->from);
	v->grown_work = work_active(w, grown);
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
	if (last_step >= c->now * DOUBLING && pause <= g->longest * GAP_DOUBLING)
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
	       before + last >= c->now * STEADY_LEAST;
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

static void judge_bounded(struct verdict *v, const struct curve *c)
{
	v->class = VERDICT_BOUNDED;
	v->reason = REASON_STOPPED;
	v->confidence = limited((1 - v->grown_work) * 2);
	if (v->confidence >= LEVEL_SURE)
		return;
	if (is_level(c))
		v->reason = REASON_LEVEL;
	else if (is_slowing(c) && v->grown_work < SLOWED)
		v->reason = REASON_SLOWING;
	else
		return;
	v->confidence = LEVEL_SURE;
}

void curve_judge(struct verdict *v, const struct curve *c)
{
	const struct work *w = c->work;
	double seconds = (double)(w->to - w->from) * w->ns_per_tick / 1e9, late;
	struct growth g;
	struct line line;

	find_growth(&g, c);
	find_times(v, c);
	line = fit_line(c->middle + g.first, CURVE_BUCKETS - g.first);
	late = c->now > 0 ? (c->now - c->floors[CURVE_BUCKETS * 2 / 3]) / c->now : 0;
	v->late_share = late < 0 ? 0 : late;
	v->late_bytes = (uint64_t)(c->now - c->floors[CURVE_BUCKETS / 2]);
	v->steps = g.steps;
	v->drops = c->drops;
	v->fit = line.fit;
	/* A bucket is a part of the active time, not of all. */
	v->bytes_per_second = seconds > 0 ? line.slope * CURVE_BUCKETS / seconds : 0;
	if (!(c->now > 0)) {
		/* What is left was allocated when the work was done. */
		v->class = c->drops >= SAW_DROPS ? VERDICT_SAWTOOTH : VERDICT_UNCLEAR;
		v->confidence = c->drops >= SAW_DROPS ? limited(c->drops / 6.0) : 0.3;
	} else if (v->grown_share <= START_UP_SHARE && c->drops < SAW_DROPS &&
		   v->later_count * 20 <= v->allocated_count) {
		v->class = VERDICT_START_UP;
		v->confidence = limited(1 - v->grown_share / START_UP_SHARE / 2);
	} else if (is_steady(c) && !still_growing(c, &g, late)) {
		v->class = VERDICT_GROWING;
		v->rate_is_late = true;
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
		judge_bounded(v, c);
	}
	if (v->confidence < SURE_ENOUGH)
		v->class = VERDICT_UNCLEAR;
}
