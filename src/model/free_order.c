/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows sorted by when they were freed.  See free_order.h.
 *
 * Rows are spread over parts of equal width in time, each small enough for the cache, and each part
 * is sorted by the digits of its own keys; both steps on all cores.  Within a part 32 bits of a key
 * are enough for all but the longest recordings, so a free is one word: key : 32, row : 32.  Such
 * words exist only while their part is sorted. */
#include "model/free_order.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hold_lock.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/cache.h"
#include "model/model.h"
#include "pairing/columns_window.h"

#define KIND ".frees"
#define PARTS 4096u
#define BLOCKS_MAX 64u /* pieces of the columns, each with its own counts */
#define DIGIT_BITS 11
#define KEY_BITS 32
#define DIGITS (1u << DIGIT_BITS)
#define FEW 48u /* sorted by insertion */

struct sorting {
	const struct columns *c;
	uint64_t first; /* the earliest free */
	unsigned shift; /* of at - first: its part */
	unsigned drop;	/* lowest bits that keys do not have */
	uint32_t block; /* rows in a piece */
	uint32_t (*counts)[PARTS];
	uint32_t part_start[PARTS + 1];
	uint32_t *rows;
};

static unsigned part_of(const struct sorting *s, uint64_t at)
{
	return (unsigned)((at - s->first) >> s->shift);
}

static uint64_t key_of(const struct sorting *s, uint64_t at)
{
	return ((at - s->first) & ((1ull << s->shift) - 1)) >> s->drop;
}

static void count_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct sorting *s = context;
	uint32_t *counts = s->counts[first / s->block];
	struct columns_window w;

	EACH_WINDOW(from, n, first, count)
	{
		const struct columns *c = columns_window(&w, s->c, from, n, WANT_freed_at);

		for (uint32_t i = from; i < from + n; i++)
			if (columns_freed_at(c, i) != NEVER)
				counts[part_of(s, columns_freed_at(c, i))]++;
	}
}

static void spread_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct sorting *s = context;
	uint32_t *next = s->counts[first / s->block];
	struct columns_window w;

	EACH_WINDOW(from, n, first, count)
	{
		const struct columns *c = columns_window(&w, s->c, from, n, WANT_freed_at);

		for (uint32_t i = from; i < from + n; i++) {
			uint64_t at = columns_freed_at(c, i);

			if (at != NEVER)
				s->rows[next[part_of(s, at)]++] = i;
		}
	}
}

/* Counts become places: part after part, and in each piece after piece. */
static uint32_t place_parts(struct sorting *s, uint32_t blocks)
{
	uint32_t sum = 0;

	for (unsigned p = 0; p < PARTS; p++) {
		s->part_start[p] = sum;
		for (uint32_t b = 0; b < blocks; b++) {
			uint32_t n = s->counts[b][p];

			s->counts[b][p] = sum;
			sum += n;
		}
	}
	return s->part_start[PARTS] = sum;
}

static void sort_few(uint64_t *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t e = a[i];
		uint32_t k = i;

		for (; k && a[k - 1] > e; k--)
			a[k] = a[k - 1];
		a[k] = e;
	}
}

/* By digits from the least; keys have so many bits.  Returns where the result is. */
static uint64_t *sort_many(uint64_t *from, uint64_t *to, uint32_t n, unsigned bits)
{
	for (unsigned shift = KEY_BITS; shift < KEY_BITS + bits; shift += DIGIT_BITS) {
		uint32_t next[DIGITS] = { 0 }, sum = 0;
		uint64_t *swap = from;

		for (uint32_t i = 0; i < n; i++)
			next[from[i] >> shift & (DIGITS - 1)]++;
		for (unsigned d = 0; d < DIGITS; d++) {
			uint32_t count = next[d];

			next[d] = sum;
			sum += count;
		}
		for (uint32_t i = 0; i < n; i++)
			to[next[from[i] >> shift & (DIGITS - 1)]++] = from[i];
		from = to;
		to = swap;
	}
	return from;
}

ORDER_WITH(by_freed_at, uint32_t, struct columns,
	   COMPARE(columns_freed_at(context, *x), columns_freed_at(context, *y)))

/* Rows whose keys are the same for lack of bits. */
static void sort_exactly(const struct columns *c, const uint64_t *a, uint32_t *rows, uint32_t n)
{
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && a[k] >> KEY_BITS == a[i] >> KEY_BITS;)
			k++;
		if (k > i + 1)
			SORT_WITH(&rows[i], k - i, by_freed_at, c);
	}
}

static void sort_parts(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct sorting *s = context;
	struct scratch words = { 0 }; /* of a part, twice: sorting goes from one to the other */

	for (uint64_t p = first; p < first + count; p++) {
		uint32_t start = s->part_start[p], n = s->part_start[p + 1] - start;
		uint32_t *rows = &s->rows[start];
		uint64_t *a = scratch_resize(&words, 2 * (size_t)n * sizeof(*a));

		for (uint32_t i = 0; i < n; i++)
			a[i] = key_of(s, columns_freed_at(s->c, rows[i])) << 32 | rows[i];
		if (n > FEW)
			a = sort_many(a, a + n, n, s->shift - s->drop);
		else
			sort_few(a, n);
		for (uint32_t i = 0; i < n; i++)
			rows[i] = (uint32_t)a[i];
		if (s->drop)
			sort_exactly(s->c, a, rows, n);
	}
	scratch_release(&words);
}

/* The range of the frees, and whether there is one. */
static bool find_range(const struct columns *c, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = NEVER, last = 0;

	for (uint32_t i = 0; c->packed && i < c->packed->groups.count; i++) {
		const struct row_group *g = &c->packed->groups.groups[i];

		first = MIN(first, g->freed_low);
		last = MAX(last, g->freed_high);
	}
	for (uint32_t i = 0; !c->packed && i < c->count; i++) {
		uint64_t at = columns_freed_at(c, i);

		first = at < first ? at : first;
		last = at != NEVER && at > last ? at : last;
	}
	*ret_first = first;
	*ret_last = last;
	return first != NEVER;
}

struct free_order *free_order_new(const struct columns *c)
{
	struct free_order *e = xcalloc(1, sizeof(*e));
	struct sorting s = { .c = c, .block = c->count / BLOCKS_MAX + 1 };
	uint32_t blocks = c->count / s.block + 1;
	uint64_t last;

	if (!find_range(c, &s.first, &last))
		return e;
	while ((last - s.first) >> s.shift >= PARTS)
		s.shift++;
	s.drop = s.shift > KEY_BITS ? s.shift - KEY_BITS : 0;
	s.counts = xcalloc(blocks, sizeof(*s.counts));
	parallel_for(c->count, s.block, count_block, &s);
	e->count = place_parts(&s, blocks);
	s.rows = e->rows = scratch_resize(&e->scratch, (size_t)e->count * sizeof(*e->rows));
	scratch_seal(&e->scratch);
	parallel_for(c->count, s.block, spread_block, &s);
	parallel_for(PARTS, 16, sort_parts, &s);
	free(s.counts);
	return e;
}

struct free_order *free_order_free(struct free_order *e)
{
	if (e)
		scratch_release(&e->scratch);
	free(e);
	return NULL;
}

/* Indices are checked where that does not take as long as sorting would. */
static bool is_order(const struct columns *c, const uint32_t *rows, uint32_t count)
{
	for (uint32_t i = 0; c->count <= CACHE_CHECK_ROWS && i < count; i++)
		if (rows[i] >= c->count || columns_freed_at(c, rows[i]) == NEVER ||
		    (i && columns_freed_at(c, rows[i]) < columns_freed_at(c, rows[i - 1])))
			return false;
	return count <= c->count;
}

/* As it was found when somebody asked before; NULL: nobody did. */
static struct free_order *free_order_found_before(const struct model *m)
{
	struct free_order *e = xcalloc(1, sizeof(*e));
	size_t size = 0;

	e->rows = (uint32_t *)cache_beside_map(m, KIND, &e->scratch, &size);
	e->count = (uint32_t)(size / sizeof(*e->rows));
	if (e->rows && size % sizeof(*e->rows) == 0 && is_order(&m->allocations, e->rows, e->count))
		return e;
	return free_order_free(e);
}

const struct free_order *model_free_order(const struct model *m)
{
	struct model *mutable = (struct model *)m; /* a cache: what it says does not change */
	struct free_order *e = atomic_load_explicit(&mutable->free_order, memory_order_acquire);

	if (e)
		return e;
	parallel_whole(); /* it is kept for whoever asks next */
	hold_lock(&mutable->building_free_order);
	e = atomic_load_explicit(&mutable->free_order, memory_order_acquire);
	if (!e) {
		e = free_order_found_before(m);
		if (!e) {
			e = free_order_new(&m->allocations);
			cache_beside_put(m, KIND, e->rows, e->count * sizeof(*e->rows));
		}
		atomic_store_explicit(&mutable->free_order, e, memory_order_release);
	}
	return e;
}

uint32_t columns_from(const struct columns *c, uint64_t stamp)
{
	return FIRST_WHERE(i, c->count, columns_allocated_at(c, i) >= stamp);
}

uint32_t free_order_from(const struct free_order *e, const struct columns *c, uint64_t stamp)
{
	return FIRST_WHERE(i, e->count, columns_freed_at(c, e->rows[i]) >= stamp);
}
