/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Is it a leak?  What every function with blocks that were not freed did over the run.
 *
 * The curve of the bytes that a function has alive tells a leak from a cache: which blocks are left
 * at the end does not, since a cache's are as young as a leak's.  docs/verdicts.md says how.  Any
 * thread; verdicts are their caller's.
 *
 * What has too little beside the program's peak to matter is only counted, unless all is asked
 * for: judging it would take longest, and nobody wants to read it. */
#include <stdint.h>

#include "base/json.h"
#include "query/view.h"

struct buf;
struct known_pool;
struct known_pools;

enum verdict_class {
	VERDICT_GROWING,  /* more and more, to the end */
	VERDICT_UNCLEAR,  /* grew until late, but not enough to tell */
	VERDICT_BOUNDED,  /* grew, and stopped: a cache, a pool, a table */
	VERDICT_SAWTOOTH, /* filled and emptied again and again */
	VERDICT_START_UP, /* allocated at the beginning, and kept */
	VERDICT_POOL,	  /* kept on purpose: query/known_pools.h; never what grows */
	VERDICTS
};

struct verdict_row {
	const char *name;  /* "growing" */
	const char *title; /* "GROWING" */
	const char *help;  /* "grows to the end of the run, as a leak does" */
};
extern const struct verdict_row verdict_rows[VERDICTS];

/* What makes a verdict bounded. */
enum verdict_reason {
	REASON_STOPPED, /* nothing came any more */
	REASON_LEVEL,	/* goes up and down, to the end, and has no more then than before */
	REASON_SLOWING, /* each quarter brought much less than the one before */
};

struct verdict {
	uint32_t stack;	 /* of those that it is about, the one that has most; 0: none is known */
	uint32_t stacks; /* how many it is about */
	const uint32_t *stack_list; /* those, the one that has most first */
	bool whole;    /* all stacks of its responsible function that have anything left */
	unsigned call; /* that allocated the first block that is left */
	enum verdict_class class;
	enum verdict_reason reason;	/* of VERDICT_BOUNDED */
	const struct known_pool *known; /* of VERDICT_POOL */
	bool matters;	    /* enough beside the peak, or growing fast enough, to be shown */
	double confidence;  /* 0 … 1 */
	bool freed_at_exit; /* nothing leaked: it was freed when the program ended */
	uint64_t leaked_bytes, leaked_count;
	uint64_t kept_bytes; /* alive when the program's work was done */
	uint64_t kept_count;
	uint64_t most_bytes;	  /* at once */
	uint64_t allocated_count; /* until the work was done */
	/* Evidence. */
	uint64_t late_bytes; /* of what is kept, those that came in the last half of the work */
	bool rate_is_late;   /* bytes_per_second and fit are of that half, not since it began */
	uint64_t first_ns, grown_ns; /* of its growth: when it began; when the last of it came */
	double grown_share;	     /* grown_ns as a part of the run */
	double grown_work;	     /* how much of the program's work was done by then, 0 … 1 */
	double fit;		     /* of a straight line since it began: R², 0 … 1 */
	double bytes_per_second;     /* of that line */
	double bytes_per_allocation; /* growth for each allocation of the whole program */
	double bytes_per_block;	     /* of what is kept, or else of what leaked */
	double late_share;	     /* of its growth that came in the last third */
	uint32_t steps;		     /* different moments at which it grew, at most 50 */
	uint32_t drops;		     /* times that it lost half or more */
	uint64_t later_count;	     /* allocations after it was grown */
};

/* What is left out of the rows. */
struct verdict_rest {
	uint32_t functions, stacks;
	uint64_t bytes, count; /* leaked, or kept where it was freed at exit */
	uint64_t late_bytes;   /* of them, those that came in the last half of the work */
	bool grows;	       /* all of it together does, and that matters */
};

struct verdicts {
	struct verdict *rows; /* what matters first, pools last; by class, growing ones first;
			       * then most bytes first */
	uint32_t count;
	struct verdict_rest
		small;	 /* too little to matter: not in rows, unless all were asked for */
	uint64_t end_ns; /* of the program's work: what it does at exit is left out */
	/* Alive at that moment, and freed at exit, of all stacks. */
	uint64_t held_bytes, held_count;
	bool held_matters;
	uint32_t *stack_list;	   /* that rows point into */
	struct known_pools *pools; /* the same */
};

struct verdict_options {
	bool held;     /* stacks too whose blocks were all freed at exit */
	bool by_stack; /* a row for each stack, not for each responsible function */
	bool all;      /* those too that do not matter */
};

void verdicts_init(struct verdicts *v, const struct view *view, const struct verdict_options *o);
/* Those without options, and those with `held`, of which most are the same. */
void verdicts_init_both(struct verdicts *leaked, struct verdicts *held, const struct view *view);
void verdicts_release(struct verdicts *v);
/* The bytes that a verdict is about: what leaked, or what was kept until it was freed at exit. */
uint64_t verdict_bytes(const struct verdict *v);
/* Does its line fit so well that bytes_per_second says something? */
bool verdict_is_steady(const struct verdict *v);
/* The figures that made a verdict, as a sentence. */
void verdict_evidence(struct buf *out, const struct verdict *v, uint64_t run_ns);
/* The fields of a verdict, for an object that somebody else opens: all but which stack it is. */
void verdict_json(struct json *j, const struct verdict *v, uint64_t run_ns);
