/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time series against a count of what is alive at every stamp that matters. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "query/series.h"
#include "random_recording.h"

#define ROUNDS 25

/* A view of about half of the rows, or of all. */
static struct view random_view(const struct model *m, uint64_t *state, bool all)
{
	struct view v = { .model = m };

	if (all)
		return v;
	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t i = 0; i < m->allocations.count; i++)
		v.bits[i / 64] |= (uint64_t)random_below(state, 2) << i % 64;
	return v;
}

struct alive {
	uint64_t bytes, count, leaked_bytes, leaked_count;
};

static struct alive alive_at(const struct view *v, uint64_t stamp)
{
	const struct columns *c = &v->model->allocations;
	struct alive a = { 0 };

	for (uint32_t i = 0; i < c->count; i++) {
		if (!view_has(v, i) || columns_allocated_at(c, i) > stamp ||
		    columns_freed_at(c, i) <= stamp)
			continue;
		a.bytes += columns_size(c, i);
		a.count++;
		if (columns_freed_at(c, i) != NEVER)
			continue;
		a.leaked_bytes += columns_size(c, i);
		a.leaked_count++;
	}
	return a;
}

static void consider(const struct view *v, struct series_point *due, uint64_t stamp, bool first)
{
	struct alive a = alive_at(v, stamp);

	if (first || a.bytes > due->most_bytes ||
	    (a.bytes == due->most_bytes && stamp < due->most_at)) {
		due->most_bytes = a.bytes;
		due->most_bytes_count = a.count;
		due->most_at = stamp;
	}
	if (first || a.count > due->most_count)
		due->most_count = a.count;
}

static void brute_point(const struct view *v, uint64_t from, uint64_t to, struct series_point *due)
{
	const struct columns *c = &v->model->allocations;
	struct alive last = alive_at(v, to - 1);

	memset(due, 0, sizeof(*due));
	consider(v, due, from, true);
	for (uint32_t i = 0; i < c->count; i++) {
		uint64_t size = columns_size(c, i);

		if (!view_has(v, i))
			continue;
		if (columns_allocated_at(c, i) >= from && columns_allocated_at(c, i) < to) {
			due->allocated_bytes += size;
			due->allocated_count++;
			consider(v, due, columns_allocated_at(c, i), false);
		}
		if (columns_freed_at(c, i) >= from && columns_freed_at(c, i) < to) {
			due->freed_bytes += size;
			due->freed_count++;
		}
	}
	due->bytes = last.bytes;
	due->count = last.count;
	due->leaked_bytes = last.leaked_bytes;
	due->leaked_count = last.leaked_count;
}

static void compare_points(const struct series_point *a, const struct series_point *b)
{
	assert_int_equal(a->most_bytes, b->most_bytes);
	assert_int_equal(a->most_bytes_count, b->most_bytes_count);
	assert_int_equal(a->most_at, b->most_at);
	assert_int_equal(a->most_count, b->most_count);
	assert_memory_equal(a, b, sizeof(*a));
}

static void series_are_exact(void **context)
{
	uint64_t state = 77;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = random_recording(
			&(struct random_options){ .seed = i + 1, .events = i * 20 });
		struct view v = random_view(m, &state, i % 3 == 0);
		uint32_t buckets = 1 + random_below(&state, i % 2 ? 40 : 3);
		uint64_t from, to;
		struct series s;
		struct alive before;

		series_whole(m, &from, &to);
		if (i % 4) { /* a stretch */
			from += random_below(&state, (uint32_t)(to - from));
			to = from + 1 + random_below(&state, (uint32_t)(to - from));
		}
		series_init(&s, &v, from, to, buckets);
		assert_int_equal(s.count, buckets);
		before = alive_at(&v, from - 1);
		assert_int_equal(s.before.bytes, before.bytes);
		assert_int_equal(s.before.leaked_count, before.leaked_count);
		for (uint32_t b = 0; b < buckets; b++) {
			struct series_point due;

			if (series_edge(&s, b) == series_edge(&s, b + 1))
				continue; /* more buckets than ticks */
			brute_point(&v, series_edge(&s, b), series_edge(&s, b + 1), &due);
			compare_points(&s.points[b], &due);
		}
		assert_int_equal(series_edge(&s, buckets), to);
		series_release(&s);
		free(v.bits);
		model_free(m);
	}
}

static void peak_of_a_view(void **context)
{
	uint64_t state = 99;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = random_recording(
			&(struct random_options){ .seed = i + 1, .events = i * 20 });
		struct view all = { .model = m }, v = random_view(m, &state, false);
		struct view_peak peak = view_peak(&all), due = { 0 };

		assert_int_equal(peak.bytes, m->totals.peak_bytes);
		assert_int_equal(peak.count, m->totals.peak_count);
		assert_int_equal(peak.at, m->totals.peak_at);
		peak = view_peak(&v);
		for (uint32_t row = 0; row < m->allocations.count; row++) {
			uint64_t at = columns_allocated_at(&m->allocations, row);
			struct alive a;

			if (!view_has(&v, row))
				continue;
			a = alive_at(&v, at);
			if (!due.at || a.bytes > due.bytes)
				due = (struct view_peak){ a.bytes, a.count, at };
		}
		assert_int_equal(peak.bytes, due.bytes);
		if (due.bytes) {
			assert_int_equal(peak.count, due.count);
			assert_int_equal(peak.at, due.at);
		}
		free(v.bits);
		model_free(m);
	}
}

UNIT(series)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(series_are_exact),
		cmocka_unit_test(peak_of_a_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
