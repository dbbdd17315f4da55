/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Verdicts on curves that are drawn by hand, and sums over random recordings. */
#include "base/buf_type.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "query/verdict_curve.h"
#include "random_recording.h"

#define TICKS 100000

struct drawing {
	struct curve_event *events;
	size_t count, room;
};

static void event(struct drawing *d, uint64_t at, double change)
{
	d->events = xgrow(d->events, d->count, &d->room, sizeof(*d->events));
	d->events[d->count++] = (struct curve_event){ 1000 + at, change, change > 0 };
}

static struct verdict judged(struct drawing *d)
{
	struct verdict v = { 0 };
	struct work w = { .from = 1000, .to = 1000 + TICKS, .ns_per_tick = 1e4 };
	struct curve c;

	for (unsigned i = 0; i <= CURVE_SLOTS; i++)
		w.active[i] = (double)i / CURVE_SLOTS;
	for (size_t i = 0; i < d->count; i++)
		v.allocated_count += d->events[i].allocated;
	curve_draw(&c, &w, d->events, d->count);
	v.kept_bytes = (uint64_t)c.last;
	curve_judge(&v, &c, &w, d->events, d->count);
	free(d->events);
	*d = (struct drawing){ 0 };
	assert_true(v.confidence >= 0.3 && v.confidence <= 0.99);
	return v;
}

static void leaks_grow(void **context)
{
	struct drawing d = { 0 };
	struct verdict v;

	for (unsigned t = 0; t < TICKS; t += 100)
		event(&d, t, 64);
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_GROWING);
	assert_true(v.fit > 0.99);
	/* 64 bytes each 100 ticks of ten microseconds. */
	assert_true(v.bytes_per_second > 63000 && v.bytes_per_second < 65000);
	assert_true(v.late_share > 0.3 && v.late_share < 0.37);
	/* The same with temporary blocks of the same site around each. */
	for (unsigned t = 0; t < TICKS; t += 100) {
		event(&d, t, 64);
		event(&d, t + 10, 500);
		event(&d, t + 20, -500);
	}
	assert_int_equal(judged(&d).class, VERDICT_GROWING);
	/* Doubling, as a vector does. */
	event(&d, 1, 16);
	for (unsigned t = 1000, size = 16; t < TICKS; t *= 2, size *= 2)
		event(&d, t, size);
	assert_int_equal(judged(&d).class, VERDICT_GROWING);
	/* From the middle on. */
	for (unsigned t = TICKS / 2; t < TICKS; t += 100)
		event(&d, t, 64);
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_GROWING);
	assert_true(v.first_ns > 400000000 && v.first_ns < 600000000);
}

static void caches_are_bounded(void **context)
{
	struct drawing d = { 0 };
	struct verdict v;

	for (unsigned t = 0; t < TICKS * 4 / 10; t += 100)
		event(&d, t, 64);
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_BOUNDED);
	assert_true(v.grown_share > 0.35 && v.grown_share < 0.42);
	/* One in, one out. */
	for (unsigned t = 0; t < TICKS; t += 100) {
		event(&d, t, 64);
		if (t > TICKS / 3)
			event(&d, t + 1, -64);
	}
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_BOUNDED);
	assert_true(v.later_count > 500);
	/* One block in the middle. */
	event(&d, TICKS / 2, 1000);
	assert_int_equal(judged(&d).class, VERDICT_BOUNDED);
}

/* A leak of a stack that also has large blocks for a while, now and then: to the end, so not
 * bounded. */
static void leaks_beside_large_temporaries_grow(void **context)
{
	struct drawing d = { 0 };
	struct verdict v;

	for (unsigned t = 0; t < TICKS; t += 100) {
		event(&d, t, 64);
		if (t % 7300 == 0) {
			event(&d, t + 10, 3000000);
			event(&d, t + 20, -3000000);
		}
	}
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_GROWING);
	assert_true(v.grown_share > 0.95 && v.fit > 0.99);
	assert_true(v.bytes_per_second > 63000 && v.bytes_per_second < 65000);
	/* Small beside what the stack allocated first. */
	event(&d, 1, 5000000);
	for (unsigned t = 100; t < TICKS; t += 100)
		event(&d, t, 64);
	assert_int_equal(judged(&d).class, VERDICT_GROWING);
	/* A table that takes up fewer and fewer new keys is none. */
	event(&d, 1, 5000000);
	for (unsigned i = 0, t = 100; t < TICKS; t += 100 + i * i / 4, i++)
		event(&d, t, 64);
	assert_int_not_equal(judged(&d).class, VERDICT_GROWING);
}

static void what_grows_late_is_not_bounded(void **context)
{
	struct drawing d = { 0 };
	uint64_t random = 7;
	struct buf words = { 0 };
	double level = 0;
	struct verdict v;

	/* One step in the middle, one at the end. */
	event(&d, TICKS / 2, 100000);
	event(&d, TICKS - 100, 100000);
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_UNCLEAR);
	assert_true(v.grown_share > 0.99);
	/* The same a fifth of the run before its end: it may come again. */
	event(&d, TICKS / 2, 100000);
	event(&d, TICKS * 4 / 5, 100000);
	assert_int_equal(judged(&d).class, VERDICT_UNCLEAR);
	/* A cache that moves all the time has no more at the end than in the middle. */
	for (unsigned t = 0; t < TICKS; t += 50) {
		double change = random_below(&random, 2000);

		if (level + change > 100000)
			change = -(double)random_below(&random, 20000);
		event(&d, t, change);
		level += change;
	}
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_BOUNDED);
	verdict_evidence(&words, &v, 1000000000);
	assert_non_null(strstr(words.data, "at the end no higher than before"));
	buf_release(&words);
}

static void saws_fall(void **context)
{
	struct drawing d = { 0 };
	struct verdict v;

	for (unsigned tooth = 0; tooth < 6; tooth++)
		for (unsigned i = 0; i < 100; i++)
			event(&d, tooth * TICKS / 6 + i * 150, i < 99 || tooth == 5 ? 10 : -990);
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_SAWTOOTH);
	assert_int_equal(v.drops, 5);
}

static void starts_are_early(void **context)
{
	struct drawing d = { 0 };
	struct verdict v;

	for (unsigned t = 0; t < 500; t++)
		event(&d, t, 10);
	v = judged(&d);
	assert_int_equal(v.class, VERDICT_START_UP);
	assert_true(v.grown_share < 0.01);
	/* The same that goes on being exchanged is a cache. */
	for (unsigned t = 0; t < 500; t++)
		event(&d, t, 10);
	for (unsigned t = 500; t < TICKS; t += 100) {
		event(&d, t, -10);
		event(&d, t + 1, 10);
	}
	assert_int_equal(judged(&d).class, VERDICT_BOUNDED);
}

static void everything_left_is_judged(void **context)
{
	for (unsigned i = 0; i < 20; i++) {
		struct model *m = random_recording(
			&(struct random_options){ .seed = i + 1, .events = i * 60 });
		struct view v = { .model = m };
		struct verdicts leaked, held;
		uint64_t bytes = 0, count = 0;

		verdicts_init(&leaked, &v, false);
		for (uint32_t k = 0; k < leaked.count; k++) {
			bytes += leaked.rows[k].leaked_bytes;
			count += leaked.rows[k].leaked_count;
			assert_true(leaked.rows[k].leaked_count > 0);
			assert_false(leaked.rows[k].freed_at_exit);
			assert_true(leaked.rows[k].class < VERDICTS);
			if (k)
				assert_true(leaked.rows[k - 1].class <= leaked.rows[k].class);
		}
		assert_int_equal(bytes, m->totals.live_bytes);
		assert_int_equal(count, m->totals.live_count);
		verdicts_init(&held, &v, true);
		assert_true(held.count >= leaked.count);
		verdicts_release(&held);
		verdicts_release(&leaked);
		model_free(m);
	}
}

UNIT(verdict)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaks_grow),
		cmocka_unit_test(caches_are_bounded),
		cmocka_unit_test(leaks_beside_large_temporaries_grow),
		cmocka_unit_test(what_grows_late_is_not_bounded),
		cmocka_unit_test(saws_fall),
		cmocka_unit_test(starts_are_early),
		cmocka_unit_test(everything_left_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
