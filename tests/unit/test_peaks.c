/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events in time and what follows from their order, against a look at every row for every event. */
#include "unit.h"

#include <stdlib.h>

#include "model/stats.h"
#include "query/event_iterator.h"
#include "query/measure.h"
#include "query/peaks.h"
#include "random_recording.h"

#define ROUNDS 30

static struct model *round_model(unsigned i)
{
	return random_recording(&(struct random_options){ .seed = i + 1, .events = i * 30 });
}

static void free_order_is_sorted(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		const struct columns *c = &m->allocations;
		const struct free_order *e = model_free_order(m);
		uint32_t freed = 0;

		for (uint32_t row = 0; row < c->count; row++)
			freed += columns_freed_at(c, row) != NEVER;
		assert_int_equal(e->count, freed);
		for (uint32_t k = 1; k < e->count; k++)
			assert_true(columns_freed_at(c, e->rows[k - 1]) <
				    columns_freed_at(c, e->rows[k]));
		assert_ptr_equal(e, model_free_order(m));
		model_free(m);
	}
}

/* All ends in one corner of the time, all at one stamp, and none. */
static void free_order_of_odd_columns(void **context)
{
	uint64_t freed_at[3000];
	struct columns c = { .plain.freed_at = freed_at, .count = 3000 };
	struct free_order *e;

	for (unsigned kind = 0; kind < 4; kind++) {
		for (unsigned i = 0; i < 3000; i++)
			freed_at[i] = kind == 0	  ? NEVER
				      : kind == 1 ? 7
				      : kind == 2 ? (i * 7919u) % 3000
						  : (i ? UINT64_MAX - 2 - (i * 7919u) % 3000 : 1);
		e = free_order_new(&c);
		assert_int_equal(e->count, kind ? 3000 : 0);
		for (uint32_t k = 1; k < e->count; k++)
			assert_true(freed_at[e->rows[k - 1]] <= freed_at[e->rows[k]]);
		free_order_free(e);
	}
}

static void events_come_in_order(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		uint64_t from = 1200 + i * 100, to = i % 3 ? from + i * 700 : NEVER, last = 0;
		struct event_iterator t = event_iterator_between(m, from, to);
		uint32_t starts = 0, frees = 0, starts_due = 0, frees_due = 0;
		const struct columns *c = &m->allocations;

		while (event_iterator_next(&t)) {
			assert_true(t.at >= last && t.at >= from && t.at < to);
			assert_int_equal(t.at, t.is_free ? columns_freed_at(c, t.row)
							 : columns_allocated_at(c, t.row));
			last = t.at;
			*(t.is_free ? &frees : &starts) += 1;
		}
		for (uint32_t row = 0; row < c->count; row++) {
			starts_due += columns_allocated_at(c, row) >= from &&
				      columns_allocated_at(c, row) < to;
			frees_due +=
				columns_freed_at(c, row) >= from && columns_freed_at(c, row) < to;
		}
		assert_int_equal(starts, starts_due);
		assert_int_equal(frees, frees_due);
		model_free(m);
	}
}

static void brute_peak(const struct model *m, uint32_t stack, struct stack_peak *ret_peak)
{
	const struct columns *c = &m->allocations;
	struct stack_peak peak = { 0 };

	for (uint32_t i = 0; i < c->count; i++) {
		uint64_t bytes = 0, at = columns_allocated_at(c, i);
		uint32_t count = 0;

		if (columns_stack(c, i) != stack)
			continue;
		for (uint32_t k = 0; k < c->count; k++) {
			if (columns_stack(c, k) != stack || columns_allocated_at(c, k) > at ||
			    columns_freed_at(c, k) <= at)
				continue;
			bytes += columns_size(c, k);
			count++;
		}
		if (!peak.at || bytes > peak.bytes)
			peak = (struct stack_peak){ bytes, count, at };
	}
	*ret_peak = peak;
}

static void peaks_of_each_stack(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct stack_peak *peaks = peaks_of_stacks(m), due;

		for (uint32_t stack = 0; stack < m->tables.nodes.count; stack++) {
			brute_peak(m, stack, &due);
			assert_int_equal(peaks[stack].bytes, due.bytes);
			assert_int_equal(peaks[stack].count, due.count);
			assert_int_equal(peaks[stack].at, due.at);
		}
		free(peaks);
		model_free(m);
	}
}

static void measures(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		const struct columns *c = &m->allocations;
		struct measuring how = measuring_of(m, MEASURE_LEAKED, 0);
		struct weight w = measuring_total(m, &how), short_lived = { 0 };
		uint64_t ns = 700;

		assert_int_equal(w.bytes, m->totals.live_bytes);
		assert_int_equal(w.count, m->totals.live_count);
		how = measuring_of(m, MEASURE_PEAK, 0);
		w = measuring_total(m, &how);
		assert_int_equal(w.bytes, m->totals.peak_bytes);
		assert_int_equal(w.count, m->totals.peak_count);
		how = measuring_of(m, MEASURE_ALLOCATED, 0);
		assert_int_equal(measuring_total(m, &how).bytes, m->totals.allocated_bytes);
		how = measuring_of(m, MEASURE_TEMPORARY, 0);
		assert_int_equal(measuring_total(m, &how).count, m->totals.temporary);
		how = measuring_of(m, MEASURE_ALIVE_AT, model_ns(m, m->totals.peak_at));
		assert_true(model_ns(m, how.at) <= model_ns(m, m->totals.peak_at));
		assert_true(model_ns(m, how.at + 1) > model_ns(m, m->totals.peak_at));
		how = measuring_of(m, MEASURE_SHORT_LIVED, ns);
		w = measuring_total(m, &how);
		for (uint32_t row = 0; row < c->count; row++) {
			if (columns_freed_at(c, row) == NEVER ||
			    columns_freed_at(c, row) - columns_allocated_at(c, row) >=
				    measure_ticks(m, ns))
				continue;
			short_lived.bytes += columns_size(c, row);
			short_lived.count++;
		}
		assert_int_equal(w.bytes, short_lived.bytes);
		assert_int_equal(w.count, short_lived.count);
		assert_in_range(measure_ticks(m, ns), 3 * ns - 10, 3 * ns + 10);
		model_free(m);
	}
	assert_int_equal(measure_find("alive-at"), MEASURE_ALIVE_AT);
	assert_int_equal(measure_find("alive_at"), MEASURE_ALIVE_AT);
	assert_int_equal(measure_find("peaks"), MEASURE_COUNT);
}

UNIT(peaks)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_order_is_sorted),
		cmocka_unit_test(free_order_of_odd_columns),
		cmocka_unit_test(events_come_in_order),
		cmocka_unit_test(peaks_of_each_stack),
		cmocka_unit_test(measures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
