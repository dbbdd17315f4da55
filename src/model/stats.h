/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Sums over a loaded recording, by stack.  Scans of the columns; nothing here changes the model. */
#include <stdint.h>

#include "model/model.h"

struct stack_counts {
	uint32_t stacks;	/* different ones that allocated */
	uint32_t free_stacks;	/* different ones that freed or reallocated */
	uint32_t deepest;	/* frames of the deepest of either */
	uint64_t without_stack; /* allocations that have none, or one whose nodes are missing */
};

/* What one stack did.  A realloc counts as an allocation of its new size. */
struct stack_sum {
	uint32_t stack;	   /* STACK_NONE collects what has no known stack */
	uint32_t call;	   /* of its first allocation: enum event_call */
	uint64_t first_at; /* stamp of that */
	uint64_t count, bytes;
	uint64_t leaked_count, leaked_bytes;
	uint64_t peak_count, peak_bytes; /* alive when most bytes were */
	uint64_t temporary, temporary_bytes;
};

struct stack_sums {
	struct stack_sum *rows;
	uint32_t count;
};

/* Both of the above, computed once and kept with the model. */
struct derived {
	struct stack_counts counts;
	struct stack_sums sums;
	bool mapped; /* the rows are in the cache's file */
};

enum stack_order { BY_COUNT, BY_LEAKED_BYTES, BY_PEAK_BYTES, BY_TEMPORARY, STACK_ORDERS };

/* A node whose frame is in the recording? */
static inline bool node_is_known(const struct nodes *n, uint32_t id)
{
	return id && id < n->count && n->frame[id];
}

void stats_count_stacks(const struct model *m, struct stack_counts *ret_counts);
void stats_sum_stacks(const struct model *m, struct stack_sums *ret_sums);
/* The same of the rows whose bit is set; what was removed has no rows. */
void stats_sum_selected(const struct model *m, const uint64_t *bits, struct stack_sums *ret_sums);
/* Computes both for a finished model, so that the two above only hand them out. */
void stats_derive(struct model *m);
void stats_forget(struct model *m);
void stack_sums_release(struct stack_sums *s);
/* Moves the `n` first rows in an order (largest first) to the front, sorted; returns how many there
 * are that are not zero, at most n. */
uint32_t stack_sums_top(struct stack_sums *s, enum stack_order order, uint32_t n);
/* The number that an order sorts by. */
uint64_t stack_sum_key(const struct stack_sum *sum, enum stack_order order);
