/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Verdicts on curves that are drawn by hand, and sums over random recordings. */
#include "base/buf_type.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/locations.h"
#include "query/known_pools.h"
#include "query/verdict_cache.h"
#include "query/verdict_curve.h"
#include "random_recording.h"

#define TICKS 100000

struct drawing {
	struct change {
		uint64_t at;
		double change;
	} * events;
	size_t count, room;
};

static void event(struct drawing *d, uint64_t at, double change)
{
	d->events = xgrow(d->events, d->count, &d->room, sizeof(*d->events));
	d->events[d->count++] = (struct change){ 1000 + at, change };
}

static void steady_work(struct work *w)
{
	*w = (struct work){ .from = 1000, .to = 1000 + TICKS, .ns_per_tick = 1e4 };
	for (unsigned i = 0; i <= CURVE_SLOTS; i++)
		w->active[i] = (double)i / CURVE_SLOTS;
	work_cut(w);
}

static struct verdict judged(struct drawing *d)
{
	struct verdict v = { 0 };
	struct work w;
	struct curve c;

	steady_work(&w);
	curve_init(&c, &w, d->count);
	for (size_t i = 0; i < d->count; i++) {
		curve_add(&c, d->events[i].at, d->events[i].change, d->events[i].change > 0);
		v.allocated_count += d->events[i].change > 0;
	}
	curve_end(&c);
	v.kept_bytes = (uint64_t)c.now;
	v.kept_count = 1;
	v.most_bytes = (uint64_t)c.most;
	curve_judge(&v, &c);
	curve_release(&c);
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

/* What random programs have alive: steps, saws, lines, caches, one after the other or at once. */
static void draw_at_random(struct drawing *d, uint64_t *random)
{
	double level = 0, sum = 0;
	unsigned kind = random_below(random, 7), pace = 20 + random_below(random, 2000);
	unsigned size = 1 + random_below(random, 5000),
		 limit = size * (2 + random_below(random, 90));

	unsigned until = random_below(random, 4) ? TICKS : random_below(random, TICKS);

	for (unsigned t = random_below(random, until / 2 + 1); t < until; t += pace) {
		double change = 1 + random_below(random, size);

		if (random_below(random, 300) == 0)
			kind = random_below(random, 7);
		if (kind == 1 && level > limit)
			change = -level * random_below(random, 100) / 100;
		else if (kind == 2 && random_below(random, 2))
			change = -level / 2;
		else if (kind == 3 && sum > limit)
			continue;
		else if (kind == 4)
			change = change * (TICKS - t) * (TICKS - t) / TICKS / TICKS;
		else if (kind == 5 && random_below(random, 40))
			continue;
		else if (kind == 6)
			change = random_below(random, 2) ? -fmin(level, change) : change;
		change = floor(change);
		if (change == 0 || level + change < 0)
			continue;
		event(d, t, change);
		level += change;
		sum += change > 0 ? change : 0;
	}
}

/* The same by looking at every event. */
struct truth {
	double most, last, least_since; /* from when it was grown */
	uint64_t later;			/* allocations since */
	double area[4];			/* of each quarter */
	double floors[5];		/* at its borders, that it never fell below again */
};

static struct truth look_at(const struct drawing *d, uint64_t grown)
{
	struct truth t = { .least_since = INFINITY };
	double now = 0;
	uint64_t before = 0;

	for (unsigned i = 0; i < 5; i++)
		t.floors[i] = INFINITY;
	for (size_t i = 0; i <= d->count; i++) {
		uint64_t at = i < d->count ? d->events[i].at - 1000 : TICKS;

		/* `now` is alive from `before` to `at`. */
		for (unsigned q = 0; q < 4; q++) {
			uint64_t from = TICKS / 4 * q, to = from + TICKS / 4;

			from = from > before ? from : before;
			to = to < at ? to : at;
			if (from < to)
				t.area[q] += now * (double)(to - from);
		}
		for (unsigned q = 0; q < 5; q++)
			if (at > TICKS / 4 * q && now < t.floors[q])
				t.floors[q] = now;
		if (before >= grown && i && now < t.least_since)
			t.least_since = now;
		if (i == d->count)
			break;
		t.later += d->events[i].change > 0 && at > grown;
		now += d->events[i].change;
		t.most = fmax(t.most, now);
		before = at;
	}
	t.last = t.floors[4] = now;
	return t;
}

/* Whatever is said of a curve is so. */
static void evidence_is_true(void **context)
{
	unsigned seen[VERDICTS] = { 0 }, reasons[3] = { 0 };
	struct buf words = { 0 };
	uint64_t random = 11;

	for (unsigned i = 0; i < 4000; i++) {
		struct drawing d = { 0 }, same = { 0 };
		struct verdict v;
		struct truth t;

		draw_at_random(&d, &random);
		for (size_t k = 0; k < d.count; k++)
			event(&same, d.events[k].at - 1000, d.events[k].change);
		v = judged(&same);
		/* Ten microseconds a tick; rounded down. */
		t = look_at(&d, (v.grown_ns + 5000) / 10000);
		seen[v.class]++;
		buf_clear(&words);
		verdict_evidence(&words, &v, 1000000000);
		assert_non_null(words.data);
		assert_int_equal(v.most_bytes, (uint64_t)t.most);
		if (t.last > 0) {
			assert_int_equal(v.later_count, t.later);
			assert_true(t.least_since >= t.last * 0.98 - 1e-6);
		}
		switch (v.class) {
		case VERDICT_GROWING:
			assert_true(t.floors[4] > t.floors[2]);
			assert_true(v.late_bytes > 0);
			if (!strncmp(words.data, "unsteadily", 10))
				assert_null(strstr(words.data, "straight line"));
			else
				assert_true(v.bytes_per_second > 0 && v.fit >= 0.8);
			break;
		case VERDICT_BOUNDED:
			reasons[v.reason]++;
			/* What grew until the end has not stopped. */
			if (v.reason == REASON_STOPPED)
				assert_true(v.grown_work < 0.8);
			else
				assert_null(strstr(words.data, "grew until"));
			if (v.reason == REASON_LEVEL)
				assert_true(t.area[3] <= (t.area[1] + t.area[2]) / 2 * 1.2);
			if (v.reason == REASON_SLOWING)
				assert_true(t.floors[4] - t.floors[3] < t.floors[3] - t.floors[2] &&
					    t.floors[3] - t.floors[2] < t.floors[2] - t.floors[1]);
			break;
		case VERDICT_START_UP:
			assert_true(v.grown_ns <= 150000000);
			break;
		case VERDICT_SAWTOOTH:
			assert_true(v.drops >= 3);
			break;
		default:
			break;
		}
		free(d.events);
	}
	/* All of them were met. */
	for (unsigned class = 0; class < VERDICT_POOL; class ++)
		assert_true(seen[class] > 20);
	for (unsigned reason = 0; reason < 3; reason++)
		assert_true(reasons[reason] > 0);
	buf_release(&words);
}

/* Where there are many events, a piece is a part of the work: the figures are those of all. */
static void many_events_are_judged_like_few(void **context)
{
	unsigned other = 0;
	uint64_t random = 5;

	for (unsigned i = 0; i < 300; i++) {
		struct drawing d = { 0 };
		struct curve c[2];
		struct verdict v[2];
		struct work w;

		steady_work(&w);
		draw_at_random(&d, &random);
		for (unsigned coarse = 0; coarse < 2; coarse++) {
			v[coarse] = (struct verdict){ 0 };
			curve_init(&c[coarse], &w, coarse ? CURVE_PIECES + 1 : 1);
			for (size_t k = 0; k < d.count; k++) {
				curve_add(&c[coarse], d.events[k].at, d.events[k].change,
					  d.events[k].change > 0);
				v[coarse].allocated_count += d.events[k].change > 0;
			}
			curve_end(&c[coarse]);
			curve_judge(&v[coarse], &c[coarse]);
		}
		assert_true(c[1].count <= CURVE_PIECES && c[1].count <= c[0].count);
		assert_true(c[0].most == c[1].most && c[0].now == c[1].now);
		for (unsigned k = 0; k <= CURVE_BUCKETS; k++)
			assert_true(fabs(c[0].floors[k] - c[1].floors[k]) <= c[0].most * 0.05);
		assert_true(v[1].grown_share >= v[0].grown_share - 1e-9 &&
			    v[1].grown_share <= v[0].grown_share + 1e-3);
		other += v[0].class != v[1].class;
		curve_release(&c[0]);
		curve_release(&c[1]);
		free(d.events);
	}
	assert_true(other <= 6);
}

static void everything_left_is_judged(void **context)
{
	for (unsigned i = 0; i < 20; i++) {
		struct model *m = random_recording(
			&(struct random_options){ .seed = i + 1, .events = i * 60 });
		struct view v = { .model = m };
		struct verdicts leaked, held;
		uint64_t bytes = 0, count = 0;

		verdicts_init(&leaked, &v, &(struct verdict_options){ .all = true });
		for (uint32_t k = 0; k < leaked.count; k++) {
			bytes += leaked.rows[k].leaked_bytes;
			count += leaked.rows[k].leaked_count;
			assert_true(leaked.rows[k].leaked_count > 0);
			assert_false(leaked.rows[k].freed_at_exit);
			assert_true(leaked.rows[k].class < VERDICTS);
			if (k)
				assert_true(leaked.rows[k - 1].matters > leaked.rows[k].matters ||
					    leaked.rows[k - 1].class <= leaked.rows[k].class);
		}
		assert_int_equal(bytes, m->totals.live_bytes);
		assert_int_equal(count, m->totals.live_count);
		verdicts_init(&held, &v, &(struct verdict_options){ .all = true, .held = true });
		assert_true(held.count >= leaked.count);
		verdicts_release(&held);
		verdicts_release(&leaked);
		model_free(m);
	}
}

static void same_verdicts(const struct verdicts *a, const struct verdicts *b)
{
	assert_int_equal(a->count, b->count);
	assert_memory_equal(&a->small, &b->small, sizeof(a->small));
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->held_bytes, b->held_bytes);
	assert_int_equal(a->held_count, b->held_count);
	assert_int_equal(a->held_matters, b->held_matters);
	for (uint32_t i = 0; i < a->count; i++) {
		struct verdict x = a->rows[i], y = b->rows[i];

		assert_int_equal(x.stacks, y.stacks);
		assert_memory_equal(x.stack_list, y.stack_list, x.stacks * sizeof(*x.stack_list));
		assert_int_equal(x.known == NULL, y.known == NULL);
		if (x.known)
			assert_string_equal(x.known->reason, y.known->reason);
		x.stack_list = y.stack_list = NULL;
		x.known = y.known = NULL;
		assert_memory_equal(&x, &y, sizeof(x));
	}
}

/* In few functions, so that those of one leak, and are freed at exit, too. */
static struct model *few_functions(uint64_t seed)
{
	static const uint64_t addresses[] = { 0x1000, 0x2000, 0x3000, 0x4000 };

	return random_recording(&(struct random_options){
		.seed = seed, .events = 1000, .addresses = addresses, .address_count = 4 });
}

static void both_at_once_are_the_same(void **context)
{
	uint32_t rows = 0;

	for (unsigned i = 1; i <= 40; i++) {
		struct model *m = few_functions(i);
		struct view v = { .model = m, .locations = locations_new(m, NULL) };
		struct verdicts leaked, held, both[2];

		verdicts_init(&leaked, &v, NULL);
		verdicts_init(&held, &v, &(struct verdict_options){ .held = true });
		verdicts_init_both(&both[0], &both[1], &v);
		same_verdicts(&leaked, &both[0]);
		same_verdicts(&held, &both[1]);
		for (uint32_t k = 0; k < leaked.count && k < held.count; k++)
			rows += leaked.rows[k].stacks != held.rows[k].stacks;
		verdicts_release(&leaked);
		verdicts_release(&held);
		verdicts_release(&both[0]);
		verdicts_release(&both[1]);
		locations_free(v.locations);
		model_free(m);
	}
	assert_true(rows > 10);
}

static void kept_ones_are_the_same(void **context)
{
	for (unsigned i = 1; i <= 20; i++) {
		struct model *m = few_functions(i), *other = few_functions(i + 100);
		struct view v = { .model = m, .locations = locations_new(m, NULL) };
		struct view w = { .model = other, .locations = locations_new(other, NULL) };
		struct verdicts both[2], again[2];
		struct buf bytes = { 0 };

		verdicts_init_both(&both[0], &both[1], &v);
		verdict_cache_pack(&bytes, both, &v);
		assert_true(verdict_cache_unpack(bytes.data, bytes.size, again, &v));
		same_verdicts(&both[0], &again[0]);
		same_verdicts(&both[1], &again[1]);
		verdicts_release(&again[0]);
		verdicts_release(&again[1]);
		assert_false(verdict_cache_unpack(bytes.data, bytes.size, again, &w));
		for (; bytes.size; bytes.size -= bytes.size / 7 + 1)
			assert_int_equal(verdict_cache_unpack(bytes.data, bytes.size, again, &w),
					 false);
		verdicts_release(&both[0]);
		verdicts_release(&both[1]);
		buf_release(&bytes);
		locations_free(v.locations);
		locations_free(w.locations);
		model_free(m);
		model_free(other);
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
		cmocka_unit_test(evidence_is_true),
		cmocka_unit_test(many_events_are_judged_like_few),
		cmocka_unit_test(everything_left_is_judged),
		cmocka_unit_test(both_at_once_are_the_same),
		cmocka_unit_test(kept_ones_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
