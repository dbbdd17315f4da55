/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What jemalloc's heap profiler itself takes: small blocks that were sampled are not in slabs.
 *
 * Until 5.3.0 each takes a block of the smallest large class (16 KiB), so a program whose small
 * blocks grow seems to lose memory in that class.  Later each has pages of its own, which are
 * active and in no class; what is allocated does not have them.  The statistics of these versions
 * tell how many there are.  Before, only prof_stats:true does; else the number follows from the
 * sampling interval and from what is alive in bins, as an estimate.  Only memory of small blocks
 * counts here: the profiler's tables are jemalloc's own structures.
 *
 * Who shows or judges statistics takes it away from what the program is said to have: waterfall.c,
 * growth.c, advice.c; and heap/join.c, which has a dump and needs no estimate. */
#include "jemalloc/stats.h"

enum sampled_in {
	SAMPLED_LARGE, /* the smallest large class */
	SAMPLED_PAGES, /* pages of their own */
};

struct sampled {
	enum sampled_in in;
	uint64_t home;	/* the size of that class; 0 if it is not known, or pages of their own */
	bool estimated; /* `count` is by chance: see `most` */
	uint64_t count; /* small blocks that are alive and sampled; 0 if profiling is off */
	uint64_t most;	/* as many as chance would have it at most; of an estimate */
	uint64_t allocated; /* of what is allocated: bytes beyond those that the program has */
	uint64_t pages;	    /* of what is active and not allocated: bytes of pages */
};

/* `padded`: large blocks have a page more.  All zero if profiling is off or nothing is known. */
void sampled_make(struct sampled *p, const struct stats *s, const struct stats_arena *a,
		  bool padded);
/* Where samples of this version are, and the class then. */
enum sampled_in sampled_where(const struct stats *s, const struct stats_arena *a);
uint64_t sampled_home(const struct stats *s);
/* The chance that a block of this size is sampled; rate 0 or 1: each is. */
double sampled_chance(double size, uint64_t rate);
/* What one of them takes that has pages of its own, without a page beside it. */
uint64_t sampled_page_bytes(const struct stats *s, uint64_t size);
