/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wire/statistics.h and model/removed.c: what was removed comes back, counts, and is not believed
 * when it cannot be. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/model.h"
#include "model/stats.h"
#include "recording_writer.h"
#include "wire/statistics.h"

static uint64_t state = 88172645463325252ull;

static uint64_t any_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> (state % 64);
}

static struct statistics any_row(void)
{
	uint64_t words[sizeof(struct statistics) / 8];
	struct statistics s;

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = any_number();
	memcpy(&s, words, sizeof(s));
	s.call &= 0xff;
	if (s.min_size > s.max_size)
		s.max_size = s.min_size;
	if (s.first_at > s.last_at)
		s.last_at = s.first_at;
	if (any_number() % 4 == 0)
		memset(s.lifetimes + any_number() % STATISTICS_BUCKETS, 0, sizeof(s.lifetimes[0]));
	if (any_number() % 4 == 0)
		memset(s.lifetimes, 0, sizeof(s.lifetimes));
	return s;
}

static void rows_come_back(void **context)
{
	uint8_t bytes[STATISTICS_ROW_MAX];

	for (unsigned round = 0; round < 2000; round++) {
		struct statistics in = any_row(), out;
		uint8_t *end = statistics_put(bytes, &in);
		const uint8_t *p = bytes;

		assert_true(end <= bytes + sizeof(bytes));
		assert_true(statistics_get(&p, end, &out));
		assert_ptr_equal(p, end);
		assert_memory_equal(&in, &out, sizeof(in));
		/* One byte less is none; the copy is for a sanitizer. */
		for (size_t n = 0; n < (size_t)(end - bytes); n++) {
			uint8_t *cut = xmalloc(n + 1);

			memcpy(cut, bytes, n);
			p = cut;
			assert_false(statistics_get(&p, cut + n, &out));
			assert_ptr_equal(p, cut);
			free(cut);
		}
	}
}

static void largest_row_fits(void **context)
{
	uint8_t bytes[STATISTICS_ROW_MAX];
	struct statistics in, out;
	const uint8_t *p = bytes;
	uint8_t *end;

	memset(&in, 0xff, sizeof(in));
	in.call = 0xff;
	in.first_at = 0;
	end = statistics_put(bytes, &in);
	assert_true(end <= bytes + sizeof(bytes));
	assert_true(statistics_get(&p, end, &out));
	assert_memory_equal(&in, &out, sizeof(in));
}

static void lies_are_refused(void **context)
{
	struct statistics good = { .stack = 7, .count = 1, .min_size = 3, .max_size = 3 }, bad, out;
	uint8_t bytes[STATISTICS_ROW_MAX + VARINT_MAX];
	const uint8_t *p;
	uint8_t *end;

	bad = good;
	bad.min_size = 4;
	end = statistics_put(bytes, &bad);
	p = bytes;
	assert_false(statistics_get(&p, end, &out));

	bad = good;
	bad.call = 256;
	end = statistics_put(bytes, &bad);
	p = bytes;
	assert_false(statistics_get(&p, end, &out));

	/* The last stamp before the first. */
	bad = good;
	bad.first_at = 10;
	bad.last_at = 9;
	end = statistics_put(bytes, &bad);
	p = bytes;
	assert_false(statistics_get(&p, end, &out));

	/* A stack of 33 bits, more buckets than there are. */
	end = varint_put(bytes, 1ull << 32);
	memset(end, 0, STATISTICS_ROW_MAX);
	p = bytes;
	assert_false(statistics_get(&p, bytes + STATISTICS_ROW_MAX, &out));
	memset(bytes, 0, sizeof(bytes));
	bytes[13] = STATISTICS_BUCKETS + 1;
	p = bytes;
	assert_false(statistics_get(&p, bytes + sizeof(bytes), &out));
	bytes[13] = STATISTICS_BUCKETS;
	assert_true(statistics_get(&p, bytes + sizeof(bytes), &out));
}

static void buckets(void **context)
{
	static const struct {
		uint64_t ns;
		unsigned bucket;
	} rows[] = { { 0, 0 },	     { 999, 0 },	{ 1000, 1 },
		     { 9999, 1 },    { 10000, 2 },	{ 999999, 3 },
		     { 1000000, 4 }, { 1000000000, 7 }, { UINT64_MAX, 15 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(statistics_bucket(rows[i].ns), rows[i].bucket);
}

/* Counting one by one, or in two halves that are merged, is the same. */
static void halves_are_merged(void **context)
{
	struct statistics all = { 0 }, halves[2] = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		uint64_t size = any_number() % 1000, slack = any_number() % 16;
		uint64_t at = any_number() % 100000, ns = any_number();
		struct statistics *half = &halves[any_number() % 2];

		statistics_count(&all, size, slack, at, statistics_bucket(ns));
		statistics_count(half, size, slack, at, statistics_bucket(ns));
		all.frees++;
		half->frees++;
	}
	statistics_merge(&halves[0], &halves[1]);
	assert_memory_equal(&all, &halves[0], sizeof(all));
	halves[1] = (struct statistics){ 0 };
	statistics_merge(&halves[1], &all);
	assert_memory_equal(&all, &halves[1], sizeof(all));
}

static void put_row(struct writer *w, const struct statistics *s)
{
	uint8_t bytes[STATISTICS_ROW_MAX];

	writer_chunk(w, CHUNK_STATISTICS, bytes, (size_t)(statistics_put(bytes, s) - bytes), 0);
}

/* A block of 100 bytes is there; ten more of the same stack, and one of another, are not. */
static void removed_counts(void **context)
{
	struct writer_node nodes[3] = { { 0, 0x10, 0, 0 }, { 1, 0x20, 0, 0 }, { 2, 0x30, 0, 0 } };
	struct statistics early = { .stack = 2, .count = 1 };
	struct statistics same = { .stack = 2,
				   .count = 10,
				   .bytes = 500,
				   .temporary = 4,
				   .temporary_bytes = 40,
				   .peak_bytes = 300,
				   .peak_count = 5 };
	struct statistics other = { .stack = 3,
				    .call = CALL_calloc,
				    .count = 1,
				    .bytes = 7,
				    .peak_bytes = 7,
				    .peak_count = 1 };
	struct model_options options = { .workers = 0 };
	struct stack_counts counts;
	struct stack_sums sums;
	struct event e[3];
	struct writer w;
	struct model *m;
	struct err err;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_nodes(&w, 1, nodes, 3);
	e[0] = make_event(OP_ALLOC, CALL_malloc, 10, 0x5000, 100, 2);
	e[1] = make_event(OP_ALLOC, CALL_malloc, 11, 0x6000, 50, 1);
	e[2] = make_event(OP_FREE, CALL_free, 12, 0x6000, 0, 1);
	writer_run(&w, 0, e, 3);
	writer_events(&w, 13);
	put_row(&w, &early);
	put_row(&w, &same);
	put_row(&w, &other);
	writer_counter(&w, COUNTER_REMOVED_EVENTS, 22);
	writer_counter(&w, COUNTER_REMOVED_ALLOCATIONS, 11);
	writer_counter(&w, COUNTER_REMOVED_FREES, 11);
	writer_counter(&w, COUNTER_REMOVED_BYTES, 507);
	writer_counter(&w, COUNTER_REMOVED_TEMPORARY, 4);
	writer_counter(&w, COUNTER_WHOLE_PEAK_BYTES, 307);
	writer_counter(&w, COUNTER_WHOLE_PEAK_COUNT, 6);
	writer_counter(&w, COUNTER_WHOLE_PEAK_STAMP, 10);
	writer_counter(&w, COUNTER_WHOLE_FREE_STACKS, 3);
	writer_end(&w, true);
	assert_int_equal(model_open_memory(&m, w.out.data, w.out.size, &err), 0);
	model_load(m, &options);
	model_finish(m);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	assert_int_equal(m->totals.events, 25);
	assert_int_equal(m->totals.allocations, 13);
	assert_int_equal(m->recorded.allocations, 2);
	assert_int_equal(m->totals.deallocations, 12);
	assert_int_equal(m->totals.allocated_bytes, 657);
	assert_int_equal(m->totals.temporary, 5);
	assert_int_equal(m->totals.peak_bytes, 307);
	assert_int_equal(m->totals.peak_count, 6);
	assert_int_equal(m->totals.peak_at, 10);
	assert_int_equal(m->totals.live_bytes, 100);
	stats_count_stacks(m, &counts);
	assert_int_equal(counts.stacks, 3);
	assert_int_equal(counts.free_stacks, 3);
	stats_sum_stacks(m, &sums);
	assert_int_equal(sums.count, 3);
	assert_int_equal(stack_sums_top(&sums, BY_PEAK_BYTES, 10), 2);
	assert_int_equal(sums.rows[0].stack, 2);
	assert_int_equal(sums.rows[0].count, 11);
	assert_int_equal(sums.rows[0].bytes, 600);
	assert_int_equal(sums.rows[0].peak_bytes, 300);
	assert_int_equal(sums.rows[0].peak_count, 5);
	assert_int_equal(sums.rows[0].leaked_bytes, 100);
	assert_int_equal(sums.rows[0].temporary, 4);
	assert_int_equal(sums.rows[1].stack, 3);
	assert_int_equal(sums.rows[1].call, CALL_calloc);
	assert_int_equal(sums.rows[1].peak_bytes, 7);
	stack_sums_release(&sums);
	model_free(m);
	writer_release(&w);
}

UNIT(statistics)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back),    cmocka_unit_test(largest_row_fits),
		cmocka_unit_test(lies_are_refused),  cmocka_unit_test(buckets),
		cmocka_unit_test(halves_are_merged), cmocka_unit_test(removed_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
