/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the heap profiler takes.  See sampled.h. */
#include "jemalloc/sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAST_IN_LARGE 50300 /* the last release that has samples in the smallest large class */
#define FIRST_OF_FOUR 40000 /* from this release on it is four pages; before, one */
#define DEVIATIONS 3

double sampled_chance(double size, uint64_t rate)
{
	return rate > 1 ? -expm1(-size / (double)rate) : 1;
}

uint64_t sampled_home(const struct stats *s)
{
	return (s->release < FIRST_OF_FOUR ? 1 : 4) * stats_known(s->shape[STATS_SHAPE_PAGE]);
}

uint64_t sampled_page_bytes(const struct stats *s, uint64_t size)
{
	uint64_t page = stats_known(s->shape[STATS_SHAPE_PAGE]);

	return page ? (size + page - 1) / page * page : size;
}

/* Of a bin whose size is pages: blocks that were counted as made and not as in use, which is what a
 * sample with pages of its own is. */
static uint64_t apart(const struct stats *s, const uint64_t *bin)
{
	uint64_t page = stats_known(s->shape[STATS_SHAPE_PAGE]), made, gone, used, size;

	made = bin[STATS_BIN_NMALLOC];
	gone = bin[STATS_BIN_NDALLOC];
	used = bin[STATS_BIN_CURREGS];
	size = stats_known(bin[STATS_BIN_SIZE]);
	if (!page || !size || size % page || made >= STATS_NONE || gone >= STATS_NONE ||
	    used >= STATS_NONE || made < gone || made - gone < used)
		return 0;
	return made - gone - used;
}

enum sampled_in sampled_where(const struct stats *s, const struct stats_arena *a)
{
	if (s->release > LAST_IN_LARGE)
		return SAMPLED_PAGES;
	/* A build from between two releases has the number of the earlier one. */
	for (size_t i = 0; i < a->bins.count; i++)
		if (apart(s, stats_row(&a->bins, i)))
			return SAMPLED_PAGES;
	return SAMPLED_LARGE;
}

/* 0: profiling is off, or it is not said. */
static uint64_t sampling_rate(const struct stats *s)
{
	const char *prof = stats_setting(s, "opt.prof"), *active = stats_setting(s, "prof.active");
	const char *lg = stats_setting(s, "prof.lg_sample");

	if (!lg)
		lg = stats_setting(s, "opt.lg_prof_sample");
	/* Not active now: nothing says for how long it was. */
	if (!prof || strcmp(prof, "true") != 0 || !lg || (active && !strcmp(active, "false")))
		return 0;
	return UINT64_C(1) << (strtoul(lg, NULL, 10) & 63);
}

static void count_pages(struct sampled *p, const struct stats *s, const struct stats_arena *a,
			bool padded)
{
	uint64_t beside = padded ? stats_known(s->shape[STATS_SHAPE_PAGE]) : 0;

	for (size_t i = 0; i < a->bins.count; i++) {
		const uint64_t *bin = stats_row(&a->bins, i);
		uint64_t count = apart(s, bin);

		p->count += count;
		p->pages += count * (bin[STATS_BIN_SIZE] + beside);
	}
	p->most = p->count;
}

/* Blocks of the class that samples are in. */
static uint64_t live_in(const struct stats_arena *a, uint64_t home)
{
	for (size_t i = 0; i < a->large.count; i++) {
		const uint64_t *row = stats_row(&a->large, i);

		if (row[STATS_LARGE_SIZE] == home)
			return stats_known(row[STATS_LARGE_COUNT]);
	}
	return 0;
}

/* What follows from bins: how many samples are to be expected, and the bytes that the program has
 * in them.  True: that is no estimate. */
static bool expect_by_bins(const struct stats_arena *a, uint64_t rate, uint64_t live,
			   double *ret_count, double *ret_bytes)
{
	bool counted = false;

	for (size_t i = 0; i < a->bins.count; i++) {
		const uint64_t *bin = stats_row(&a->bins, i);
		double size = (double)stats_known(bin[STATS_BIN_SIZE]), samples;
		double missed = 1 - sampled_chance(size, rate);

		if (bin[STATS_BIN_LIVE_COUNT] < STATS_NONE) {
			samples = (double)bin[STATS_BIN_LIVE_COUNT];
			counted = true;
		} else { /* those in slabs are the ones that were missed */
			samples = missed > 0 ? (double)stats_known(bin[STATS_BIN_CURREGS]) *
						       (1 - missed) / missed
					     : (double)live;
		}
		*ret_count += samples;
		*ret_bytes += samples * size;
	}
	return counted;
}

static void count_in_large(struct sampled *p, const struct stats *s, const struct stats_arena *a,
			   bool padded)
{
	uint64_t live = live_in(a, p->home), rate = sampling_rate(s);
	double expected = 0, bytes = 0, more = 0;

	p->estimated = true;
	if (a->bins.count) {
		p->estimated = !expect_by_bins(a, rate, live, &expected, &bytes);
	} else { /* a sample for each interval of bytes, which is little less if blocks are small */
		expected =
			(double)stats_known(a->value[STATS_ARENA_SMALL_ALLOCATED]) / (double)rate;
		if (!a->large.count && p->home)
			live = stats_known(a->value[STATS_ARENA_LARGE_ALLOCATED]) / p->home;
	}
	if (p->estimated)
		more = DEVIATIONS * sqrt(expected);
	p->most = expected + more < (double)live ? (uint64_t)(expected + more) : live;
	/* As many as chance explains are all samples: the rest would be of the program's own.  Not
	 * if other large blocks are among them. */
	if (expected + more >= (double)live && (a->large.count || expected >= (double)live))
		p->count = live;
	else
		p->count = (uint64_t)expected;
	if (expected > 0)
		bytes *= fmin((double)p->count / expected, 1);
	p->allocated = p->count * p->home;
	p->allocated -= bytes < (double)p->allocated ? (uint64_t)bytes : p->allocated;
	p->pages = padded ? p->count * stats_known(s->shape[STATS_SHAPE_PAGE]) : 0;
}

void sampled_make(struct sampled *p, const struct stats *s, const struct stats_arena *a,
		  bool padded)
{
	*p = (struct sampled){ .in = sampled_where(s, a) };
	if (p->in == SAMPLED_PAGES) {
		count_pages(p, s, a, padded);
	} else if (sampling_rate(s) && s->release) {
		p->home = sampled_home(s);
		count_in_large(p, s, a, padded);
	}
}
