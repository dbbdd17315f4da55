/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The steps that a plan consists of: plan.c makes them, steps.c runs them over blocks of rows.
 * Steps are made by the thread that makes the plan, then only read, by any. */
#include <stdbool.h>
#include <stdint.h>

#include "query/filter.h"
#include "query/plan.h"

enum step_kind {
	STEP_NOTHING, /* no row */
	STEP_ALL,     /* every row */
	STEP_AND,
	STEP_OR,
	STEP_NOT,
	STEP_NUMBER,	  /* low <= enum row_number `which` <= high */
	STEP_TAGS,	  /* (tags & low) == high */
	STEP_STACKS,	  /* the stack's bit is set */
	STEP_FREE_STACKS, /* was freed, and the bit of the stack that did it is set */
	STEP_THREADS,
	STEP_FREE_THREADS,
	STEP_CALLS,
	STEP_FREE_CALLS,
	STEP_FLAG, /* enum flag `which` */
	STEP_MAP,  /* was in one of the memory maps of `map` */
};

struct responsible;

struct step {
	enum step_kind kind;
	unsigned cost; /* about what a row of it takes; and-ed steps are sorted by it */
	int which;
	uint64_t low, high;
	uint64_t *bits; /* of a set */
	uint32_t bit_count;
	struct map_ranges *map;
	struct step **children;
	size_t child_count, child_room;
};

struct plan {
	const struct model *m;
	struct model_clock clock;
	struct step *step;
};

static inline bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= 1ull << (i % 64);
}

/* Rows of `mask` that fulfil a step. */
void step_run(const struct plan *p, const struct step *s, uint32_t first, uint32_t words,
	      const uint64_t *mask, uint64_t *out);

/* frames.c: which stacks have a frame that fulfils a CONDITION_FRAME; the bits of stacks (one per
 * node; 0 stands for what has no known stack) and of calls, which are frames too. 0 or -errno. */
int frames_select(const struct model *m, struct locations *p, const struct condition *c,
		  uint64_t *stacks, uint64_t *calls, struct err *err);
/* Those whose responsible frame has such a name. */
int frames_select_responsible(const struct responsible *r, const struct condition *c,
			      uint64_t *stacks, struct err *err);
/* The same of single frames: marks by number of frame (locations.h) those that fulfil it. */
int frames_match(const struct model *m, struct locations *p, const struct condition *c,
		 uint8_t *marks, struct err *err);
#define CALLS_MAX 128 /* in the columns' tags */
