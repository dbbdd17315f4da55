/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The curve of what some stacks have alive, and the judgement on it.  See verdict.h.  Called by
 * verdict.c on all cores, each with a curve of its own.
 *
 * Events are added one by one, in order of time, and kept as pieces: one for each instant where
 * there are few, and one for each small part of the program's work where there are many, so that a
 * curve takes the same room however long it is. */
#include "query/verdict.h"

#define CURVE_BUCKETS 64
#define CURVE_SLOTS 1024
#define CURVE_PIECES 4096 /* a multiple of CURVE_BUCKETS */

/* The program's work: time, and time in which anything was allocated. */
struct work {
	uint64_t from, to; /* stamps */
	double ns_per_tick;
	/* by slot of time: how much of the work was before, 0 … 1 */
	double active[CURVE_SLOTS + 1];
	uint64_t borders[CURVE_PIECES + 1]; /* stamps that cut it into equal parts of the work */
};

struct curve_piece {
	uint64_t first_at, last_at; /* of its events */
	double high;		    /* the most that was alive after one of them */
	double before, after;	    /* the least until then, and from then on */
	double end;
	uint32_t allocations;
};

struct curve {
	const struct work *work;
	struct curve_piece *pieces;
	uint32_t count, room;
	bool coarse;	     /* a piece is a part of the work */
	uint32_t part;	     /* of the last piece */
	double now, most;    /* alive; at once */
	uint64_t pending_at; /* an instant that is not over: realloc ends and begins a block in one
			      */
	double pending;
	uint32_t pending_allocations;
	bool has_pending;
	/* By bucket of active time, after curve_end(). */
	double low[CURVE_BUCKETS], middle[CURVE_BUCKETS];
	double floors[CURVE_BUCKETS + 1]; /* that it never fell below again, at each border */
	uint32_t drops;
};

/* From `active`, makes the borders. */
void work_cut(struct work *w);
double work_active(const struct work *w, uint64_t stamp);
/* `count`: of the events that will be added, or more. */
void curve_init(struct curve *c, const struct work *w, uint64_t count);
void curve_add(struct curve *c, uint64_t at, double change, bool allocated);
void curve_end(struct curve *c);
void curve_release(struct curve *c);
/* Fills class, confidence and evidence; counts and bytes are there already. */
void curve_judge(struct verdict *v, const struct curve *c);
