/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Is it a leak?  What every stack with blocks that were not freed did over the run.
 *
 * The curve of the bytes that a stack has alive tells a leak from a cache: which blocks are left at
 * the end does not, since a cache's are as young as a leak's.  docs/verdicts.md says how.  Any
 * thread; verdicts are their caller's. */
#include <stdint.h>

#include "base/json.h"
#include "query/view.h"

struct buf;

enum verdict_class {
	VERDICT_GROWING,  /* more and more, to the end */
	VERDICT_UNCLEAR,  /* grew until late, but not enough to tell */
	VERDICT_BOUNDED,  /* grew, and stopped: a cache, a pool, a table */
	VERDICT_SAWTOOTH, /* filled and emptied again and again */
	VERDICT_START_UP, /* allocated at the beginning, and kept */
	VERDICTS
};

struct verdict_row {
	const char *name;  /* "growing" */
	const char *title; /* "GROWING" */
	const char *help;  /* "grows to the end of the run: a leak" */
};
extern const struct verdict_row verdict_rows[VERDICTS];

struct verdict {
	uint32_t stack; /* 0: what has none */
	unsigned call;	/* of its first allocation */
	enum verdict_class class;
	double confidence;  /* 0 … 1 */
	bool freed_at_exit; /* nothing leaked: it was freed when the program ended */
	uint64_t leaked_bytes, leaked_count;
	uint64_t kept_bytes; /* alive when the program's work was done */
	uint64_t kept_count;
	uint64_t most_bytes;	  /* at once */
	uint64_t allocated_count; /* in the whole run */
	/* Evidence. */
	uint64_t first_ns, grown_ns; /* of its growth: when it began; when the last of it came */
	double grown_share;	     /* grown_ns as a part of the run */
	double fit;		     /* of a straight line since it began: R², 0 … 1 */
	double bytes_per_second;     /* of that line */
	double bytes_per_allocation; /* growth for each allocation of the whole program */
	double bytes_per_block;	     /* of what is kept, or else of what leaked */
	double late_share;	     /* of its growth that came in the last third */
	uint32_t steps;		     /* different moments at which it grew, at most 50 */
	uint32_t drops;		     /* times that it lost half or more */
	uint64_t later_count;	     /* allocations after it was grown */
	bool level;		     /* moves to the end, and has no more then than before */
};

struct verdicts {
	struct verdict *rows; /* by class, growing ones first; then most bytes first */
	uint32_t count;
	uint64_t end_ns; /* of the program's work: what it does at exit is left out */
};

/* With `held`, stacks too whose blocks were all freed at exit. */
void verdicts_init(struct verdicts *v, const struct view *view, bool held);
void verdicts_release(struct verdicts *v);
/* The figures that made a verdict, as a sentence. */
void verdict_evidence(struct buf *out, const struct verdict *v, uint64_t run_ns);
/* The fields of a verdict, for an object that somebody else opens: all but which stack it is. */
void verdict_json(struct json *j, const struct verdict *v, uint64_t run_ns);
