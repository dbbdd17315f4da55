/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What filters, groups and orders must say, worked out as simply as can be: every row is looked at
 * by itself, every chain followed link by link, every stack frame by frame. */
#include <stdbool.h>
#include <stdint.h>

#include "model/locations.h"
#include "model/model.h"

struct brute {
	const struct model *m;
	struct locations *p;
	struct model_clock clock;
	uint32_t count;
	uint32_t *next; /* by row: what realloc made of it, or NO_ALLOCATION */
};

struct brute_sums {
	uint64_t count, bytes, slack, leaked_count, leaked_bytes, min, max, first, last;
};

struct brute_peak {
	uint64_t bytes, count, at;
};

void brute_init(struct brute *b, const struct model *m, struct locations *p);
void brute_release(struct brute *b);

uint32_t brute_stack(const struct brute *b, uint32_t row);	/* 0: not known */
uint32_t brute_free_stack(const struct brute *b, uint32_t row); /* the same */
bool brute_leaked(const struct brute *b, uint32_t row);
bool brute_freed_by_someone(const struct brute *b, uint32_t row);
uint32_t brute_chain_first(const struct brute *b, uint32_t row);
uint32_t brute_chain_last(const struct brute *b, uint32_t row);
uint64_t brute_chain_length(const struct brute *b, uint32_t row);
uint64_t brute_position(const struct brute *b, uint32_t row);
uint64_t brute_ns(const struct brute *b, uint64_t stamp);
uint64_t brute_span_ns(const struct brute *b, uint64_t ticks);
uint64_t brute_lifetime_ticks(const struct brute *b, uint32_t row);
uint64_t brute_chain_lifetime_ticks(const struct brute *b, uint32_t row);
uint64_t brute_depth(const struct brute *b, uint32_t row);
uint64_t brute_marker(const struct brute *b, uint32_t row);
/* Of everything that the row's stack did, with what was removed. */
struct brute_sums brute_group(const struct brute *b, uint32_t stack);
struct brute_peak brute_peak(const struct brute *b, uint32_t stack);
void brute_add(const struct brute *b, struct brute_sums *s, uint32_t row);
/* Calls visit() for every frame of a stack, innermost first, until it returns true. */
bool brute_frames(const struct brute *b, uint32_t stack,
		  bool (*visit)(void *context, const char *function, const char *file,
				uint32_t line, uint32_t module),
		  void *context);
