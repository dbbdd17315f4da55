/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loops over columns.  See steps.h.
 *
 * Each takes 64 rows at a time and makes one word of answers.  Where few of the 64 are in question
 * it looks at those only; where none is, the column is not touched. */
#include "query/steps.h"

#include <string.h>

#include "base/order.h"
#include "pairing/columns_window.h"
#include "query/fields.h"
#include "query/map_ranges.h"

#define FEW 12 /* rows of 64: then one by one */

/* TEST is about `row`. */
#define SCAN(TEST)                                                                                 \
	do {                                                                                       \
		for (uint32_t w = 0; w < words; w++) {                                             \
			uint64_t in = mask[w], yes = 0;                                            \
			uint32_t base = first + w * 64;                                            \
                                                                                                   \
			if (__builtin_popcountll(in) <= FEW) {                                     \
				for (uint64_t left = in; left; left &= left - 1) {                 \
					uint32_t bit = (uint32_t)__builtin_ctzll(left);            \
					uint32_t row = base + bit;                                 \
					yes |= (uint64_t)(TEST) << bit;                            \
				}                                                                  \
			} else {                                                                   \
				uint32_t end = 64 - (uint32_t)__builtin_clzll(in);                 \
				for (uint32_t bit = 0; bit < end; bit++) {                         \
					uint32_t row = base + bit;                                 \
					yes |= (uint64_t)(TEST) << bit;                            \
				}                                                                  \
			}                                                                          \
			out[w] = yes & in;                                                         \
		}                                                                                  \
	} while (0)

#define IN_RANGE(value) ((value)-low <= span)

/* What was freed, as far as it is known by whom. */
static inline bool has_free(const struct columns *c, uint32_t row)
{
	return columns_freed_at(c, row) != NEVER &&
	       !(tags_flags(columns_tags(c, row)) & TAG_FREE_LOST);
}

/* How many markers were set up to a time. */
static size_t marker_before(const struct markers *m, uint64_t stamp)
{
	return FIRST_WHERE(i, m->count, m->rows[i].stamp > stamp);
}

/* The marker's value at a time that is not before the last one asked for. */
static inline uint64_t marker_of(const struct markers *m, uint64_t stamp, size_t *position)
{
	while (*position < m->count && m->rows[*position].stamp <= stamp)
		(*position)++;
	return *position ? m->rows[*position - 1].value : 0;
}

/* Rows are in the order of allocation, so most blocks are all in or all out. */
static void run_allocated(const struct columns *c, uint64_t low, uint64_t high, uint32_t first,
			  uint32_t words, const uint64_t *mask, uint64_t *out)
{
	uint32_t last = first + words * 64 - 1;
	uint64_t span = high - low;

	if (last >= c->count)
		last = c->count - 1;
	if (columns_allocated_at(c, first) > high || columns_allocated_at(c, last) < low)
		memset(out, 0, words * sizeof(*out));
	else if (columns_allocated_at(c, first) >= low && columns_allocated_at(c, last) <= high)
		memcpy(out, mask, words * sizeof(*out));
	else
		SCAN(IN_RANGE(columns_allocated_at(c, row)));
}

static void run_number(const struct plan *p, const struct step *s, const struct columns *c,
		       uint32_t first, uint32_t words, const uint64_t *mask, uint64_t *out)
{
	const struct model *m = p->m;
	const struct model_clock *clock = &p->clock;
	const struct markers *markers = &m->tables.markers;
	uint64_t low = s->low, span = s->high - s->low;
	size_t marker;

	if (s->which == ROW_ALLOCATED) {
		run_allocated(c, s->low, s->high, first, words, mask, out);
		return;
	}
	if (s->which == ROW_MARKER) {
		marker = marker_before(markers, columns_allocated_at(c, first));
		SCAN(IN_RANGE(marker_of(markers, columns_allocated_at(c, row), &marker)));
		return;
	}
	switch ((enum row_number)s->which) {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help)                     \
	case ROW_##id:                                                                             \
		SCAN(IN_RANGE(value));                                                             \
		return;
#include "query/fields.def"
#undef NUMBER
	}
}

static void run_flag(const struct plan *p, const struct step *s, const struct columns *c,
		     uint32_t first, uint32_t words, const uint64_t *mask, uint64_t *out)
{
	switch ((enum flag)s->which) {
	case FLAG_LEAKED:
		SCAN(columns_freed_at(c, row) == NEVER);
		return;
	case FLAG_CHAIN_LEAKED:
		SCAN(columns_freed_at(c, chain_of(p->m, row).last) == NEVER);
		return;
	case FLAG_OTHER_THREAD:
		SCAN(has_free(c, row) &&
		     tags_free_thread(columns_tags(c, row)) != tags_thread(columns_tags(c, row)));
		return;
	default: /* the others are sets, or tests of tags */
		memset(out, 0, words * sizeof(*out));
	}
}

static inline bool in_set(const struct step *s, uint32_t i)
{
	return bit_get(s->bits, i < s->bit_count ? i : 0);
}

static inline bool has_bit(const struct step *s, uint32_t i)
{
	return i < s->bit_count && bit_get(s->bits, i);
}

static void run_and(const struct plan *p, const struct step *s, uint32_t first, uint32_t words,
		    const uint64_t *mask, uint64_t *out)
{
	uint64_t still[PLAN_WORDS], any = 0;

	memcpy(out, mask, words * sizeof(*out));
	for (size_t i = 0; i < s->child_count; i++) {
		memcpy(still, out, words * sizeof(*out));
		step_run(p, s->children[i], first, words, still, out);
		any = 0;
		for (uint32_t w = 0; w < words; w++)
			any |= out[w];
		if (!any)
			return;
	}
}

static void run_or(const struct plan *p, const struct step *s, uint32_t first, uint32_t words,
		   const uint64_t *mask, uint64_t *out)
{
	uint64_t open[PLAN_WORDS], found[PLAN_WORDS];

	memcpy(open, mask, words * sizeof(*open));
	memset(out, 0, words * sizeof(*out));
	for (size_t i = 0; i < s->child_count; i++) {
		step_run(p, s->children[i], first, words, open, found);
		for (uint32_t w = 0; w < words; w++) {
			out[w] |= found[w];
			open[w] &= ~found[w];
		}
	}
}

static void run_not(const struct plan *p, const struct step *s, uint32_t first, uint32_t words,
		    const uint64_t *mask, uint64_t *out)
{
	uint64_t found[PLAN_WORDS];

	step_run(p, s->children[0], first, words, mask, found);
	for (uint32_t w = 0; w < words; w++)
		out[w] = mask[w] & ~found[w];
}

/* What a step compares, of the rows in question alone; 0: of other rows too, or none. */
static unsigned wanted_by(const struct step *s)
{
	static const unsigned by_number[] = {
		[ROW_ALLOCATED] = WANT_allocated_at,
		[ROW_MARKER] = WANT_allocated_at,
		[ROW_FREED] = WANT_freed_at,
		[ROW_LIFETIME] = WANT_allocated_at | WANT_freed_at,
		[ROW_SIZE] = WANT_size,
		[ROW_USABLE_SIZE] = WANT_size,
		[ROW_SLACK] = WANT_size,
		[ROW_ADDRESS] = WANT_address,
		[ROW_POSITION] = WANT_position,
	};

	switch (s->kind) {
	case STEP_NUMBER:
		return (size_t)s->which < sizeof(by_number) / sizeof(by_number[0])
			       ? by_number[s->which]
			       : 0;
	case STEP_FLAG:
		return s->which == FLAG_LEAKED	       ? WANT_freed_at
		       : s->which == FLAG_OTHER_THREAD ? WANT_freed_at | WANT_tags
						       : 0;
	case STEP_MAP:
		return WANT_address | WANT_size | WANT_allocated_at | WANT_freed_at;
	case STEP_TAGS:
	case STEP_THREADS:
	case STEP_CALLS:
		return WANT_tags;
	case STEP_STACKS:
		return WANT_stack;
	case STEP_FREE_STACKS:
		return WANT_freed_at | WANT_tags | WANT_free_stack;
	case STEP_FREE_THREADS:
	case STEP_FREE_CALLS:
		return WANT_freed_at | WANT_tags;
	default:
		return 0;
	}
}

static void scan(const struct plan *p, const struct step *s, const struct columns *c,
		 uint32_t first, uint32_t words, const uint64_t *mask, uint64_t *out)
{
	switch (s->kind) {
	case STEP_NUMBER:
		run_number(p, s, c, first, words, mask, out);
		return;
	case STEP_FLAG:
		run_flag(p, s, c, first, words, mask, out);
		return;
	case STEP_MAP:
		SCAN(map_ranges_overlap(s->map, columns_address(c, row), columns_size(c, row),
					columns_allocated_at(c, row), columns_freed_at(c, row)));
		return;
	case STEP_TAGS:
		SCAN((columns_tags(c, row) & s->low) == s->high);
		return;
	case STEP_STACKS:
		SCAN(in_set(s, columns_stack(c, row)));
		return;
	case STEP_FREE_STACKS:
		SCAN(has_free(c, row) && in_set(s, columns_free_stack(c, row)));
		return;
	case STEP_THREADS:
		SCAN(has_bit(s, tags_thread(columns_tags(c, row))));
		return;
	case STEP_FREE_THREADS:
		SCAN(has_free(c, row) && has_bit(s, tags_free_thread(columns_tags(c, row))));
		return;
	case STEP_CALLS:
		SCAN(bit_get(s->bits, tags_call(columns_tags(c, row))));
		return;
	case STEP_FREE_CALLS:
		SCAN(has_free(c, row) && bit_get(s->bits, tags_free_call(columns_tags(c, row))));
		return;
	default: /* not about columns */
		return;
	}
}

/* Packed groups say how small and how large a number is in them: most often that is enough. */
static bool zone_answers(const struct step *s, const struct columns *c, uint32_t first,
			 uint32_t words, const uint64_t *mask, uint64_t *out)
{
	uint32_t count = MIN(words * 64, c->count - first);
	enum packed_column column;
	uint64_t low, high;

	if (s->kind != STEP_NUMBER)
		return false;
	if (s->which == ROW_SIZE)
		column = PACKED_SIZE;
	else if (s->which == ROW_ADDRESS)
		column = PACKED_ADDRESS;
	else if (s->which == ROW_ALLOCATED)
		column = PACKED_ALLOCATED_AT;
	else if (s->which == ROW_POSITION)
		column = PACKED_POSITION;
	else
		return false;
	columns_zone(c, column, first, count, &low, &high);
	if (low > s->high || high < s->low)
		memset(out, 0, words * sizeof(*out));
	else if (low >= s->low && high <= s->high)
		memcpy(out, mask, words * sizeof(*out));
	else
		return false;
	return true;
}

/* A window at a time, where enough of it is in question. */
static void scan_packed(const struct plan *p, const struct step *s, uint32_t first, uint32_t words,
			const uint64_t *mask, uint64_t *out)
{
	const struct columns *all = &p->m->allocations, *c;
	unsigned wanted = wanted_by(s);
	struct columns_window w;

	if (zone_answers(s, all, first, words, mask, out))
		return;
	for (uint32_t at = 0, n; at < words; at += n) {
		uint32_t row = first + at * 64, in_question = 0;

		n = MIN(words - at, WINDOW_ROWS / 64);
		for (uint32_t i = at; i < at + n; i++)
			in_question += (uint32_t)__builtin_popcountll(mask[i]);
		c = all;
		if (wanted && in_question > n * FEW / 2)
			c = columns_window_unpack(&w, all, row, MIN(n * 64, all->count - row),
						  wanted);
		scan(p, s, c, row, n, mask + at, out + at);
	}
}

void step_run(const struct plan *p, const struct step *s, uint32_t first, uint32_t words,
	      const uint64_t *mask, uint64_t *out)
{
	switch (s->kind) {
	case STEP_NOTHING:
		memset(out, 0, words * sizeof(*out));
		return;
	case STEP_ALL:
		memcpy(out, mask, words * sizeof(*out));
		return;
	case STEP_AND:
		run_and(p, s, first, words, mask, out);
		return;
	case STEP_OR:
		run_or(p, s, first, words, mask, out);
		return;
	case STEP_NOT:
		run_not(p, s, first, words, mask, out);
		return;
	default:
		if (p->m->allocations.packed)
			scan_packed(p, s, first, words, mask, out);
		else
			scan(p, s, &p->m->allocations, first, words, mask, out);
	}
}
