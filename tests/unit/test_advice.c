/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Advice: for each rule a process in which it is right, and those in which it would be wrong. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "jemalloc/advice.h"
#include "population.h"

struct asked {
	struct stats s;
	struct advice list[ADVICE_MAX];
	unsigned count;
};

static void begin(struct asked *q)
{
	stats_init(&q->s);
	population_init(&q->s, population_version());
}

/* The advice of a name, or NULL. */
static const struct advice *answer(struct asked *q, const char *id)
{
	struct waterfall w = { 0 };

	waterfall_make(&w, &q->s, &q->s.arenas[0]);
	q->count = advice_make(q->list, &q->s, &q->s.arenas[0], &w);
	waterfall_release(&w);
	for (unsigned i = 0; i < q->count; i++)
		if (!strcmp(q->list[i].id, id))
			return &q->list[i];
	return NULL;
}

static void is_not_given(struct asked *q, const char *id)
{
	const struct advice *a = answer(q, id);

	if (a)
		fail_msg("%s: %s (%s)", id, a->what, a->evidence);
	stats_release(&q->s);
}

static void is_given(struct asked *q, const char *id, enum advice_weight weight,
		     const char *setting, const char *control)
{
	const struct advice *a = answer(q, id);

	if (!a)
		fail_msg("%s is not given", id);
	assert_int_equal(a->weight, weight);
	assert_string_equal(a->setting, setting);
	if (!strstr(a->control, control))
		fail_msg("%s: '%s' is not in '%s'", id, control, a->control);
	stats_release(&q->s);
}

/* 100 MiB that are used, and dirty pages. */
static void with_dirty(struct asked *q, uint64_t dirty, const char *background)
{
	begin(q);
	population_hold(&q->s, &q->s.arenas[0], 100 * MIB, 99 * MIB);
	q->s.arenas[0].value[STATS_ARENA_PDIRTY] = dirty / PAGE;
	q->s.arenas[0].value[STATS_ARENA_RESIDENT] += dirty;
	population_set(&q->s, "opt.background_thread", background);
}

static void test_dirty(void **state)
{
	struct asked q;

	with_dirty(&q, 80 * MIB, "false");
	is_given(&q, "dirty", ADVICE_DO, "background_thread:true,dirty_decay_ms:1000", "purge");
	/* A thread of jemalloc's purges them in time: perhaps they are of this moment only. */
	with_dirty(&q, 80 * MIB, "true");
	is_given(&q, "dirty", ADVICE_MAYBE, "dirty_decay_ms:1000", "measure");
	/* It does so within a second already. */
	with_dirty(&q, 80 * MIB, "true");
	q.s.shape[STATS_SHAPE_DIRTY_DECAY_MS] = 500;
	is_given(&q, "dirty", ADVICE_MAYBE, "", "after 500 ms");
	with_dirty(&q, 4 * MIB, "false");
	is_not_given(&q, "dirty");
}

static void test_never_purged(void **state)
{
	struct asked q;

	with_dirty(&q, 80 * MIB, "false");
	q.s.shape[STATS_SHAPE_DIRTY_DECAY_MS] = UINT64_MAX;
	is_given(&q, "never-purged", ADVICE_DO, "dirty_decay_ms:10000", "while it runs");
	/* There is nothing to purge. */
	with_dirty(&q, 0, "false");
	q.s.shape[STATS_SHAPE_DIRTY_DECAY_MS] = UINT64_MAX;
	is_given(&q, "never-purged", ADVICE_INFO, "", "while it runs");
	with_dirty(&q, 80 * MIB, "false");
	is_not_given(&q, "never-purged");
}

static void test_muzzy(void **state)
{
	struct asked q;

	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_PMUZZY] = 50 * MIB / PAGE;
	q.s.shape[STATS_SHAPE_MUZZY_DECAY_MS] = 10000;
	is_given(&q, "muzzy", ADVICE_MAYBE, "muzzy_decay_ms:0", "Harmless");
	/* It is 0 already. */
	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_PMUZZY] = 50 * MIB / PAGE;
	is_given(&q, "muzzy", ADVICE_MAYBE, "", "purge");
	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_PMUZZY] = 2 * MIB / PAGE;
	is_not_given(&q, "muzzy");
}

/* Arenas with so much active each and half of it free. */
static void with_arenas(struct asked *q, unsigned count, uint64_t active)
{
	begin(q);
	for (unsigned i = 0; i < count; i++)
		population_arena(&q->s, i, active, active / 2);
}

static void add_waits(struct asked *q, uint64_t waits, uint64_t ops, uint64_t wait_ns)
{
	struct stats_mutex *m = stats_add_mutex(&q->s.arenas[0].mutexes, "large", 5);

	m->value[STATS_MUTEX_OPS] = ops;
	m->value[STATS_MUTEX_WAIT] = waits;
	m->value[STATS_MUTEX_TOTAL_WAIT] = wait_ns;
	for (size_t i = 0; i < q->s.arena_count; i++)
		q->s.arenas[i].value[STATS_ARENA_UPTIME_NS] = UINT64_C(600000000000);
}

static void test_arenas(void **state)
{
	struct asked q;

	with_arenas(&q, 16, 10 * MIB);
	is_given(&q, "arenas", ADVICE_MAYBE, "narenas:4", "Measure both runs");
	/* 26.9 of 27.2 MB are in one of them: fewer arenas change nothing. */
	with_arenas(&q, 10, MIB / 32);
	population_arena(&q.s, 10, 269 * MIB / 10, 10 * MIB);
	is_not_given(&q, "arenas");
	/* In three of 19: the same. */
	with_arenas(&q, 16, MIB / 32);
	for (int64_t i = 16; i < 19; i++)
		population_arena(&q.s, i, 30 * MIB, 15 * MIB);
	is_not_given(&q, "arenas");
	/* Threads wait for each other as it is. */
	with_arenas(&q, 16, 10 * MIB);
	add_waits(&q, 500000, 1000000, UINT64_C(60000000000));
	is_not_given(&q, "arenas");
	with_arenas(&q, 4, 10 * MIB);
	is_not_given(&q, "arenas");
}

static void test_slabs(void **state)
{
	struct asked q;

	begin(&q);
	population_bin(&q.s, 1024, 10000, 4, 20000);
	is_given(&q, "slabs", ADVICE_MAYBE, "", "join");
	/* Many arenas of which one has it all are no reason for fewer. */
	with_arenas(&q, 10, MIB / 32);
	population_bin(&q.s, 1024, 10000, 4, 20000);
	is_given(&q, "slabs", ADVICE_MAYBE, "", "no control moves blocks");
	begin(&q);
	population_bin(&q.s, 1024, 79000, 4, 20000);
	is_not_given(&q, "slabs");
}

static void test_padding(void **state)
{
	struct asked q;

	begin(&q);
	population_large(&q.s, 16384, 10000);
	is_given(&q, "large-padding", ADVICE_MAYBE, "cache_oblivious:false", "from 5.3 on");
	/* 5.2.1 has no such option. */
	stats_init(&q.s);
	population_init(&q.s, "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756");
	population_large(&q.s, 16384, 10000);
	is_given(&q, "large-padding", ADVICE_MAYBE, "", "when jemalloc is built");
	/* These are the heap profiler's: they go away with it. */
	begin(&q);
	population_profiles(&q.s, "12");
	population_bin(&q.s, 1024, 35000, 4, 8750);
	population_large(&q.s, 16384, 10000);
	is_not_given(&q, "large-padding");
	begin(&q);
	population_large(&q.s, 1 << 20, 100);
	is_not_given(&q, "large-padding");
}

static void test_tcache(void **state)
{
	struct asked q;

	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_TCACHE_BYTES] = 30 * MIB;
	is_given(&q, "tcache", ADVICE_MAYBE, "tcache_max:4096", "thread.tcache.flush");
	/* The limit is as low already. */
	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_TCACHE_BYTES] = 30 * MIB;
	q.s.shape[STATS_SHAPE_TCACHE_MAX] = 4096;
	is_given(&q, "tcache", ADVICE_MAYBE, "", "thread.tcache.flush");
	/* What 5.2.1 calls it. */
	stats_init(&q.s);
	population_init(&q.s, "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756");
	population_hold(&q.s, &q.s.arenas[0], 100 * MIB, 99 * MIB);
	q.s.arenas[0].value[STATS_ARENA_TCACHE_BYTES] = 30 * MIB;
	is_given(&q, "tcache", ADVICE_MAYBE, "lg_tcache_max:12", "thread.tcache.flush");
	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_TCACHE_BYTES] = 5 * MIB;
	is_not_given(&q, "tcache");
}

static void with_metadata(struct asked *q, unsigned arenas, uint64_t first, uint64_t each)
{
	begin(q);
	for (unsigned i = 0; i < arenas; i++) {
		population_arena(&q->s, i, 2 * MIB, 2 * MIB);
		q->s.arenas[q->s.arena_count - 1].value[STATS_ARENA_BASE] = i ? each : first;
	}
	q->s.total[STATS_TOTAL_METADATA] = first + each * (arenas - 1);
}

static void test_metadata(void **state)
{
	struct asked q;

	with_metadata(&q, 16, 3 * MIB, 3 * MIB);
	is_given(&q, "metadata", ADVICE_MAYBE, "narenas:8", "start");
	/* One arena has it all. */
	with_metadata(&q, 16, 48 * MIB, 4096);
	is_given(&q, "metadata", ADVICE_MAYBE, "", "retained");
	with_metadata(&q, 16, 4096, 4096);
	is_not_given(&q, "metadata");
}

static void test_profiler(void **state)
{
	struct asked q;

	/* 1 KiB blocks, of which 22 % are samples of 16 KiB. */
	begin(&q);
	population_profiles(&q.s, "12");
	population_bin(&q.s, 1024, 35000, 4, 8750);
	population_large(&q.s, 16384, 10000);
	is_given(&q, "profiler", ADVICE_MAYBE, "lg_prof_sample:14", "prof.reset");
	/* With the usual interval it is less than anybody would act on. */
	begin(&q);
	population_profiles(&q.s, "19");
	population_bin(&q.s, 1024, 200000, 4, 50000);
	population_large(&q.s, 16384, 390);
	is_not_given(&q, "profiler");
	/* The program's own blocks of that size. */
	begin(&q);
	population_bin(&q.s, 1024, 35000, 4, 8750);
	population_large(&q.s, 16384, 10000);
	is_not_given(&q, "profiler");
}

static void test_retained(void **state)
{
	struct asked q;

	with_dirty(&q, 0, "false");
	q.s.total[STATS_TOTAL_RETAINED] = q.s.arenas[0].value[STATS_ARENA_RETAINED] = 500 * MIB;
	is_given(&q, "retained", ADVICE_INFO, "", "ulimit -v");
	with_dirty(&q, 0, "false");
	q.s.total[STATS_TOTAL_RETAINED] = q.s.arenas[0].value[STATS_ARENA_RETAINED] = 50 * MIB;
	is_not_given(&q, "retained");
}

static void test_contention(void **state)
{
	struct asked q;

	/* Ten minutes old, a minute of them waited. */
	with_arenas(&q, 2, 10 * MIB);
	add_waits(&q, 500000, 1000000, UINT64_C(60000000000));
	population_set(&q.s, "opt.narenas", "8");
	is_given(&q, "contention", ADVICE_DO, "narenas:16", "start of the process");
	with_arenas(&q, 2, 10 * MIB);
	add_waits(&q, 500000, 1000000, UINT64_C(60000000000));
	population_set(&q.s, "opt.percpu_arena", "disabled");
	is_given(&q, "contention", ADVICE_DO, "percpu_arena:percpu", "start of the process");
	/* As often, and 10 ms in all: nobody would notice. */
	with_arenas(&q, 2, 10 * MIB);
	add_waits(&q, 500000, 1000000, 10000000);
	is_not_given(&q, "contention");
	/* The version does not say for how long. */
	with_arenas(&q, 2, 10 * MIB);
	add_waits(&q, 500000, 1000000, STATS_NONE);
	is_given(&q, "contention", ADVICE_MAYBE, "narenas:16", "measure for how long");
	/* One use in ten thousand. */
	with_arenas(&q, 2, 10 * MIB);
	add_waits(&q, 5000, 50000000, UINT64_C(60000000000));
	is_not_given(&q, "contention");
}

static void test_abandoned(void **state)
{
	struct asked q;

	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_ABANDONED_VM] = 4096;
	is_given(&q, "abandoned", ADVICE_INFO, "", "");
	with_dirty(&q, 0, "false");
	q.s.arenas[0].value[STATS_ARENA_ABANDONED_VM] = 0;
	is_not_given(&q, "abandoned");
}

/* A process in good order gets none. */
static void test_nothing(void **state)
{
	struct asked q;

	with_dirty(&q, 0, "true");
	answer(&q, "");
	assert_int_equal(q.count, 0);
	stats_release(&q.s);
}

UNIT(advice)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dirty),	   cmocka_unit_test(test_never_purged),
		cmocka_unit_test(test_muzzy),	   cmocka_unit_test(test_arenas),
		cmocka_unit_test(test_slabs),	   cmocka_unit_test(test_padding),
		cmocka_unit_test(test_tcache),	   cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_profiler),   cmocka_unit_test(test_retained),
		cmocka_unit_test(test_contention), cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
