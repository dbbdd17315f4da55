/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What was taken out of a recording and still counts: the payload of CHUNK_STATISTICS.
 *
 * Culling in the collector and `memoir strip` leave events out; for each stack that allocated there
 * is then a row of sums.  A later row of the same stack replaces the earlier one, so a writer may
 * put down running totals now and then.  Used by both sides; static inline, no libc. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/varint.h"

#define STATISTICS_BUCKETS 16
/* Room for one row. */
#define STATISTICS_ROW_MAX ((19 + STATISTICS_BUCKETS) * VARINT_MAX)

/* Names in CHUNK_COUNTERS; docs/format.md says what each means. */
#define COUNTER_WHOLE_PEAK_BYTES "whole_peak_bytes"
#define COUNTER_WHOLE_PEAK_COUNT "whole_peak_count"
#define COUNTER_WHOLE_PEAK_STAMP "whole_peak_stamp"
#define COUNTER_WHOLE_FREE_STACKS "whole_free_stacks"
#define COUNTER_WHOLE_DEEPEST "whole_deepest_stack"
#define COUNTER_WHOLE_FIRST_STAMP "whole_first_stamp"
#define COUNTER_WHOLE_LAST_STAMP "whole_last_stamp"
#define COUNTER_WHOLE_HEAPTRACK_TEMPORARY "whole_heaptrack_temporary"
#define COUNTER_REMOVED_EVENTS "removed_events"
#define COUNTER_REMOVED_ALLOCATIONS "removed_allocations"
#define COUNTER_REMOVED_FREES "removed_frees"
#define COUNTER_REMOVED_REALLOCS "removed_reallocs"
#define COUNTER_REMOVED_BYTES "removed_bytes"
#define COUNTER_REMOVED_TEMPORARY "removed_temporary"
#define COUNTER_REMOVED_REALLOC_FAILURES "removed_realloc_failures"
#define COUNTER_REMOVED_UNKNOWN_FREES "removed_unknown_frees"
#define COUNTER_REMOVED_IMPLICIT_FREES "removed_implicit_frees"
/* Key in CHUNK_INFO. */
#define INFO_REMOVED_BELOW "removed_below_ns"
#define REMOVED_BELOW_ALL "all" /* its value when there was no threshold */

struct statistics {
	uint32_t stack;
	uint32_t call; /* enum event_call, of the stack's first allocation */
	/* Of what was removed.  A realloc is an allocation of its new size. */
	uint64_t count, bytes; /* as requested */
	uint64_t slack;	       /* sum of usable minus requested */
	uint64_t temporary, temporary_bytes;
	uint64_t reallocs;			/* how many of count a realloc made */
	uint64_t frees;				/* how many of count a freeing call ended */
	uint64_t min_size, max_size;		/* both 0 while count is */
	uint64_t first_at, last_at;		/* stamps of the first and the last allocation */
	uint64_t lifetimes[STATISTICS_BUCKETS]; /* how many of count: see statistics_bucket() */
	/* Of everything that the stack allocated, removed or not. */
	uint64_t own_peak_bytes, own_peak_count, own_peak_at; /* when most bytes of it were alive */
	uint64_t peak_bytes, peak_count;		      /* alive at the program's peak */
};

/* Decades: 0 is below a microsecond, 1 below ten of them, 4 below ten milliseconds … */
static inline unsigned statistics_bucket(uint64_t lifetime_ns)
{
	uint64_t limit = 1000;
	unsigned bucket = 0;

	while (bucket < STATISTICS_BUCKETS - 1 && lifetime_ns >= limit) {
		limit *= 10;
		bucket++;
	}
	return bucket;
}

/* Counts one removed allocation: size, slack, stamp and bucket.  What it was besides (temporary, of
 * a realloc, ended by a free) is the caller's to add. */
static inline void statistics_count(struct statistics *s, uint64_t size, uint64_t slack,
				    uint64_t at, unsigned bucket)
{
	if (!s->count || size < s->min_size)
		s->min_size = size;
	if (!s->count || size > s->max_size)
		s->max_size = size;
	if (!s->count || at < s->first_at)
		s->first_at = at;
	if (!s->count || at > s->last_at)
		s->last_at = at;
	s->count++;
	s->bytes += size;
	s->slack += slack;
	s->lifetimes[bucket]++;
}

/* Adds what another row removed; what is said of the whole stays as it is in `s`. */
static inline void statistics_merge(struct statistics *s, const struct statistics *more)
{
	if (!more->count)
		return;
	if (!s->count || more->min_size < s->min_size)
		s->min_size = more->min_size;
	if (!s->count || more->max_size > s->max_size)
		s->max_size = more->max_size;
	if (!s->count || more->first_at < s->first_at) {
		s->first_at = more->first_at;
		s->call = more->call;
	}
	if (!s->count || more->last_at > s->last_at)
		s->last_at = more->last_at;
	s->count += more->count;
	s->bytes += more->bytes;
	s->slack += more->slack;
	s->temporary += more->temporary;
	s->temporary_bytes += more->temporary_bytes;
	s->reallocs += more->reallocs;
	s->frees += more->frees;
	for (unsigned i = 0; i < STATISTICS_BUCKETS; i++)
		s->lifetimes[i] += more->lifetimes[i];
}

/* Writes one row; STATISTICS_ROW_MAX bytes must be free at p.  Returns where it ends. */
static inline uint8_t *statistics_put(uint8_t *p, const struct statistics *s)
{
	const uint64_t head[] = { s->stack,
				  s->call,
				  s->count,
				  s->bytes,
				  s->slack,
				  s->temporary,
				  s->temporary_bytes,
				  s->reallocs,
				  s->frees,
				  s->min_size,
				  s->max_size,
				  s->first_at,
				  s->last_at - s->first_at };
	const uint64_t whole[] = { s->own_peak_bytes, s->own_peak_count, s->own_peak_at,
				   s->peak_bytes, s->peak_count };
	unsigned buckets = STATISTICS_BUCKETS;

	while (buckets && !s->lifetimes[buckets - 1])
		buckets--;
	for (unsigned i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		p = varint_put(p, head[i]);
	p = varint_put(p, buckets);
	for (unsigned i = 0; i < buckets; i++)
		p = varint_put(p, s->lifetimes[i]);
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		p = varint_put(p, whole[i]);
	return p;
}

/* Reads one row and advances *p; false if it is cut or says what cannot be. */
static inline bool statistics_get(const uint8_t **p, const uint8_t *end, struct statistics *ret_row)
{
	struct statistics s = { 0 };
	uint64_t stack, call, span, buckets;
	uint64_t *const head[] = { &stack,   &call,	   &s.count,	       &s.bytes,
				   &s.slack, &s.temporary, &s.temporary_bytes, &s.reallocs,
				   &s.frees, &s.min_size,  &s.max_size,	       &s.first_at,
				   &span,    &buckets };
	uint64_t *const whole[] = { &s.own_peak_bytes, &s.own_peak_count, &s.own_peak_at,
				    &s.peak_bytes, &s.peak_count };
	const uint8_t *q = *p;

	for (unsigned i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		if (!varint_get(&q, end, head[i]))
			return false;
	if (stack > UINT32_MAX || call > UINT8_MAX || buckets > STATISTICS_BUCKETS ||
	    s.min_size > s.max_size || span > UINT64_MAX - s.first_at)
		return false;
	for (unsigned i = 0; i < buckets; i++)
		if (!varint_get(&q, end, &s.lifetimes[i]))
			return false;
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!varint_get(&q, end, whole[i]))
			return false;
	s.stack = (uint32_t)stack;
	s.call = (uint32_t)call;
	s.last_at = s.first_at + span;
	*ret_row = s;
	*p = q;
	return true;
}
