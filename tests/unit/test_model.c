/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Merging and pairing: which free ends which allocation, whatever thread, chunk or order. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/model.h"
#include "model/stats.h"
#include "recording_writer.h"

/* One event of a table: ring, op, stamp, address, size, stack. */
struct row {
	uint32_t ring;
	enum event_op op;
	uint64_t stamp, address, size;
	uint32_t stack;
};

#define A(ring, stamp, address, size)                                                              \
	{                                                                                          \
		ring, OP_ALLOC, stamp, address, size, 1                                            \
	}
#define F(ring, stamp, address)                                                                    \
	{                                                                                          \
		ring, OP_FREE, stamp, address, 0, 2                                                \
	}
#define FROM(ring, stamp, address)                                                                 \
	{                                                                                          \
		ring, OP_REALLOC_FROM, stamp, address, 0, 3                                        \
	}
#define TO(ring, stamp, address, size)                                                             \
	{                                                                                          \
		ring, OP_REALLOC_TO, stamp, address, size, 3                                       \
	}
#define FREED(ring, stamp, address)                                                                \
	{                                                                                          \
		ring, OP_REALLOC_FREED, stamp, address, 0, 3                                       \
	}
#define FAILED(ring, stamp, address)                                                               \
	{                                                                                          \
		ring, OP_REALLOC_FAILED, stamp, address, 0, 3                                      \
	}
#define THREAD(ring, stamp, tid)                                                                   \
	{                                                                                          \
		ring, OP_THREAD, stamp, tid, 0, 0                                                  \
	}
/* Ends a chunk; `stamp` is its horizon. */
#define CHUNK(stamp)                                                                               \
	{                                                                                          \
		0, 0, stamp, 0, 0, 0                                                               \
	}

static enum event_call call_of(enum event_op op)
{
	return op == OP_ALLOC ? CALL_malloc : op == OP_FREE ? CALL_free : CALL_realloc;
}

static struct model *load_writer(struct writer *w, unsigned workers)
{
	struct model_options options = { .workers = workers };
	struct model *m;
	struct err err;

	assert_int_equal(model_open_memory(&m, w->out.data, w->out.size, &err), 0);
	model_load(m, &options);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	model_finish(m);
	return m;
}

static struct model *load_rows(const struct row *rows, unsigned count)
{
	struct writer_node nodes[3] = { { 0, 0x10, 0, 0 }, { 1, 0x20, 0, 0 }, { 2, 0x30, 0, 0 } };
	struct writer w;
	struct model *m;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_nodes(&w, 1, nodes, 3);
	for (unsigned i = 0; i < count; i++) {
		const struct row *r = &rows[i];
		struct event e;

		if (!r->op) {
			writer_events(&w, r->stamp);
			continue;
		}
		e = r->op == OP_THREAD ? make_thread(r->stamp, r->address, "thread")
				       : make_event(r->op, call_of(r->op), r->stamp, r->address,
						    r->size, r->stack);
		writer_run(&w, r->ring, &e, 1);
	}
	writer_events(&w, UINT64_MAX);
	writer_end(&w, true);
	m = load_writer(&w, 0);
	writer_release(&w);
	return m;
}

#define LOAD(...)                                                                                  \
	load_rows((const struct row[]){ __VA_ARGS__ },                                             \
		  sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

static void alloc_and_free(void **context)
{
	struct model *m =
		LOAD(THREAD(0, 5, 41), A(0, 10, 0x100, 7), A(0, 20, 0x200, 9), F(0, 30, 0x100));
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 2);
	assert_int_equal(columns_allocated_at(c, 0), 10);
	assert_int_equal(columns_freed_at(c, 0), 30);
	assert_int_equal(columns_freed_at(c, 1), NEVER);
	assert_int_equal(columns_stack(c, 0), 1);
	assert_int_equal(columns_free_stack(c, 0), 2);
	assert_int_equal(tags_call(columns_tags(c, 0)), CALL_malloc);
	assert_int_equal(tags_free_call(columns_tags(c, 0)), CALL_free);
	assert_int_equal(m->totals.peak_bytes, 16);
	assert_int_equal(m->totals.peak_at, 20);
	assert_int_equal(m->totals.live_bytes, 9);
	assert_int_equal(m->totals.live_count, 1);
	assert_int_equal(m->totals.temporary, 0);
	assert_int_equal(m->tables.threads.rows[0].tid, 41);
	model_free(m);
}

/* The ring order in the file is the opposite of the order in time. */
static void rings_are_merged(void **context)
{
	struct model *m =
		LOAD(F(1, 20, 0x100), A(1, 40, 0x100, 5), A(0, 10, 0x100, 3), F(0, 50, 0x100));
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 2);
	assert_int_equal(m->totals.unknown_frees, 0);
	assert_int_equal(columns_freed_at(c, 0), 20);
	assert_int_equal(columns_freed_at(c, 1), 50);
	assert_int_equal(m->totals.live_count, 0);
	assert_int_equal(m->totals.peak_bytes, 5);
	model_free(m);
}

/* Chunk one ends before ring 1 was looked at: what is past its horizon waits for it. */
static void chunks_carry_over(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 3), A(0, 30, 0x100, 4), CHUNK(15), F(1, 20, 0x100),
			       CHUNK(25), F(1, 40, 0x100), CHUNK(60));
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 2);
	assert_int_equal(m->totals.implicit_frees, 0);
	assert_int_equal(m->totals.unknown_frees, 0);
	assert_int_equal(columns_freed_at(c, 0), 20);
	assert_int_equal(columns_freed_at(c, 1), 40);
	model_free(m);
}

static void realloc_makes_a_chain(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 3), FROM(0, 20, 0x100), TO(0, 21, 0x200, 30),
			       FROM(0, 30, 0x200), TO(0, 31, 0x200, 40), F(0, 40, 0x200));
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 3);
	assert_int_equal(columns_previous(c, 0), NO_ALLOCATION);
	assert_int_equal(columns_previous(c, 1), 0);
	assert_int_equal(columns_previous(c, 2), 1);
	assert_true(tags_flags(columns_tags(c, 0)) & TAG_REALLOCATED);
	assert_false(tags_flags(columns_tags(c, 2)) & TAG_REALLOCATED);
	assert_int_equal(columns_freed_at(c, 0), columns_allocated_at(c, 1));
	assert_int_equal(m->totals.allocations, 3);
	assert_int_equal(m->totals.reallocations, 2);
	assert_int_equal(m->totals.deallocations, 1);
	assert_int_equal(m->totals.allocated_bytes, 73);
	assert_int_equal(m->totals.peak_bytes, 40); /* never old and new together */
	assert_int_equal(m->totals.live_count, 0);
	model_free(m);
}

/* Two chains that grow in turns, one block that is in none, and a realloc of something unknown that
 * is reallocated again. */
static void chains_are_told_apart(void **context)
{
	struct model *m =
		LOAD(A(0, 10, 0x100, 1), A(0, 11, 0x200, 2), A(0, 12, 0x300, 3), FROM(0, 20, 0x200),
		     TO(0, 21, 0x400, 4), FROM(1, 22, 0x100), TO(1, 23, 0x500, 5),
		     FROM(0, 24, 0x400), TO(0, 25, 0x400, 6), FROM(0, 30, 0x900),
		     TO(0, 31, 0x600, 7), FROM(0, 32, 0x600), TO(0, 33, 0x700, 8), F(0, 40, 0x400));
	static const uint32_t chain[] = { 1, 0, NO_CHAIN, 0, 1, 0, 2, 2 };
	static const uint32_t position[] = { 0, 0, 0, 1, 1, 2, 0, 1 };
	static const struct chain chains[] = { { 1, 5, 3 }, { 0, 4, 2 }, { 6, 7, 2 } };
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 8);
	for (uint32_t i = 0; i < c->count; i++)
		assert_true(columns_chain(c, i) == chain[i] &&
			    columns_position(c, i) == position[i]);
	assert_int_equal(m->chain_count, 3);
	assert_memory_equal(m->chains, chains, sizeof(chains));
	assert_int_equal(columns_allocated_at(c, m->chains[0].first), 11);
	assert_int_equal(columns_freed_at(c, m->chains[0].last), 40);
	assert_int_equal(columns_freed_at(c, m->chains[1].last), NEVER);
	model_free(m);
}

/* Many rows, so that they are filled in blocks, against the plain definition. */
static void chains_of_many_rows(void **context)
{
	enum { BLOCKS = 700, EVENTS = 700000 };
	struct writer w;
	struct model *m;
	const struct columns *c;
	uint32_t *length, in_chains = 0;
	uint64_t now = 10, state = 7;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t address = 0x1000 + (state >> 33) % BLOCKS * 32;
		struct event e[2];

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		if (i < BLOCKS) {
			address = 0x1000 + (uint64_t)i * 32;
			e[0] = make_event(OP_ALLOC, CALL_malloc, now++, address, 1, 1);
			writer_run(&w, 0, e, 1);
		} else if (state >> 62) {
			e[0] = make_event(OP_FREE, CALL_free, now++, address, 0, 1);
			e[1] = make_event(OP_ALLOC, CALL_malloc, now++, address, 1, 1);
			writer_run(&w, 0, e, 2);
		} else {
			e[0] = make_event(OP_REALLOC_FROM, CALL_realloc, now++, address, 0, 1);
			e[1] = make_event(OP_REALLOC_TO, CALL_realloc, now++, address, 2, 1);
			writer_run(&w, 0, e, 2);
		}
		if (writer_room(&w) < 16)
			writer_events(&w, now);
	}
	writer_events(&w, now);
	writer_end(&w, true);
	m = load_writer(&w, 1);
	c = &m->allocations;
	length = xcalloc(m->chain_count, sizeof(*length));
	assert_int_equal(c->count, EVENTS);
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t before = columns_previous(c, i), id = columns_chain(c, i);

		if (id == NO_CHAIN) {
			assert_int_equal(before, NO_ALLOCATION);
			assert_false(tags_flags(columns_tags(c, i)) & TAG_REALLOCATED);
			continue;
		}
		in_chains++;
		assert_int_equal(columns_position(c, i), length[id]++);
		assert_int_equal(before == NO_ALLOCATION, m->chains[id].first == i);
		if (before != NO_ALLOCATION)
			assert_int_equal(columns_chain(c, before), id);
		assert_int_equal(!(tags_flags(columns_tags(c, i)) & TAG_REALLOCATED),
				 m->chains[id].last == i);
	}
	assert_in_range(in_chains, 1000, EVENTS);
	for (uint32_t i = 0; i < m->chain_count; i++)
		assert_int_equal(length[i], m->chains[i].length);
	free(length);
	model_free(m);
	writer_release(&w);
}

/* Between FROM and TO another thread gets the old address. */
static void address_reused_within_realloc(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 3), FROM(0, 20, 0x100), TO(0, 25, 0x200, 30),
			       A(1, 22, 0x100, 5), F(1, 40, 0x100), F(0, 50, 0x200));
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 3);
	assert_int_equal(m->totals.implicit_frees, 0);
	assert_int_equal(m->totals.live_count, 0);
	assert_int_equal(columns_size(c, 1), 5);
	assert_int_equal(columns_freed_at(c, 1), 40);
	assert_int_equal(columns_previous(c, 2), 0);
	model_free(m);
}

static void realloc_that_fails_or_frees(void **context)
{
	struct model *m =
		LOAD(A(0, 10, 0x100, 3), FROM(0, 20, 0x100), FAILED(0, 21, 0x100), F(0, 30, 0x100),
		     A(0, 40, 0x300, 1), FROM(0, 50, 0x300), FREED(0, 51, 0x300));

	assert_int_equal(m->totals.allocations, 2);
	assert_int_equal(m->totals.deallocations, 2);
	assert_int_equal(m->totals.reallocations, 0);
	assert_int_equal(m->totals.realloc_failures, 1);
	assert_int_equal(m->totals.live_count, 0);
	assert_int_equal(m->totals.unknown_frees, 0);
	assert_int_equal(columns_freed_at(&m->allocations, 0), 30);
	assert_int_equal(columns_freed_at(&m->allocations, 1), 51);
	model_free(m);
}

/* A signal handler reallocs while the program is within a realloc, on the same thread. */
static void nested_reallocs(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 1), A(0, 11, 0x200, 2), FROM(0, 20, 0x100),
			       FROM(0, 21, 0x200), TO(0, 22, 0x300, 3), TO(0, 23, 0x400, 4));
	const struct columns *c = &m->allocations;

	assert_int_equal(c->count, 4);
	assert_int_equal(columns_previous(c, 2), 1);
	assert_int_equal(columns_previous(c, 3), 0);
	assert_int_equal(m->totals.live_bytes, 7);
	model_free(m);
}

static void realloc_without_beginning_or_end(void **context)
{
	struct model *m = LOAD(FROM(0, 10, 0x100), TO(0, 11, 0x200, 9), A(0, 20, 0x300, 5),
			       FROM(0, 30, 0x300));

	assert_int_equal(m->totals.allocations, 2);
	assert_int_equal(columns_previous(&m->allocations, 0), NO_ALLOCATION);
	assert_int_equal(m->totals.live_count, 2);
	assert_int_equal(m->totals.live_bytes, 14);
	assert_int_equal(columns_freed_at(&m->allocations, 1), NEVER);
	model_free(m);
}

/* More open reallocs than are remembered: the oldest counts as never begun. */
static void too_many_nested_reallocs(void **context)
{
	struct row rows[2 * (PAIR_PENDING + 4)];
	unsigned n = PAIR_PENDING + 4;
	struct model *m;

	for (unsigned i = 0; i < n; i++) {
		rows[i] = (struct row)A(0, 10 + i, 0x1000 + 16 * i, 1);
		rows[n + i] = (struct row)FROM(0, 100 + i, 0x1000 + 16 * i);
	}
	m = load_rows(rows, 2 * n);
	assert_int_equal(m->totals.live_count, n);
	model_free(m);
}

static void lost_frees_are_counted(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 3), A(0, 20, 0x100, 4), F(0, 30, 0x100),
			       F(0, 40, 0x100), F(0, 50, 0x999));
	const struct columns *c = &m->allocations;

	assert_int_equal(m->totals.implicit_frees, 1);
	assert_int_equal(m->totals.unknown_frees, 2);
	assert_int_equal(m->totals.deallocations, 1);
	assert_int_equal(m->totals.live_count, 0);
	assert_true(tags_flags(columns_tags(c, 0)) & TAG_FREE_LOST);
	assert_int_equal(columns_freed_at(c, 0), 20);
	assert_int_equal(columns_freed_at(c, 1), 30);
	assert_int_equal(m->totals.peak_bytes, 4);
	model_free(m);
}

/* Ring 0 wrote 105 before 104: its free of 0x100 is met after ring 1's use of that address. */
static void inversion_is_mended(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 3), A(0, 106, 0x300, 1), F(0, 104, 0x100),
			       A(1, 105, 0x100, 4), F(1, 200, 0x100));
	const struct columns *c = &m->allocations;

	assert_int_equal(m->totals.mended, 1);
	assert_int_equal(m->totals.implicit_frees, 0);
	assert_int_equal(m->totals.unknown_frees, 0);
	assert_int_equal(m->totals.deallocations, 2);
	assert_int_equal(m->totals.live_count, 1);
	assert_int_equal(m->totals.live_bytes, 1);
	assert_int_equal(columns_free_stack(c, 0), 2);
	assert_int_equal(columns_freed_at(c, 1), 200);
	model_free(m);
}

static void check_pairs(const struct model *m, uint64_t mended, uint64_t deallocations,
			uint64_t live_bytes)
{
	assert_int_equal(m->totals.mended, mended);
	assert_int_equal(m->totals.implicit_frees, 0);
	assert_int_equal(m->totals.unknown_frees, 0);
	assert_int_equal(m->totals.deallocations, deallocations);
	assert_int_equal(m->totals.live_bytes, live_bytes);
}

/* The stamps themselves are the wrong way round: the block was handed out by one thread and ended
 * by another whose processor read its clock early, or freed by one and given to another. */
static void inverted_stamps_are_mended(void **context)
{
	struct model *m =
		LOAD(A(0, 10, 0x100, 3), A(1, 100, 0x100, 4), F(0, 138, 0x100), F(1, 900, 0x100));

	check_pairs(m, 1, 2, 0);
	assert_int_equal(columns_freed_at(&m->allocations, 1), 900);
	model_free(m);

	m = LOAD(F(1, 100, 0x100), A(0, 138, 0x100, 3), A(0, 300, 0x100, 5));
	check_pairs(m, 1, 1, 5);
	model_free(m);

	/* The thread that was handed the block has freed it, too, before that. */
	m = LOAD(A(0, 10, 0x100, 3), A(1, 100, 0x100, 4), F(1, 120, 0x100), F(0, 138, 0x100));
	check_pairs(m, 1, 2, 0);
	assert_int_equal(columns_freed_at(&m->allocations, 0), 138);
	assert_int_equal(columns_freed_at(&m->allocations, 1), 120);
	model_free(m);

	m = LOAD(A(0, 10, 0x100, 3), A(1, 100, 0x100, 4), F(1, 120, 0x100), FROM(0, 138, 0x100),
		 TO(0, 150, 0x200, 5));
	check_pairs(m, 1, 1, 5);
	assert_int_equal(columns_previous(&m->allocations, 2), 0);
	model_free(m);

	/* Much later it is a free that nobody knows. */
	m = LOAD(A(0, 10, 0x100, 3), A(1, 100, 0x100, 4), F(1, 120, 0x100), F(0, 100000, 0x100));
	assert_int_equal(m->totals.mended, 0);
	assert_int_equal(m->totals.implicit_frees, 1);
	assert_int_equal(m->totals.unknown_frees, 1);
	model_free(m);

	m = LOAD(FROM(1, 100, 0x100), A(0, 138, 0x100, 3), TO(1, 400, 0x200, 7));
	check_pairs(m, 1, 0, 7);
	assert_int_equal(m->totals.reallocations, 1);
	assert_int_equal(columns_previous(&m->allocations, 1), 0);
	model_free(m);

	m = LOAD(F(1, 100, 0x100), TO(0, 130, 0x100, 3), FROM(0, 500, 0x300), A(1, 510, 0x300, 9));
	assert_int_equal(m->totals.mended, 2);
	assert_int_equal(m->totals.unknown_frees, 0);
	model_free(m);
}

/* Too far apart for that: then nothing is guessed. */
static void distant_events_are_not_mended(void **context)
{
	struct model *m = LOAD(F(1, 100, 0x100), A(0, 100000, 0x100, 3), A(1, 200000, 0x100, 4),
			       F(0, 300000, 0x100));

	assert_int_equal(m->totals.mended, 0);
	assert_int_equal(m->totals.unknown_frees, 1);
	assert_int_equal(m->totals.implicit_frees, 1);
	assert_int_equal(m->totals.live_count, 0);
	model_free(m);
}

/* Something wrote a wild stamp into ring 0: what is behind it does not wait for the year 3000. */
static void wild_stamp_holds_nothing_up(void **context)
{
	struct model *m =
		LOAD(A(0, 10, 0x100, 3), A(0, 1ull << 60, 0x200, 3), F(0, 30, 0x100), CHUNK(40),
		     A(1, 50, 0x300, 1), A(0, 51, 0x400, 1), CHUNK(60), A(1, 70, 0x500, 1),
		     CHUNK(80), A(1, 90, 0x100, 1), CHUNK(100), F(1, 110, 0x100), CHUNK(120));

	assert_int_equal(m->totals.events, 8);
	assert_int_equal(m->totals.implicit_frees, 0);
	assert_int_equal(m->totals.unknown_frees, 0);
	assert_int_equal(m->totals.last_at, 110);
	assert_true(columns_freed_at(&m->allocations, 0) < 90);
	model_free(m);
}

static void rings_are_used_again(void **context)
{
	struct model *m = LOAD(THREAD(0, 1, 100), A(0, 10, 0x100, 1), FROM(0, 12, 0x100),
			       THREAD(0, 20, 200), A(0, 30, 0x200, 1), TO(0, 31, 0x300, 5),
			       THREAD(1, 40, 100), F(1, 50, 0x200), F(1, 60, 0x100));
	const struct columns *c = &m->allocations;

	assert_int_equal(m->tables.threads.count, 2);
	assert_int_equal(tags_thread(columns_tags(c, 0)), 0);
	assert_int_equal(tags_thread(columns_tags(c, 1)), 1);
	assert_int_equal(tags_free_thread(columns_tags(c, 1)), 0);
	/* The realloc that thread 100 left open is not thread 200's. */
	assert_int_equal(columns_previous(c, 2), NO_ALLOCATION);
	assert_int_equal(columns_freed_at(c, 0), 60);
	assert_int_equal(m->totals.live_count, 1);
	model_free(m);
}

static void temporary_is_per_thread(void **context)
{
	struct model *m =
		LOAD(A(0, 10, 0x100, 1), A(1, 15, 0x200, 1), F(0, 20, 0x100), A(0, 30, 0x300, 1),
		     A(0, 40, 0x400, 1), F(0, 50, 0x300), F(0, 60, 0x400), F(1, 70, 0x200));

	assert_int_equal(m->totals.temporary, 2); /* 0x100 and, in ring 1, 0x200 */
	assert_true(tags_flags(columns_tags(&m->allocations, 0)) & TAG_TEMPORARY);
	assert_true(tags_flags(columns_tags(&m->allocations, 1)) & TAG_TEMPORARY);
	model_free(m);
}

static void times_are_unique(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 1), A(0, 10, 0x200, 1), F(0, 9, 0x100),
			       A(0, UINT64_MAX, 0x300, 1), F(0, UINT64_MAX, 0x200));
	const struct columns *c = &m->allocations;

	assert_int_equal(columns_allocated_at(c, 0), 10);
	assert_int_equal(columns_allocated_at(c, 1), 11);
	assert_int_equal(columns_freed_at(c, 0), 12);
	assert_true(columns_allocated_at(c, 2) < NEVER);
	assert_int_equal(m->totals.live_count, 1);
	model_free(m);
}

static void peak_is_made_up_of_its_parts(void **context)
{
	struct model *m =
		LOAD(A(0, 10, 0x100, 100), { 0, OP_ALLOC, 20, 0x200, 50, 2 }, F(0, 30, 0x100),
		     A(0, 40, 0x300, 120), F(0, 50, 0x200), { 0, OP_ALLOC, 60, 0x400, 10, 99 });
	struct stack_sums sums;
	struct stack_counts counts;

	stats_sum_stacks(m, &sums);
	stats_count_stacks(m, &counts);
	assert_int_equal(m->totals.peak_bytes, 170);
	assert_int_equal(counts.stacks, 2);
	assert_int_equal(counts.deepest, 2);
	assert_int_equal(counts.without_stack, 1); /* 99 has no node */
	assert_int_equal(sums.count, 3);
	assert_int_equal(stack_sums_top(&sums, BY_PEAK_BYTES, 10), 2);
	assert_int_equal(sums.rows[0].stack, 1);
	assert_int_equal(sums.rows[0].peak_bytes, 120);
	assert_int_equal(sums.rows[1].peak_bytes, 50);
	assert_int_equal(stack_sums_top(&sums, BY_LEAKED_BYTES, 1), 1);
	assert_int_equal(sums.rows[0].leaked_bytes, 120);
	assert_int_equal(stack_sums_top(&sums, BY_COUNT, 10), 3);
	assert_int_equal(sums.rows[0].count, 2);
	stack_sums_release(&sums);
	model_free(m);
}

static void any_slack_fits(void **context)
{
	static const uint32_t slacks[] = { 0, 24, 65534, 65535, 65536, UINT32_MAX };
	struct columns c = { 0 };

	columns_grow(&c);
	for (uint32_t i = 0; i < 6; i++)
		columns_set_size(&c, i, EVENT_SIZE_MASK - i, slacks[i]);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(columns_size(&c, i), EVENT_SIZE_MASK - i);
		assert_int_equal(columns_slack(&c, i), slacks[i]);
	}
	columns_release(&c);
}

/* Two rings set markers at once; names come in pieces, between other events. */
static void markers_are_put_together(void **context)
{
	const char *name = "a name that is longer than one event can carry, or two";
	struct event first[] = {
		make_thread(1, 41, "one"),
		make_marker(10, 7, name, 0),
		make_marker(10, 7, name, 1),
		make_event(OP_ALLOC, CALL_malloc, 11, 0x100, 5, 1),
		make_marker(10, 7, name, 2),
		make_marker(10, 7, name, 3),
		make_marker(10, 7, name, 3), /* once too often: left out */
		make_event(OP_FREE, CALL_free, 30, 0x100, 0, 1),
	};
	struct event second[] = {
		make_thread(2, 42, "two"),
		make_marker(12, 9, "", 0),
		make_marker(12, 9, "lost its beginning", 5),
	};
	struct writer w;
	struct model *m;
	const struct markers *t;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_run(&w, 0, first, sizeof(first) / sizeof(first[0]));
	writer_run(&w, 1, second, sizeof(second) / sizeof(second[0]));
	writer_events(&w, UINT64_MAX);
	writer_end(&w, true);
	m = load_writer(&w, 0);
	t = &m->tables.markers;
	assert_int_equal(t->count, 2);
	assert_int_equal(t->rows[0].value, 7);
	assert_string_equal(t->rows[0].name, name);
	assert_int_equal(t->rows[1].value, 9);
	assert_string_equal(t->rows[1].name, "");
	assert_true(t->rows[0].stamp <= t->rows[1].stamp);
	assert_int_equal(markers_at(t, t->rows[0].stamp - 1), 0);
	assert_int_equal(markers_at(t, t->rows[0].stamp), 7);
	assert_int_equal(markers_at(t, t->rows[1].stamp), 9);
	assert_int_equal(markers_at(t, UINT64_MAX), 9);
	/* A marker is no event of the thread's own: the block is temporary. */
	assert_int_equal(m->totals.temporary, 1);
	writer_release(&w);
	model_free(m);
}

/* Recording was off when a recorded block was reallocated: it ended there, and what became of it,
 * even at the same address, is not known. */
static void realloc_while_off(void **context)
{
	struct model *m = LOAD(A(0, 10, 0x100, 7), A(0, 11, 0x200, 9), FROM(0, 20, 0x100),
			       FREED(0, 21, 0x100), FROM(0, 22, 0x100), FREED(0, 23, 0x100),
			       FROM(0, 24, 0x200), FAILED(0, 25, 0x200), F(0, 30, 0x100));

	assert_int_equal(m->totals.allocations, 2);
	assert_int_equal(m->totals.deallocations, 1);
	assert_int_equal(m->totals.unknown_frees, 2);
	assert_int_equal(m->totals.live_count, 1);
	assert_int_equal(m->totals.live_bytes, 9);
	assert_int_equal(columns_freed_at(&m->allocations, 0), 21);
	assert_int_equal(columns_freed_at(&m->allocations, 1), NEVER);
	assert_int_equal(tags_flags(columns_tags(&m->allocations, 0)) & TAG_REALLOCATED, 0);
	model_free(m);
}

/* Recording was switched: an end right before an allocation at its address, on another thread, is
 * that of an unknown block, unless the allocation has no other end and the address is used again.
 */
static void doubtful_ends(void **context)
{
	struct event ring0[] = {
		make_event(OP_ALLOC, CALL_malloc, 110, 0x100, 5, 1),
		make_event(OP_ALLOC, CALL_malloc, 210, 0x200, 6, 1),
		make_event(OP_FREE, CALL_free, 90000, 0x100, 0, 2),
		make_event(OP_ALLOC, CALL_malloc, 90010, 0x200, 7, 1),
	};
	struct event ring1[] = {
		make_event(OP_FREE, CALL_free, 100, 0x100, 0, 3),
		make_event(OP_FREE, CALL_free, 200, 0x200, 0, 3),
	};
	struct writer w;
	struct model *m;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_counter(&w, "switched_off", 1);
	writer_run(&w, 0, ring0, sizeof(ring0) / sizeof(ring0[0]));
	writer_run(&w, 1, ring1, sizeof(ring1) / sizeof(ring1[0]));
	writer_events(&w, UINT64_MAX);
	writer_end(&w, true);
	m = load_writer(&w, 0);
	assert_int_equal(m->totals.allocations, 3);
	assert_int_equal(columns_freed_at(&m->allocations, 0), 90000);
	assert_int_equal(columns_free_stack(&m->allocations, 0), 2);
	assert_int_equal(columns_freed_at(&m->allocations, 1), 211);
	assert_int_equal(columns_free_stack(&m->allocations, 1), 3);
	assert_int_equal(columns_freed_at(&m->allocations, 2), NEVER);
	assert_int_equal(m->totals.implicit_frees, 0);
	assert_int_equal(m->totals.mended, 1);
	assert_int_equal(m->totals.unknown_frees, 1);
	assert_int_equal(m->totals.deallocations, 2);
	assert_int_equal(m->totals.live_bytes, 7);
	writer_release(&w);
	model_free(m);
}

static void clocks(void **context)
{
	struct writer w;
	struct event e = make_event(OP_ALLOC, CALL_malloc, 3000, 0x10, 1, 0);
	struct model *m;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_info(&w, "start_stamp", "1000", 4);
	writer_info(&w, "start_monotonic_ns", "50000", 5);
	writer_info(&w, "start_realtime_ns", "70000", 5);
	writer_clock(&w, 2000, 50500, 70500);
	writer_run(&w, 0, &e, 1);
	writer_events(&w, 3001);
	writer_clock(&w, 5000, 52000, 72000);
	writer_end(&w, true);
	m = load_writer(&w, 0);
	assert_int_equal(model_ns(m, 3000), 1000);
	assert_int_equal(model_ns(m, 500), 0);
	assert_int_equal(model_runtime_ns(m), 2000);
	assert_int_equal(model_start_ns(m), 70000);
	model_free(m);
	writer_release(&w);
}

/* Random traffic on four rings against a table that needs no cleverness; with and without workers.
 */
#define SLOTS 512

static void random_traffic(void **context)
{
	struct {
		bool live;
		uint64_t size;
	} slots[SLOTS] = { 0 };
	struct event pending[4][64];
	uint32_t counts[4] = { 0 };
	uint64_t live = 0, peak = 0, allocations = 0, frees = 0, now = 100, state = 42;
	struct writer w;

	writer_init(&w, -1);
	w.codec = CODEC_ZSTD;
	writer_header(&w, FORMAT_VERSION);
	for (unsigned i = 0; i < 400000; i++) {
		uint32_t ring, slot;
		uint64_t address;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		ring = (uint32_t)(state >> 33) % 4;
		slot = (uint32_t)(state >> 40) % SLOTS;
		address = 0x7f0000000000ull + slot * 16;
		now += 1 + (state >> 60);
		if (slots[slot].live) {
			pending[ring][counts[ring]++] =
				make_event(OP_FREE, CALL_free, now, address, 0, 1);
			live -= slots[slot].size;
			frees++;
		} else {
			slots[slot].size = state >> 52;
			pending[ring][counts[ring]++] = make_event(OP_ALLOC, CALL_malloc, now,
								   address, slots[slot].size, 1);
			live += slots[slot].size;
			allocations++;
		}
		slots[slot].live = !slots[slot].live;
		peak = live > peak ? live : peak;
		/* Rings are emptied one at a time; the horizon is what all have been emptied to. */
		if (counts[ring] == 64) {
			for (unsigned r = 0; r < 4; r++) {
				writer_run(&w, r, pending[r], counts[r]);
				counts[r] = 0;
			}
			if (writer_room(&w) < 512 || state >> 61 == 0)
				writer_events(&w, now - (state >> 58));
		}
	}
	for (unsigned r = 0; r < 4; r++)
		writer_run(&w, r, pending[r], counts[r]);
	writer_events(&w, now + 1);
	writer_end(&w, true);
	for (unsigned workers = 0; workers < 3; workers++) {
		struct model *m = load_writer(&w, workers);

		assert_int_equal(m->totals.events, 400000);
		assert_int_equal(m->totals.allocations, allocations);
		assert_int_equal(m->totals.deallocations, frees);
		assert_int_equal(m->totals.unknown_frees, 0);
		assert_int_equal(m->totals.implicit_frees, 0);
		assert_int_equal(m->totals.live_bytes, live);
		assert_int_equal(m->totals.peak_bytes, peak);
		model_free(m);
	}
	writer_release(&w);
}

/* The table of live blocks, filled until it has grown and widened several times. */
UNIT(model)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alloc_and_free),
		cmocka_unit_test(rings_are_merged),
		cmocka_unit_test(chunks_carry_over),
		cmocka_unit_test(realloc_makes_a_chain),
		cmocka_unit_test(chains_are_told_apart),
		cmocka_unit_test(chains_of_many_rows),
		cmocka_unit_test(address_reused_within_realloc),
		cmocka_unit_test(realloc_that_fails_or_frees),
		cmocka_unit_test(nested_reallocs),
		cmocka_unit_test(realloc_without_beginning_or_end),
		cmocka_unit_test(too_many_nested_reallocs),
		cmocka_unit_test(lost_frees_are_counted),
		cmocka_unit_test(inversion_is_mended),
		cmocka_unit_test(inverted_stamps_are_mended),
		cmocka_unit_test(distant_events_are_not_mended),
		cmocka_unit_test(wild_stamp_holds_nothing_up),
		cmocka_unit_test(rings_are_used_again),
		cmocka_unit_test(temporary_is_per_thread),
		cmocka_unit_test(times_are_unique),
		cmocka_unit_test(peak_is_made_up_of_its_parts),
		cmocka_unit_test(any_slack_fits),
		cmocka_unit_test(markers_are_put_together),
		cmocka_unit_test(realloc_while_off),
		cmocka_unit_test(doubtful_ends),
		cmocka_unit_test(clocks),
		cmocka_unit_test(random_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
