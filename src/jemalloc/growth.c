/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Growth of size classes.  See growth.h. */
#include "jemalloc/growth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "jemalloc/sampled.h"
#include "jemalloc/when.h"

#define HOUR 3600.0
/* A window that moves is at least so long, however often it is looked: a verdict takes a minute. */
#define WINDOW_SECONDS (1.5 * GROWTH_LEAST_SECONDS)
#define STEADY_BYTES (UINT64_C(64) << 10)
#define STEADY_FIT 0.8
/* Fewer are no line, and what a program does when it starts fits one. */
#define STEADY_SAMPLES 8

static uint64_t *growth_row(const struct growth *g, size_t sample)
{
	return g->bytes + sample * GROWTH_CLASSES;
}

static void growth_start(struct growth *g)
{
	g->class_count = g->sample_count = 0;
	g->skip = g->skipped = 0;
	g->clock = GROWTH_NO_CLOCK;
}

/* Every second one, from the first on. */
static void thin(struct growth *g)
{
	size_t remaining = 0;

	for (size_t i = 0; i < g->sample_count; i += 2, remaining++) {
		g->times[remaining] = g->times[i];
		if (remaining != i)
			memcpy(growth_row(g, remaining), growth_row(g, i),
			       GROWTH_CLASSES * sizeof(*g->bytes));
	}
	g->sample_count = remaining;
	g->skip = g->skip ? g->skip * 2 : 2;
	g->skipped = 0;
}

static void drop_oldest(struct growth *g, size_t limit)
{
	size_t drop = g->sample_count - limit + 1;

	g->sample_count -= drop;
	memmove(g->times, g->times + drop, g->sample_count * sizeof(*g->times));
	memmove(g->bytes, growth_row(g, drop),
		g->sample_count * GROWTH_CLASSES * sizeof(*g->bytes));
}

/* `at` is where the last one was found: they come in the same order each time. */
static void growth_take_class(struct growth *g, uint64_t size, uint64_t bytes, bool large,
			      size_t *at)
{
	size_t seen = 0;

	if (size >= STATS_NONE || bytes >= STATS_NONE)
		return;
	for (; seen < g->class_count; seen++, *at = *at + 1 < g->class_count ? *at + 1 : 0)
		if (g->classes[*at].size == size)
			break;
	if (seen == g->class_count) {
		if (!bytes || g->class_count == GROWTH_CLASSES)
			return;
		*at = g->class_count++;
		g->classes[*at] = (struct growth_class){ .size = size, .large = large };
		for (size_t s = 0; s < g->sample_count; s++)
			growth_row(g, s)[*at] = 0;
	}
	growth_row(g, g->sample_count)[*at] = bytes;
}

/* False: this snapshot has no place in time. */
static bool time_of_snapshot(struct growth *g, const struct stats *s, int64_t time_ns,
			     double *ret_time)
{
	uint64_t age = stats_uptime(s);

	if (age < STATS_NONE) {
		if (age < g->uptime) {
			g->restarts++;
			growth_start(g);
		}
		g->uptime = age;
	}
	if (g->clock == GROWTH_NO_CLOCK)
		g->clock = time_ns != WHEN_NONE ? GROWTH_WALL
			   : age < STATS_NONE	? GROWTH_UPTIME
						: GROWTH_SNAPSHOTS;
	if (g->clock == GROWTH_WALL ? time_ns == WHEN_NONE
				    : g->clock == GROWTH_UPTIME && age >= STATS_NONE)
		return false;
	*ret_time = g->clock == GROWTH_WALL	? (double)time_ns / 1e9
		    : g->clock == GROWTH_UPTIME ? (double)age / 1e9
						: (double)g->seen;
	return true;
}

/* Room for one more sample; false: this one is left out. */
static bool growth_begin_sample(struct growth *g, const struct stats *s, int64_t time_ns)
{
	size_t limit = g->limit && g->limit < GROWTH_SAMPLES ? g->limit : GROWTH_SAMPLES;
	double time;

	if (!time_of_snapshot(g, s, time_ns, &time))
		return false;
	g->seen++;
	if (g->skip && ++g->skipped < g->skip)
		return false;
	g->skipped = 0;
	if (!g->bytes)
		g->bytes = xcalloc((size_t)GROWTH_SAMPLES * GROWTH_CLASSES, sizeof(*g->bytes));
	if (g->sample_count >= limit && g->moving && growth_span(g) >= WINDOW_SECONDS)
		drop_oldest(g, limit);
	else if (g->sample_count >= limit)
		thin(g);
	g->times[g->sample_count] = time;
	memset(growth_row(g, g->sample_count), 0, GROWTH_CLASSES * sizeof(*g->bytes));
	return true;
}

static uint64_t less(uint64_t bytes, uint64_t taken)
{
	return bytes >= STATS_NONE ? bytes : bytes > taken ? bytes - taken : 0;
}

/* What the heap profiler may have in the class that it puts samples in: bytes, at most. */
static uint64_t profiler_bytes(const struct sampled *p, uint64_t size)
{
	return p->in == SAMPLED_LARGE && p->home && size == p->home ? p->most * size : 0;
}

void growth_add(struct growth *g, const struct stats *s, const struct stats_arena *whole,
		int64_t time_ns)
{
	struct sampled profiler;
	size_t at = 0;

	if (!whole || !growth_begin_sample(g, s, time_ns))
		return;
	sampled_make(&profiler, s, whole, false);
	for (size_t i = 0; i < whole->bins.count; i++) {
		const uint64_t *b = stats_row(&whole->bins, i);

		growth_take_class(g, b[STATS_BIN_SIZE], b[STATS_BIN_ALLOCATED], false, &at);
	}
	for (size_t i = 0; i < whole->large.count; i++) {
		const uint64_t *l = stats_row(&whole->large, i);

		growth_take_class(g, l[STATS_LARGE_SIZE],
				  less(l[STATS_LARGE_ALLOCATED],
				       profiler_bytes(&profiler, l[STATS_LARGE_SIZE])),
				  true, &at);
	}
	g->sample_count++;
}

void growth_add_arenas(struct growth *g, const struct stats *s, int64_t time_ns)
{
	size_t at = 0;

	if (!growth_begin_sample(g, s, time_ns))
		return;
	for (size_t i = 0; i < s->arena_count; i++) {
		const struct stats_arena *a = &s->arenas[i];
		struct sampled profiler;

		if (a->id < 0)
			continue;
		sampled_make(&profiler, s, a, false);
		growth_take_class(g, (uint64_t)a->id,
				  less(a->value[STATS_ARENA_TOTAL_ALLOCATED], profiler.allocated),
				  false, &at);
	}
	g->sample_count++;
}

const struct growth_class *growth_find(const struct growth *g, uint64_t size)
{
	return FIND(it, g->classes, g->class_count, it->size == size);
}

double growth_span(const struct growth *g)
{
	return g->sample_count ? g->times[g->sample_count - 1] - g->times[0] : 0;
}

/* The line of least squares through a class's samples from `from` on. */
static void fit(const struct growth *g, size_t class, size_t from, double *ret_slope,
		double *ret_fit)
{
	double n = (double)(g->sample_count - from), t = 0, y = 0, tt = 0, ty = 0, yy = 0;

	for (size_t i = from; i < g->sample_count; i++) {
		t += g->times[i] - g->times[0];
		y += (double)growth_row(g, i)[class];
	}
	t /= n;
	y /= n;
	for (size_t i = from; i < g->sample_count; i++) {
		double dt = g->times[i] - g->times[0] - t, dy = (double)growth_row(g, i)[class] - y;

		tt += dt * dt;
		ty += dt * dy;
		yy += dy * dy;
	}
	*ret_slope = tt > 0 ? ty / tt : 0;
	*ret_fit = tt > 0 && yy > 0 ? ty * ty / (tt * yy) : 0;
}

/* It has grown all the time, and goes on: what has come to rest by the middle fits a line as well.
 */
static bool grows_steadily(const struct growth *g, const struct growth_class *c, size_t class)
{
	double lately, ignored;

	if (g->sample_count < STEADY_SAMPLES || c->slope <= 0 || c->fit < STEADY_FIT ||
	    c->last <= c->first || c->last - c->first < STEADY_BYTES ||
	    c->last - c->first < c->last / 100 || c->rises < 2 || c->falls > g->sample_count / 4)
		return false;
	fit(g, class, g->sample_count / 2, &lately, &ignored);
	return lately > c->slope / 4;
}

bool growth_is_early(const struct growth *g)
{
	return g->clock == GROWTH_SNAPSHOTS || g->sample_count < GROWTH_LEAST_SAMPLES ||
	       growth_span(g) < GROWTH_LEAST_SECONDS;
}

static void judge(const struct growth *g, struct growth_class *c, size_t class)
{
	c->first = growth_row(g, 0)[class];
	c->last = growth_row(g, g->sample_count - 1)[class];
	c->rises = c->falls = 0;
	for (size_t i = 1; i < g->sample_count; i++) {
		c->rises += growth_row(g, i)[class] > growth_row(g, i - 1)[class];
		c->falls += growth_row(g, i)[class] < growth_row(g, i - 1)[class];
	}
	fit(g, class, 0, &c->slope, &c->fit);
	c->steady = grows_steadily(g, c, class);
	c->suspect = c->steady && !growth_is_early(g);
}

void growth_early_text(const struct growth *g, char out[GROWTH_EARLY_MAX])
{
	*out = 0;
	if (!growth_is_early(g))
		return;
	if (g->clock == GROWTH_SNAPSHOTS)
		snprintf(out, GROWTH_EARLY_MAX,
			 "no saying whether this is a leak: the snapshots have no times");
	else
		snprintf(out, GROWTH_EARLY_MAX,
			 "too early to tell a leak: %zu snapshots in %s; it takes %u over %u s",
			 g->sample_count, duration_text((uint64_t)fmax(growth_span(g) * 1e9, 0)),
			 GROWTH_LEAST_SAMPLES, GROWTH_LEAST_SECONDS);
}

ORDER(faster, struct growth_class *const,
      COMPARE((*y)->steady, (*x)->steady)
	      ?: COMPARE((*y)->slope, (*x)->slope)
	      ?: COMPARE((*x)->size, (*y)->size))

const struct growth_class **growth_rank(struct growth *g, size_t *ret_count)
{
	const struct growth_class **list =
		xcalloc(g->class_count + 1, sizeof(struct growth_class *));
	size_t count = 0;

	for (size_t i = 0; g->sample_count > 1 && i < g->class_count; i++) {
		judge(g, &g->classes[i], i);
		if (g->classes[i].rises || g->classes[i].falls)
			list[count++] = &g->classes[i];
	}
	SORT(list, count, faster);
	*ret_count = count;
	return list;
}

void growth_release(struct growth *g)
{
	free(g->bytes);
	memset(g, 0, sizeof(*g));
}

static void write_class(struct json *j, const struct growth *g, const struct growth_class *c)
{
	json_number(j, "size", c->size);
	json_text(j, "kind", c->large ? "large" : "bin");
	json_number(j, "first_bytes", c->first);
	json_number(j, "bytes", c->last);
	if (g->clock == GROWTH_SNAPSHOTS) {
		json_real(j, "bytes_per_snapshot", c->slope, 3);
	} else {
		json_real(j, "bytes_per_second", c->slope, 3);
		json_real(j, "bytes_per_hour", c->slope * HOUR, 0);
		if (c->size)
			json_real(j, "blocks_per_hour", c->slope * HOUR / (double)c->size, 0);
	}
	json_real(j, "fit", c->fit, 3);
	JSON_MEMBERS(j, c, rises, falls, steady, suspect);
}

void growth_write(struct json *j, const char *key, struct growth *g)
{
	static const char *const clocks[] = { "none", "wall", "uptime", "snapshots" };
	char early[GROWTH_EARLY_MAX];
	size_t count;
	auto_free const struct growth_class **list = growth_rank(g, &count);

	json_object(j, key);
	json_text(j, "clock", clocks[g->clock]);
	json_number(j, "samples", g->sample_count);
	json_number(j, "restarts", g->restarts);
	json_real(j, "from", g->sample_count ? g->times[0] : 0, 6);
	json_real(j, "to", g->sample_count ? g->times[g->sample_count - 1] : 0, 6);
	growth_early_text(g, early);
	json_text(j, "early", *early ? early : NULL);
	JSON_ROWS(j, "classes", i, count)
		write_class(j, g, list[i]);
	json_end_object(j);
}
