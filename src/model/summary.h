/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What each stack did in the whole recording, and what was taken out of it.
 *
 * Built on all cores when it is first asked for, and kept with the model.  Rows are in the order of
 * the stacks' numbers; row 0, if any, may be STACK_NONE, which collects what has no known stack. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pairing/columns.h"

#define NO_SUMMARY UINT32_MAX

/* Sums that can be added to each other. */
struct summary_sums {
	uint64_t count, bytes, slack; /* bytes as requested */
	uint64_t leaked_count, leaked_bytes;
	uint64_t min_size, max_size; /* UINT64_MAX and 0 of nothing */
	uint64_t first_at, last_at;  /* stamps of allocations; UINT64_MAX and 0 of nothing */
};

#define SUMMARY_NOTHING ((struct summary_sums){ .min_size = UINT64_MAX, .first_at = UINT64_MAX })

struct summary_row {
	uint32_t stack;
	uint32_t call; /* of its first allocation: enum event_call */
	struct summary_sums sums;
};

struct summary {
	struct summary_row *rows;
	uint32_t count;
	uint32_t *row_of; /* by node: a row, or NO_SUMMARY */
	uint32_t node_count;
	bool mapped;		      /* both arrays are in the cache's file */
	void *peaks;		      /* query/peaks.c keeps here what it has found out */
	pthread_mutex_t making_peaks; /* of this recording: another one's do not wait */
};

struct model;
const struct summary *model_summary(const struct model *m);
struct summary *summary_free(struct summary *s);

/* The row of any stack number that a column may hold. */
static inline uint32_t summary_row_of(const struct summary *s, uint32_t stack)
{
	return s->row_of[stack < s->node_count ? stack : 0];
}

void summary_add(struct summary_sums *to, const struct summary_sums *from);

/* One more allocation.  Callers count a worker's rows in the order of time. */
static inline void summary_count(struct summary_sums *s, uint64_t size, uint32_t slack,
				 uint64_t allocated_at, uint64_t freed_at)
{
	if (!s->count)
		s->first_at = allocated_at;
	s->last_at = allocated_at;
	s->count++;
	s->bytes += size;
	s->slack += slack;
	if (freed_at == NEVER) {
		s->leaked_count++;
		s->leaked_bytes += size;
	}
	if (size < s->min_size)
		s->min_size = size;
	if (size > s->max_size)
		s->max_size = size;
}
