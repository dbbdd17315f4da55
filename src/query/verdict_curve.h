/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The curve of what one stack has alive, and the judgement on it.  See verdict.h.  Called by
 * verdict.c on all cores, each with a curve of its own. */
#include "query/verdict.h"

#define CURVE_BUCKETS 64
#define CURVE_SLOTS 1024

/* The program's work: time, and time in which anything was allocated. */
struct work {
	uint64_t from, to; /* stamps */
	double ns_per_tick;
	double active[CURVE_SLOTS +
		      1]; /* by slot of time: how much of the work was before, 0 … 1 */
};

struct curve {
	double low[CURVE_BUCKETS], middle[CURVE_BUCKETS]; /* alive, by bucket of active time */
	double floors[CURVE_BUCKETS + 1]; /* that it never fell below again, at each border */
	double most, last;
	uint32_t drops;
};

/* What happened at one instant. */
struct curve_event {
	uint64_t at;
	double change;
	bool allocated;
};

double work_active(const struct work *w, uint64_t stamp);
void curve_draw(struct curve *c, const struct work *w, const struct curve_event *events,
		size_t count);
/* Fills class, confidence and evidence; counts and bytes are there already. */
void curve_judge(struct verdict *v, const struct curve *c, const struct work *w,
		 const struct curve_event *events, size_t count);
