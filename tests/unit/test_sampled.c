/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What jemalloc's heap profiler takes, and what is called a leak: neither the profiler's own memory
 * nor a few snapshots. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "jemalloc/growth.h"
#include "jemalloc/waterfall.h"
#include "jemalloc/when.h"
#include "population.h"

static uint64_t state_of_chance = 88172645463325252ull;

/* True in a share of `p`. */
static bool chance(double p)
{
	state_of_chance ^= state_of_chance << 13;
	state_of_chance ^= state_of_chance >> 7;
	state_of_chance ^= state_of_chance << 17;
	return (double)(state_of_chance >> 11) / 0x1p53 < p;
}

/* How many of `count` blocks are sampled, each by chance. */
static uint64_t samples_of(uint64_t count, uint64_t size, uint64_t rate)
{
	uint64_t samples = 0;

	for (uint64_t i = 0; i < count; i++)
		samples += chance(sampled_chance((double)size, rate));
	return samples;
}

/* A process with small blocks of two sizes, as many of each. */
struct process {
	uint64_t small;
	uint64_t of_64, of_1024; /* samples among them */
};

/* It allocates more; as 5.3.0 counts them with `own` large blocks of 16 KiB.  Returns how many are
 * samples. */
static uint64_t profiled_530(struct stats *s, struct process *p, uint64_t more, uint64_t own)
{
	uint64_t a = p->of_64 += samples_of(more, 64, 1 << 14);
	uint64_t b = p->of_1024 += samples_of(more, 1024, 1 << 14);
	uint64_t small = p->small += more;

	population_init(s, population_version());
	population_profiles(s, "14");
	population_bin(s, 64, small - a, 64, (small - a + 63) / 64);
	population_bin(s, 1024, small - b, 4, (small - b + 3) / 4);
	population_large(s, 16384, own + a + b);
	return a + b;
}

/* The steps add up, whatever they are. */
static void adds_up(const struct waterfall *w)
{
	int64_t left = (int64_t)w->active;

	for (unsigned i = WATERFALL_SLABS; i < WATERFALL_TCACHE; i++)
		left -= w->step[i];
	assert_int_equal(left, w->allocated);
	for (unsigned i = WATERFALL_TCACHE; i < WATERFALL_STEP_COUNT; i++)
		left -= w->step[i];
	assert_int_equal(left, w->program);
}

static void test_large_blocks_of_530(void **state)
{
	struct process p = { 0 }, q = { 0 };
	struct waterfall w = { 0 };
	struct stats s;
	uint64_t samples, own;

	stats_init(&s);
	samples = profiled_530(&s, &p, 20000, 0);
	waterfall_make(&w, &s, &s.arenas[0]);
	adds_up(&w);
	/* All of them: no more than chance would have it. */
	assert_true(w.sampled.estimated && w.sampled.count == samples);
	assert_int_equal(w.step[WATERFALL_SAMPLED_PAGES], samples * PAGE);
	assert_int_equal(w.step[WATERFALL_PADDING], 0);
	assert_int_equal(w.step[WATERFALL_UNKNOWN], 0);
	own = UINT64_C(20000) * (64 + 1024);
	assert_true(llabs((long long)w.program - (long long)own) < (long long)own / 50);

	/* The program has as many of that size itself. */
	samples = profiled_530(&s, &q, 20000, 3000);
	waterfall_make(&w, &s, &s.arenas[0]);
	adds_up(&w);
	assert_true(llabs((long long)w.sampled.count - (long long)samples) < 150);
	own += UINT64_C(3000) * 16384;
	assert_true(llabs((long long)w.program - (long long)own) < (long long)own / 20);

	/* Not active, and off: nothing is known, or there is nothing. */
	profiled_530(&s, &p, 0, 0);
	s.setting_count = 1;
	waterfall_make(&w, &s, &s.arenas[0]);
	assert_true(!w.sampled.count && !w.step[WATERFALL_SAMPLED] && w.step[WATERFALL_PADDING]);
	waterfall_release(&w);
	stats_release(&s);
}

/* Without bins and classes, the bytes of small blocks say about how many. */
static void test_without_bins(void **state)
{
	struct process p = { 0 };
	struct sampled sampled;
	struct stats s;
	uint64_t samples, small, large;

	stats_init(&s);
	samples = profiled_530(&s, &p, 20000, 0);
	small = 20000 * (64 + 1024) - p.of_64 * 64 - p.of_1024 * 1024;
	large = samples * 16384 + 50 * MIB;
	s.arenas[0].bins.count = s.arenas[0].large.count = 0;
	s.arenas[0].value[STATS_ARENA_SMALL_ALLOCATED] = small;
	s.arenas[0].value[STATS_ARENA_LARGE_ALLOCATED] = large;
	sampled_make(&sampled, &s, &s.arenas[0], true);
	assert_true(sampled.estimated);
	assert_true(llabs((long long)sampled.count - (long long)samples) < (long long)samples / 5);
	/* Never more than there can be. */
	s.arenas[0].value[STATS_ARENA_LARGE_ALLOCATED] = 10 * 16384;
	sampled_make(&sampled, &s, &s.arenas[0], true);
	assert_true(sampled.count == 10 && sampled.most == 10);
	stats_release(&s);
}

/* prof_stats:true tells how many there are. */
static void test_counted(void **state)
{
	struct waterfall w = { 0 };
	struct stats s;

	stats_init(&s);
	population_init(&s, population_version());
	population_profiles(&s, "14");
	population_bin(&s, 1024, 1000, 4, 250)[STATS_BIN_LIVE_COUNT] = 40;
	population_large(&s, 16384, 100);
	waterfall_make(&w, &s, &s.arenas[0]);
	adds_up(&w);
	assert_false(w.sampled.estimated);
	assert_int_equal(w.sampled.count, 40);
	assert_int_equal(w.step[WATERFALL_SAMPLED], 40 * (16384 - 1024));
	assert_int_equal(w.step[WATERFALL_PADDING], 60 * PAGE);
	waterfall_release(&w);
	stats_release(&s);
}

/* From 5.3.1 on a sample has pages of its own, which no class counts as in use: bins of whole pages
 * count it as made. */
static void profiled_531(struct stats *s, const char *version)
{
	uint64_t *row;

	population_init(s, version);
	population_profiles(s, "14");
	population_bin(s, 64, 20000, 64, 320);
	row = population_bin(s, PAGE, 100, 1, 100);
	row[STATS_BIN_NMALLOC] += 1300; /* and 1,000 of them were freed */
	row[STATS_BIN_NDALLOC] += 1000;
	row = population_bin(s, 2 * PAGE, 10, 1, 10);
	row[STATS_BIN_NMALLOC] += 7;
	population_large(s, 16384, 50);
	population_hold(s, &s->arenas[0], 300 * (PAGE + PAGE) + 7 * (2 * PAGE + PAGE), 0);
}

static void test_pages_of_531(void **state)
{
	static const char *const versions[] = {
		"5.3.1-0-g81034ce1f1373e37dc865038e1bc8eeecf559ce8",
		"5.3.0-1234-g295e48940000000000000000000000000000aaaa"
	};
	struct waterfall w = { 0 };
	struct growth g = { 0 };
	struct stats s;
	size_t count;

	stats_init(&s);
	for (unsigned i = 0; i < 2; i++) {
		profiled_531(&s, versions[i]);
		waterfall_make(&w, &s, &s.arenas[0]);
		adds_up(&w);
		assert_int_equal(w.sampled.in, SAMPLED_PAGES);
		assert_false(w.sampled.estimated);
		assert_int_equal(w.sampled.count, 307);
		assert_int_equal(w.step[WATERFALL_SAMPLED_PAGES], 300 * 2 * PAGE + 7 * 3 * PAGE);
		assert_int_equal(w.step[WATERFALL_UNKNOWN], 0);
		assert_int_equal(w.step[WATERFALL_PADDING], 50 * PAGE);
	}
	/* Large blocks that grow there are the program's. */
	for (unsigned i = 0; i < 100; i++) {
		profiled_531(&s, versions[0]);
		population_large(&s, 32768, i * 10);
		growth_add(&g, &s, &s.arenas[0], i * INT64_C(1000000000));
	}
	const struct growth_class **list = growth_rank(&g, &count);

	assert_true(count == 1 && list[0]->size == 32768 && list[0]->suspect);
	free(list);
	growth_release(&g);
	waterfall_release(&w);
	stats_release(&s);
}

/* A process looked at every second, whose small blocks grow while profiling is on. */
static const struct growth_class *after(struct growth *g, unsigned seconds, uint64_t step,
					uint64_t own_step)
{
	const struct growth_class **list;
	struct process p = { 0 };
	struct stats s;
	size_t count;

	stats_init(&s);
	for (unsigned i = 0; i <= seconds; i++) {
		profiled_530(&s, &p, i ? step : 2000, i * own_step);
		growth_add(g, &s, &s.arenas[0], i * INT64_C(1000000000));
	}
	stats_release(&s);
	list = growth_rank(g, &count);
	free(list);
	return growth_find(g, 16384);
}

static void test_the_profiler_is_no_leak(void **state)
{
	struct growth g = { 0 };
	const struct growth_class *c = after(&g, 120, 500, 0);

	assert_true(!c || (!c->suspect && !c->steady));
	/* What does grow is named. */
	c = growth_find(&g, 1024);
	assert_true(c && c->suspect);
	growth_release(&g);
	/* A leak of 16 KiB blocks is one, profiling or not. */
	c = after(&g, 120, 500, 20);
	assert_true(c && c->suspect && c->slope > 15 * 16384 && c->slope < 25 * 16384);
	growth_release(&g);
}

/* Bytes of one class after each step of `gap_ns`. */
static const struct growth_class *judged(struct growth *g, const uint64_t *bytes, unsigned count,
					 int64_t gap_ns)
{
	const struct growth_class **list;
	struct stats s;
	size_t n;

	growth_release(g);
	stats_init(&s);
	for (unsigned i = 0; i < count; i++) {
		population_init(&s, population_version());
		population_bin(&s, 4096, bytes[i] / 4096, 1, bytes[i] / 4096);
		growth_add(g, &s, &s.arenas[0], gap_ns ? i * gap_ns : WHEN_NONE);
	}
	stats_release(&s);
	list = growth_rank(g, &n);
	free(list);
	return growth_find(g, 4096);
}

static void test_verdicts_take_time(void **state)
{
	uint64_t leak[200], saw[200], ramp[200], flat[200];
	char text[GROWTH_EARLY_MAX];
	const struct growth_class *c;
	struct growth g = { 0 };

	for (unsigned i = 0; i < 200; i++) {
		leak[i] = 100 * MIB + i * MIB;
		saw[i] = 100 * MIB + i % 20 * MIB;
		ramp[i] = 100 * MIB + (i < 100 ? i : 100) * MIB;
		flat[i] = 100 * MIB;
	}
	/* Four snapshots in three seconds say nothing. */
	c = judged(&g, leak, 4, 1000000000);
	assert_false(c->suspect || c->steady);
	growth_early_text(&g, text);
	assert_string_equal(
		text, "too early to tell a leak: 4 snapshots in 3.00 s; it takes 10 over 60 s");
	/* Ten seconds: it is named, and not called a leak. */
	c = judged(&g, leak, 11, 1000000000);
	assert_true(c->steady && !c->suspect && growth_is_early(&g));
	/* A hundred snapshots within a second are as short. */
	c = judged(&g, leak, 100, 10000000);
	assert_true(c->steady && !c->suspect);
	/* Nine in an hour are few. */
	c = judged(&g, leak, 9, INT64_C(400000000000));
	assert_true(c->steady && !c->suspect);
	/* Enough of both. */
	c = judged(&g, leak, 61, 1000000000);
	assert_true(c->suspect);
	growth_early_text(&g, text);
	assert_string_equal(text, "");
	c = judged(&g, leak, 10, INT64_C(3600000000000));
	assert_true(c->suspect);
	/* Without times. */
	c = judged(&g, leak, 200, 0);
	assert_true(c->steady && !c->suspect);
	growth_early_text(&g, text);
	assert_non_null(strstr(text, "have no times"));
	/* What comes and goes, what has come to rest, and what stays. */
	c = judged(&g, saw, 200, 1000000000);
	assert_false(c->suspect || c->steady);
	c = judged(&g, ramp, 190, 1000000000);
	assert_false(c->suspect || c->steady);
	c = judged(&g, ramp, 101, 1000000000);
	assert_true(c->suspect);
	c = judged(&g, flat, 200, 1000000000);
	assert_false(c->suspect || c->steady);
	growth_release(&g);
}

/* However often it is looked, the window of a live process is long enough for a verdict. */
static void test_a_short_interval(void **state)
{
	uint64_t leak[1500];
	struct growth g;

	for (unsigned i = 0; i < 1500; i++)
		leak[i] = 100 * MIB + i * MIB;
	memset(&g, 0, sizeof(g));
	const struct growth_class *c;
	struct stats s;
	size_t n;

	g.moving = true;
	g.limit = 120;
	stats_init(&s);
	for (unsigned i = 0; i < 1500; i++) {
		population_init(&s, population_version());
		population_bin(&s, 4096, leak[i] / 4096, 1, leak[i] / 4096);
		growth_add(&g, &s, &s.arenas[0], i * INT64_C(100000000));
	}
	stats_release(&s);
	free(growth_rank(&g, &n));
	c = growth_find(&g, 4096);
	assert_true(g.sample_count <= 120 && growth_span(&g) >= 60 && c->suspect);
	growth_release(&g);
}

UNIT(sampled)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large_blocks_of_530),
		cmocka_unit_test(test_without_bins),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_pages_of_531),
		cmocka_unit_test(test_the_profiler_is_no_leak),
		cmocka_unit_test(test_verdicts_take_time),
		cmocka_unit_test(test_a_short_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
