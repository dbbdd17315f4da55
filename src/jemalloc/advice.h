/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What could be better about a process's use of jemalloc, with the numbers that say so and the
 * setting or control that changes it.  A rule is a row of advice.c. */
#include "jemalloc/stats.h"
#include "jemalloc/waterfall.h"

enum advice_weight {
	ADVICE_INFO, /* looks bad and is not, or is worth knowing */
	ADVICE_MAYBE,
	ADVICE_DO
};

struct advice {
	const char *id;
	enum advice_weight weight;
	uint64_t bytes;	    /* what it is about, where it is memory; or 0 */
	char what[200];	    /* one sentence */
	char evidence[320]; /* the numbers */
	char setting[120];  /* a value for MALLOC_CONF, or empty */
	char control[200];  /* what can be done while it runs, or empty */
};

#define ADVICE_MAX 16

extern const char *const advice_weights[]; /* info, maybe, do */

/* All that applies, the weightiest first; returns how many.  `a` is the sum of the arenas, and `w`
 * is made of it. */
unsigned advice_make(struct advice list[ADVICE_MAX], const struct stats *s,
		     const struct stats_arena *a, const struct waterfall *w);
