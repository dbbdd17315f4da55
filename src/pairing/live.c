/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of live blocks.  See live.h. */
#include "pairing/live.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/xalloc.h"

#define BUCKET_BITS_FIRST 7
#define ROW_BITS_FIRST 16

_Static_assert(sizeof(struct live_bucket) == 64, "a cache line");

static size_t table_size(unsigned bits)
{
	return sizeof(struct live_bucket) << bits;
}

static void resize(struct live *l, unsigned bits)
{
	l->bucket_bits = bits;
	l->buckets = pages_grow(NULL, 0, table_size(bits));
	/* Three quarters full: buckets that overflow are rare up to there. */
	l->limit = (uint64_t)LIVE_SLOTS * 3 / 4 << bits;
}

void live_init(struct live *l)
{
	memset(l, 0, sizeof(*l));
	l->row_bits = ROW_BITS_FIRST;
	resize(l, BUCKET_BITS_FIRST);
}

void live_release(struct live *l)
{
	if (l->buckets)
		pages_free(l->buckets, table_size(l->bucket_bits));
	memset(l, 0, sizeof(*l));
}

static inline uint32_t row_mask(const struct live *l)
{
	return (1u << l->row_bits) - 1;
}

/* Bits from the middle of the hash (the low ones are poor, the high ones choose the bucket),
 * shifted above the row number. */
static inline uint32_t tag_of(const struct live *l, uint64_t hash)
{
	return (uint32_t)(hash >> 16) << l->row_bits;
}

/* Bit i: entry i is in use, and its tag is this one. */
static inline unsigned matches(const struct live_bucket *b, uint32_t tag, uint32_t mask)
{
	unsigned found = 0;
#ifdef __SSE2__
	__m128i wanted = _mm_set1_epi32((int)tag), keep = _mm_set1_epi32((int)~mask);

	for (unsigned i = 0; i < 4; i++) {
		__m128i e = _mm_load_si128((const __m128i *)b + i);
		__m128i equal = _mm_cmpeq_epi32(_mm_and_si128(e, keep), wanted);
		__m128i empty = _mm_cmpeq_epi32(e, _mm_setzero_si128());
		__m128i hit = _mm_andnot_si128(empty, equal);

		found |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(hit)) << i * 4;
	}
	return found & ((1u << LIVE_SLOTS) - 1);
#else
	for (unsigned i = 0; i < LIVE_SLOTS; i++)
		found |= (unsigned)(b->entries[i] && (b->entries[i] & ~mask) == tag) << i;
	return found;
#endif
}

static inline unsigned empties(const struct live_bucket *b)
{
	unsigned found = 0;
#ifdef __SSE2__
	for (unsigned i = 0; i < 4; i++) {
		__m128i e = _mm_load_si128((const __m128i *)b + i);
		__m128i empty = _mm_cmpeq_epi32(e, _mm_setzero_si128());

		found |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(empty)) << i * 4;
	}
	return found & ((1u << LIVE_SLOTS) - 1);
#else
	for (unsigned i = 0; i < LIVE_SLOTS; i++)
		found |= (unsigned)!b->entries[i] << i;
	return found;
#endif
}

uint32_t live_guess(const struct live *l, uint64_t address)
{
	uint64_t hash = live_hash(address);
	const struct live_bucket *b = &l->buckets[hash >> (64 - l->bucket_bits)];
	unsigned found = matches(b, tag_of(l, hash), row_mask(l));

	if (!found)
		return NO_ALLOCATION;
	return (b->entries[__builtin_ctz(found)] & row_mask(l)) - 1;
}

struct position {
	uint64_t home, bucket;
	unsigned entry;
	uint32_t row;
};

static inline bool live_find_position(const struct live *l, const struct columns *c,
				      uint64_t address, struct position *ret_position)
{
	uint64_t hash = live_hash(address), home = hash >> (64 - l->bucket_bits), at = home;
	uint64_t last = (1ull << l->bucket_bits) - 1;
	uint32_t mask = row_mask(l), tag = tag_of(l, hash);

	for (;;) {
		const struct live_bucket *b = &l->buckets[at];

		for (unsigned found = matches(b, tag, mask); found; found &= found - 1) {
			unsigned entry = (unsigned)__builtin_ctz(found);
			uint32_t row = (b->entries[entry] & mask) - 1;

			if (columns_address(c, row) != address)
				continue;
			*ret_position = (struct position){ home, at, entry, row };
			return true;
		}
		if (!b->passed)
			return false;
		at = (at + 1) & last;
		if (at == home)
			return false;
	}
}

uint32_t live_find(const struct live *l, const struct columns *c, uint64_t address)
{
	struct position p;

	return live_find_position(l, c, address, &p) ? p.row : NO_ALLOCATION;
}

uint32_t live_take(struct live *l, const struct columns *c, uint64_t address)
{
	uint64_t last = (1ull << l->bucket_bits) - 1;
	struct position p;

	if (!live_find_position(l, c, address, &p))
		return NO_ALLOCATION;
	l->buckets[p.bucket].entries[p.entry] = 0;
	for (uint64_t at = p.home; at != p.bucket; at = (at + 1) & last)
		l->buckets[at].passed--;
	l->count--;
	return p.row;
}

static void live_put(struct live *l, uint64_t hash, uint32_t row)
{
	uint64_t at = hash >> (64 - l->bucket_bits), last = (1ull << l->bucket_bits) - 1;
	unsigned free_entries;

	while (!(free_entries = empties(&l->buckets[at]))) {
		l->buckets[at].passed++;
		at = (at + 1) & last;
	}
	l->buckets[at].entries[__builtin_ctz(free_entries)] = tag_of(l, hash) | (row + 1);
}

static void live_grow(struct live *l, const struct columns *c)
{
	auto_release(live_release) struct live old = *l;

	resize(l, old.bucket_bits + 1);
	for (uint64_t i = 0; i < 1ull << old.bucket_bits; i++) {
		for (unsigned k = 0; k < LIVE_SLOTS; k++) {
			uint32_t entry = old.buckets[i].entries[k];
			uint32_t row = (entry & row_mask(l)) - 1;

			if (entry)
				live_put(l, live_hash(columns_address(c, row)), row);
		}
	}
}

/* Row numbers need one bit more: it is taken from the tags. */
static void widen(struct live *l)
{
	uint32_t mask = row_mask(l);

	for (uint64_t i = 0; i < 1ull << l->bucket_bits; i++) {
		for (unsigned k = 0; k < LIVE_SLOTS; k++) {
			uint32_t *entry = &l->buckets[i].entries[k];

			*entry = (*entry & ~mask) << 1 | (*entry & mask);
		}
	}
	l->row_bits++;
}

uint32_t live_add(struct live *l, const struct columns *c, uint32_t row)
{
	uint64_t address = columns_address(c, row), hash = live_hash(address);
	struct position p;

	while (row + 1 > row_mask(l))
		widen(l);
	if (live_find_position(l, c, address, &p)) {
		l->buckets[p.bucket].entries[p.entry] = tag_of(l, hash) | (row + 1);
		return p.row;
	}
	if (l->count >= l->limit)
		live_grow(l, c);
	live_put(l, hash, row);
	l->count++;
	return NO_ALLOCATION;
}
