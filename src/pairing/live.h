/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which row is the block that lives at an address?
 *
 * Four bytes an entry.  A bucket is one cache line: fifteen entries and a count of those that found
 * it full and went on to the next.  An entry is a row number plus one in its low bits and, in the
 * bits that row numbers do not need yet, a piece of the address's hash; the address itself is
 * compared in the column.  So a lookup is one line of this table and one of the column, an entry is
 * removed by clearing it, and both lines can be asked for ahead of time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pairing/columns.h"

#define LIVE_SLOTS 15

struct live_bucket {
	uint32_t entries[LIVE_SLOTS];
	uint32_t passed; /* entries that would be here but for lack of room */
};

struct live {
	struct live_bucket *buckets;
	unsigned bucket_bits, row_bits;
	uint64_t count, limit;
};

void live_init(struct live *l);
void live_release(struct live *l);

static inline uint64_t live_hash(uint64_t address)
{
	return (address ^ address >> 29) * 0x9e3779b97f4a7c15ull;
}

static inline void live_prefetch(const struct live *l, uint64_t address)
{
	__builtin_prefetch(&l->buckets[live_hash(address) >> (64 - l->bucket_bits)], 1);
}

/* The row that probably is it, without a look at the column; NO_ALLOCATION if there is none in
 * the first bucket. */
uint32_t live_guess(const struct live *l, uint64_t address);
uint32_t live_find(const struct live *l, const struct columns *c, uint64_t address);
/* Finds and takes out; NO_ALLOCATION if it is not there. */
uint32_t live_take(struct live *l, const struct columns *c, uint64_t address);
/* Adds a row; returns the one that was at its address before and is not any more, or
 * NO_ALLOCATION. */
uint32_t live_add(struct live *l, const struct columns *c, uint32_t row);
