/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What an allocation weighs: one list for trees, groups, differences, exporters and scripts.
 *
 * A measure says which allocations count.  Each of them counts as one, and as the bytes that were
 * asked for; but `pinned` weighs stacks by the resident memory that their blocks keep (blame.h).
 * Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "pairing/columns_window.h"

enum measure {
	MEASURE_LEAKED,	     /* never freed */
	MEASURE_PEAK,	     /* alive when the whole program had most bytes */
	MEASURE_ALLOCATED,   /* all of them */
	MEASURE_TEMPORARY,   /* freed by their thread's next event */
	MEASURE_ALIVE_AT,    /* alive at one moment */
	MEASURE_SHORT_LIVED, /* freed before they were `at` ticks old */
	MEASURE_PINNED,	     /* alive at one moment; see below */
	MEASURE_COUNT
};

/* A measure with what it needs to know. */
struct measuring {
	enum measure measure;
	uint64_t at; /* ALIVE_AT, PINNED: a stamp; SHORT_LIVED: ticks; PEAK: the peak's stamp */
};

struct weight {
	uint64_t bytes, count;
};

static inline void weight_add(struct weight *to, const struct weight *w)
{
	to->bytes += w->bytes;
	to->count += w->count;
}

struct measure_row {
	const char *name;  /* "alive_at" */
	const char *title; /* "alive at a moment", for headings */
	const char *help;
	bool needs_time; /* `at` is a moment */
	bool needs_duration;
};
extern const struct measure_row measure_rows[MEASURE_COUNT];

/* By its name, '-' and '_' alike; MEASURE_COUNT if there is none. */
enum measure measure_find(const char *name);
/* `at` is ns after the start for ALIVE_AT and PINNED (0: the last sample of the memory maps), ns
 * for SHORT_LIVED, and of no meaning elsewhere. */
struct measuring measuring_of(const struct model *m, enum measure measure, uint64_t at_ns);
/* What all rows of a recording weigh. */
struct weight measuring_total(const struct model *m, const struct measuring *how);

static inline bool measuring_takes(const struct measuring *how, const struct columns *c,
				   uint32_t row)
{
	switch (how->measure) {
	case MEASURE_LEAKED:
		return columns_freed_at(c, row) == NEVER;
	case MEASURE_PEAK:
	case MEASURE_ALIVE_AT:
	case MEASURE_PINNED:
		return columns_allocated_at(c, row) <= how->at &&
		       columns_freed_at(c, row) > how->at;
	case MEASURE_TEMPORARY:
		return tags_flags(columns_tags(c, row)) & TAG_TEMPORARY;
	case MEASURE_SHORT_LIVED:
		return columns_freed_at(c, row) != NEVER &&
		       columns_freed_at(c, row) - columns_allocated_at(c, row) < how->at;
	case MEASURE_ALLOCATED:
	case MEASURE_COUNT:
		break;
	}
	return true;
}

/* The columns that measuring_takes() looks at. */
static inline unsigned measuring_wants(const struct measuring *how)
{
	switch (how->measure) {
	case MEASURE_ALLOCATED:
	case MEASURE_COUNT:
		return 0;
	case MEASURE_TEMPORARY:
		return WANT_tags;
	default:
		return WANT_allocated_at | WANT_freed_at;
	}
}

/* May it take any of these rows?  Packed groups say what they have. */
bool measuring_may_take(const struct measuring *how, const struct columns *c, uint32_t first,
			uint32_t count);

/* Is it about what is alive at the stamp `at`? */
static inline bool measuring_has_moment(const struct measuring *how)
{
	return how->measure == MEASURE_PEAK || how->measure == MEASURE_ALIVE_AT ||
	       how->measure == MEASURE_PINNED;
}

/* The last stamp that is not later than so many ns after the start: what model_ns() turns back. */
uint64_t measure_stamp(const struct model *m, uint64_t ns);
/* How many ticks so many ns are. */
uint64_t measure_ticks(const struct model *m, uint64_t ns);
