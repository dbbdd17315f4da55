/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packed rows against plain ones: every way of reading, every kind of column, groups of any size,
 * and what ends a block long after its group was packed. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/scratch.h"
#include "base/xalloc.h"
#include "pairing/columns_window.h"
#include "pairing/row_builder.h"
#include "pairing/row_group.h"
#include "wire/event.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	return next_random(state) % n;
}

/* One value of a column that is like those of a kind of program. */
static uint64_t value_like(uint64_t *state, unsigned kind, uint32_t row)
{
	switch (kind) {
	case 0: /* the same everywhere */
		return 77;
	case 1: /* rising, as times do */
		return ((uint64_t)1 << 44) + row * 300ull + random_below(state, 300);
	case 2: /* small, and few large ones */
		return random_below(state, 100) ? random_below(state, 200)
						: random_below(state, 1ull << 40);
	case 3: /* multiples of 16 in a heap, a few far above and below it */
		return (random_below(state, 50)	 ? 0x555555000000
			: random_below(state, 2) ? 0x7fff00000000
						 : 0x10000) +
		       random_below(state, 1u << 20) * 16;
	case 4: /* all bits */
		return next_random(state);
	default: /* all ones of a width, which is the sign for the list */
		return random_below(state, 2) ? 127 : random_below(state, 3) ? 126 : 1ull << 30;
	}
}

#define KINDS 6

static void fill_rows(uint64_t *state, struct group_rows *r, uint32_t n)
{
	uint64_t at = random_below(state, 1ull << 40);
	unsigned address = (unsigned)random_below(state, KINDS);
	unsigned size = (unsigned)random_below(state, KINDS);
	unsigned life = (unsigned)random_below(state, KINDS);
	unsigned other = (unsigned)random_below(state, KINDS);
	uint32_t words = 1 + (uint32_t)random_below(state, random_below(state, 2) ? 9 : 5000);

	for (uint32_t i = 0; i < n; i++) {
		at += 1 + random_below(state, 1000);
		r->allocated_at[i] = at;
		r->address[i] = value_like(state, address, i);
		r->size[i] = value_like(state, size, i) & 0xffffffffffff;
		r->slack[i] = (uint16_t)value_like(state, size, i);
		r->made[i] = (uint32_t)random_below(state, words) * 0x9e3779b1u;
		r->stack[i] = (uint32_t)value_like(state, other, i);
		r->previous[i] = random_below(state, 9) ? 0 : (uint32_t)random_below(state, 99);
		r->position[i] = (uint32_t)random_below(state, 3);
		r->lifetime[i] = random_below(state, 3) ? value_like(state, life, i) >> 16 : 0;
		r->free_stack[i] = (uint32_t)value_like(state, other, i);
		r->ended[i] = (uint32_t)random_below(state, words) * 0x9e3779b1u;
		r->chain[i] = (uint32_t)value_like(state, other, i);
	}
}

/* Each column as one, and all of it as any part of it. */
static void check_column(uint64_t *state, const uint8_t *bytes, const struct packed_piece *p,
			 enum packed_column column, const uint64_t *wanted, uint32_t n)
{
	bool words = column == PACKED_MADE || column == PACKED_ENDED;
	uint32_t from = (uint32_t)random_below(state, n);
	uint32_t count = 1 + (uint32_t)random_below(state, n - from);
	uint64_t numbers[PACKED_ROWS_MAX];
	uint32_t narrow[PACKED_ROWS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t found = words ? packed_word(bytes, p, i) : packed_number(bytes, p, i);

		if (found != wanted[i] || found < p->low || found > p->high)
			fail_msg("column %u, row %u: %lx instead of %lx", column, i,
				 (unsigned long)found, (unsigned long)wanted[i]);
	}
	if (words) {
		packed_words(bytes, p, from, count, narrow);
	} else {
		packed_numbers(bytes, p, from, count, numbers);
		packed_numbers32(bytes, p, from, count, narrow);
	}
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(narrow[i], (uint32_t)wanted[from + i]);
		assert_true(words || numbers[i] == wanted[from + i]);
	}
}

static void any_values_come_back(void **context)
{
	uint64_t state = 42, wanted[PACKED_ROWS_MAX];
	struct group_rows *rows = xcalloc(1, sizeof(*rows)), *again = xcalloc(1, sizeof(*again));

	for (unsigned round = 0; round < 400; round++) {
		uint32_t n = 1 + (uint32_t)random_below(&state, round % 4 ? 90 : PACKED_ROWS_MAX);
		struct row_group g = { .rows = n };
		uint8_t *bytes = xcalloc(packed_bound(n), 1), *exact;
		size_t head, size;

		fill_rows(&state, rows, n);
		head = packed_pack_head(&g, rows, bytes, 0);
		size = head + packed_pack_tail(&g, rows, bytes + head, head);
		/* Not a byte more, so that the sanitizer sees who reads too far. */
		exact = xcalloc(size + PACKED_PADDING, 1);
		memcpy(exact, bytes, size);
		assert_true(packed_is_good(&g, size + PACKED_PADDING, PACKED_ROWS_MAX));
		assert_false(packed_is_good(&g, size + PACKED_PADDING, n - 1));
#define X(id, type, member)                                                                        \
	for (uint32_t i = 0; i < n; i++)                                                           \
		wanted[i] = rows->member[i];                                                       \
	check_column(&state, exact, &g.pieces[PACKED_##id], PACKED_##id, wanted, n);
		PACKED_HEAD(X)
		PACKED_TAIL(X)
#undef X
		packed_unpack_tail(&g, exact, exact, again);
		for (uint32_t i = 0; i < n; i++) {
			assert_true(again->lifetime[i] == rows->lifetime[i]);
			assert_int_equal(again->chain[i], rows->chain[i]);
		}
		free(exact);
		free(bytes);
	}
	free(rows);
	free(again);
}

/* A table that somebody has changed leads nowhere else, or is refused. */
static void wild_pieces_lead_nowhere(void **context)
{
	struct group_rows *rows = xcalloc(1, sizeof(*rows));
	uint64_t state = 7, numbers[300], sum = 0;
	uint8_t *bytes = xcalloc(packed_bound(300), 1), *exact;
	struct row_group good = { .rows = 300 };
	uint32_t narrow[300], accepted = 0;
	size_t size;

	fill_rows(&state, rows, 300);
	size = packed_pack_head(&good, rows, bytes, 0);
	size += packed_pack_tail(&good, rows, bytes + size, size) + PACKED_PADDING;
	exact = xcalloc(size, 1);
	memcpy(exact, bytes, size - PACKED_PADDING);
	for (unsigned round = 0; round < 20000; round++) {
		struct row_group g = good;
		unsigned column = (unsigned)random_below(&state, PACKED_COLUMNS);
		struct packed_piece *p = &g.pieces[column];

		((uint8_t *)p)[random_below(&state, sizeof(*p))] = (uint8_t)next_random(&state);
		if (round % 2)
			((uint8_t *)p)[24 + random_below(&state, 16)] =
				(uint8_t)random_below(&state, 70);
		exact[random_below(&state, size)] = (uint8_t)next_random(&state);
		if (!packed_is_good(&g, size, 300))
			continue;
		accepted++;
		for (uint32_t i = 0; i < 300; i++)
			sum += column == PACKED_MADE || column == PACKED_ENDED
				       ? packed_word(exact, p, i)
				       : packed_number(exact, p, i);
		if (column == PACKED_MADE || column == PACKED_ENDED) {
			packed_words(exact, p, 0, 300, narrow);
		} else {
			packed_numbers(exact, p, 3, 290, numbers);
			packed_numbers32(exact, p, 0, 300, narrow);
		}
		sum += narrow[7];
	}
	assert_true(sum && accepted > 1000);
	free(exact);
	free(bytes);
	free(rows);
}

/* What a row should be. */
struct wanted {
	uint64_t at, address, size, lifetime, tags;
	uint32_t slack, stack, free_stack, previous, chain, position;
	bool followed; /* by what realloc made of it: it is gone for good */
};

static void check_row(const struct columns *c, const struct wanted *w, uint32_t row)
{
	assert_true(columns_allocated_at(c, row) == w->at);
	assert_true(columns_freed_at(c, row) == (w->lifetime ? w->at + w->lifetime : NEVER));
	assert_true(columns_address(c, row) == w->address);
	assert_true(columns_size(c, row) == w->size);
	assert_int_equal(columns_slack(c, row), w->slack);
	assert_true(columns_tags(c, row) == w->tags);
	assert_int_equal(columns_stack(c, row), w->stack);
	assert_int_equal(columns_free_stack(c, row), w->free_stack);
	assert_int_equal(columns_previous(c, row), w->previous);
	assert_int_equal(columns_chain(c, row), w->chain);
	assert_int_equal(columns_position(c, row), w->position);
}

#define ALL_COLUMNS 0x3ff

static void check_all(uint64_t *state, const struct columns *c, const struct wanted *rows,
		      uint32_t count)
{
	struct columns_window w;

	assert_int_equal(c->count, count);
	for (uint32_t i = 0; i < count; i += 1 + (uint32_t)random_below(state, 3))
		check_row(c, &rows[i], i);
	EACH_WINDOW(at, n, 0, count)
	{
		const struct columns *view = columns_window(&w, c, at, n, ALL_COLUMNS);

		for (uint32_t i = at; i < at + n; i++)
			check_row(view, &rows[i], i);
	}
}

/* Blocks begin, end at once or much later, are made into others, and come back to life. */
static void check_built(uint64_t seed, unsigned bits, uint32_t count, int fd)
{
	struct row_builder *b = row_builder_new(bits);
	struct wanted *rows = xcalloc(count + 1, sizeof(*rows));
	struct columns c = { 0 };
	struct chain *chains;
	uint32_t chain_count, chain_room, chains_due = 0;
	uint64_t state = seed, now = 1000;

	if (fd >= 0)
		row_builder_into(b, fd, COLUMNS_ALIGN);
	for (uint32_t i = 0; i < count; i++) {
		struct wanted *w = &rows[i];
		uint32_t slack = random_below(&state, 50) ? 8 : 100000;
		uint32_t far = random_below(&state, 4) ? 40 : count;

		now += 1 + random_below(&state, 500);
		*w = (struct wanted){ now,
				      next_random(&state) >> 10,
				      random_below(&state, 5000),
				      0,
				      tags_make((uint32_t)random_below(&state, 9), 3, 1),
				      slack,
				      (uint32_t)random_below(&state, 700),
				      STACK_NONE,
				      NO_ALLOCATION,
				      NO_CHAIN,
				      0,
				      false };
		assert_int_equal(row_builder_begin(b, w->at, w->address, w->size, w->slack, w->tags,
						   w->stack),
				 i);
		for (unsigned k = 0; k < 2; k++) {
			uint32_t old = i - (uint32_t)random_below(&state, i < far ? i + 1 : far);
			struct wanted *o = &rows[old];
			bool back = o->lifetime && !o->followed && !random_below(&state, 30);

			if ((o->lifetime && !back) || old == i)
				continue;
			o->lifetime = back ? 0 : now - o->at + 1;
			o->free_stack = back ? STACK_NONE : (uint32_t)random_below(&state, 700);
			o->tags = back ? tags_freed(o->tags, 0, 0, 0) & ~(7ull << 61)
				       : tags_freed(o->tags, 5, 9, TAG_TEMPORARY);
			row_builder_end(b, old, o->lifetime, o->tags, o->free_stack);
			if (back || k || random_below(&state, 4))
				continue;
			if (o->chain == NO_CHAIN)
				o->chain = chains_due++;
			o->followed = true;
			w->previous = old;
			w->chain = o->chain;
			w->position = o->position + 1;
			assert_int_equal(
				row_builder_link(b, i, old, o->position ? o->chain : NO_CHAIN),
				w->chain);
		}
	}
	row_builder_finish(b, &c, &chains, &chain_count, &chain_room);
	row_builder_free(b);
	assert_int_equal(chain_count, chains_due);
	assert_true((fd >= 0) == (c.file != NULL));
	check_all(&state, &c, rows, count);
	columns_release(&c);
	pages_free(chains, chain_room * sizeof(*chains));
	free(rows);
}

static void rows_are_built(void **context)
{
	for (unsigned bits = 1; bits <= PACKED_BITS_MAX; bits++) {
		check_built(bits, bits, bits * 700, -1);
		check_built(100 + bits, bits, 1, -1);
	}
	check_built(1, 3, 0, -1);
	check_built(2, PACKED_BITS_MAX, 150000, -1);
	check_built(3, PACKED_BITS_MAX, 150000, scratch_open());
	check_built(4, 4, 30000, scratch_open());
}

/* The disk has room for the first groups only: rows are in memory then, all of them. */
static void rows_leave_a_full_disk(void **context)
{
	struct rlimit was, small;

	getrlimit(RLIMIT_FSIZE, &was);
	small = (struct rlimit){ (uint64_t)33 << 20, was.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	for (unsigned megabytes = 1; megabytes <= 33; megabytes += 32) {
		struct row_builder *b = row_builder_new(PACKED_BITS_MAX);
		struct columns c = { 0 };
		struct chain *chains;
		uint32_t count, room;
		uint64_t state = 9, address[3] = { 0 };

		small.rlim_cur = (uint64_t)megabytes << 20;
		setrlimit(RLIMIT_FSIZE, &small);
		row_builder_into(b, scratch_open(), COLUMNS_ALIGN);
		for (uint32_t i = 0; i < 3000000; i++) {
			uint64_t at = next_random(&state) >> 8;

			if (i % 1000000 == 0)
				address[i / 1000000] = at;
			row_builder_begin(b, i + 1, at, at >> 20, 0, i, i);
		}
		row_builder_finish(b, &c, &chains, &count, &room);
		row_builder_free(b);
		assert_null(c.file);
		for (uint32_t i = 0; i < 3; i++)
			assert_true(columns_address(&c, i * 1000000) == address[i]);
		columns_release(&c);
		pages_free(chains, room * sizeof(*chains));
	}
	setrlimit(RLIMIT_FSIZE, &was);
}

UNIT(row_group)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_values_come_back),
		cmocka_unit_test(wild_pieces_lead_nowhere),
		cmocka_unit_test(rows_are_built),
		cmocka_unit_test(rows_leave_a_full_disk),
	};

	setenv("MEMOIR_THREADS", "3", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
