/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heap/join.h and heap/dump_series.h: small dumps and statistics, of which every number is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap/dump_series.h"
#include "heap/join.h"
#include "jemalloc/merge.h"
#include "jemalloc/snapshots.h"
#include "unit.h"

/* Classes of 64 (64 in a slab), 512, 640, 1024 and, large, 16384 bytes. */
#define STATISTICS(version, in_64, slabs_64, in_1024, slabs_1024, large)                           \
	"{\"jemalloc\":{\"version\":\"" version "\",\"opt\":{\"cache_oblivious\":true},"           \
	"\"arenas\":{\"page\":4096,\"bin\":[{\"size\":64,\"nregs\":64},{\"size\":512,\"nregs\":8}" \
	","                                                                                        \
	"{\"size\":640,\"nregs\":32},{\"size\":1024,\"nregs\":4}],\"lextent\":[{\"size\":16384}]}" \
	","                                                                                        \
	"\"stats\":{\"allocated\":0,\"active\":0},"                                                \
	"\"stats.arenas\":{\"0\":{\"tcache_bytes\":0,\"bins\":[{\"curregs\":" in_64                \
	",\"curslabs\":" slabs_64 "},"                                                             \
	"{\"curregs\":0,\"curslabs\":0},{\"curregs\":0,\"curslabs\":0},"                           \
	"{\"curregs\":" in_1024 ",\"curslabs\":" slabs_1024 "}],"                                  \
	"\"lextents\":[{\"curlextents\":" large "}]}}}}"

struct made {
	struct profile profile;
	struct snapshots snapshots;
	struct join join;
};

static void add(struct profile *p, const char *text)
{
	struct err err = { .text = "" };
	struct dump d;

	assert_int_equal(dump_read(&d, text, strlen(text), &err), 0);
	profile_add(p, &d, 1);
	dump_release(&d);
}

static void make(struct made *m, const char *dump, const char *statistics)
{
	struct profile_options how = { .thread = PROFILE_ALL_THREADS };
	struct heap_locations_options where = { 0 };
	struct err err = { .text = "" };

	profile_init(&m->profile, &how, &where);
	add(&m->profile, dump);
	assert_int_equal(profile_finish(&m->profile, &err), 0);
	snapshots_memory(&m->snapshots, statistics, strlen(statistics));
	assert_int_equal(snapshots_next(&m->snapshots, &err), 1);
	assert_int_equal(join_compute(&m->join, &m->profile, &m->snapshots.stats,
				      stats_merge(&m->snapshots.stats), &err),
			 0);
}

static void release(struct made *m)
{
	join_release(&m->join);
	snapshots_close(&m->snapshots);
	profile_release(&m->profile);
}

static void near(double found, double expected)
{
	if (!(fabs(found - expected) < 1e-6 * (1 + fabs(expected))))
		fail_msg("%.9g, not %.9g", found, expected);
}

/* The part of a stack (by its index among the profile's) in a class. */
static const struct join_part *part(const struct join *j, size_t stack, uint64_t size)
{
	for (size_t i = 0; i < j->part_count; i++)
		if (j->parts[i].stack == stack && j->classes[j->parts[i].class].size == size)
			return &j->parts[i];
	return NULL;
}

/* 100 of 192 regions are used, by two stacks: 60 and 30; ten are nobody's. */
static void shares_of_a_class(void **state)
{
	struct made m;

	make(&m,
	     "heap_v2/1\n  t*: 90: 5760 [0: 0]\n"
	     "@ 0x1 0x9\n  t*: 60: 3840 [0: 0]\n@ 0x2 0x9\n  t*: 30: 1920 [0: 0]\n",
	     STATISTICS("not told", "100", "3", "0", "0", "0"));
	assert_int_equal(m.join.unused, 92 * 64);
	assert_int_equal(m.join.stack_count, 2);
	near(m.join.stacks[0].unused, 92 * 64 * 0.6);
	near(m.join.stacks[1].unused, 92 * 64 * 0.3);
	near(m.join.charged, 92 * 64 * 0.9);
	assert_false(m.join.stacks[0].mixed);
	assert_int_equal(m.join.classes[0].part_count, 2);
	assert_int_equal(m.join.parts[m.join.by_class[0]].stack, 0);
	release(&m);
}

/* Chance makes it 125 of 100: shares are of the 125, and nothing is charged twice. */
static void more_than_there_is(void **state)
{
	struct made m;

	make(&m, "heap_v2/1\n  t*: 125: 8000 [0: 0]\n@ 0x1\n  t*: 125: 8000 [0: 0]\n",
	     STATISTICS("not told", "100", "3", "0", "0", "0"));
	near(m.join.charged, 92 * 64);
	release(&m);
}

/* Five of 64 and five of 1024 bytes: no block is of the sizes between them. */
static void lines_of_several_sizes(void **state)
{
	struct made m;

	make(&m, "heap_v2/1\n  t*: 10: 5440 [0: 0]\n@ 0x1\n  t*: 10: 5440 [0: 0]\n",
	     STATISTICS("not told", "5", "1", "5", "2", "0"));
	assert_true(m.join.stacks[0].mixed);
	near(m.join.mixed, 5440);
	assert_null(part(&m.join, 0, 512));
	assert_null(part(&m.join, 0, 640));
	near(part(&m.join, 0, 64)->objects, 5);
	near(part(&m.join, 0, 1024)->objects, 5);
	near(part(&m.join, 0, 64)->unused, 59 * 64);
	near(part(&m.join, 0, 1024)->unused, 3 * 1024);
	release(&m);
	/* Where nothing is left in any class, it is between its neighbours. */
	make(&m, "heap_v2/1\n  t*: 10: 5440 [0: 0]\n@ 0x1\n  t*: 10: 5440 [0: 0]\n",
	     STATISTICS("not told", "0", "0", "0", "0", "0"));
	near(part(&m.join, 0, 512)->objects, 7.5);
	near(part(&m.join, 0, 640)->objects, 2.5);
	near(m.join.charged, 0);
	release(&m);
}

/* Of n blocks, n * exp(-size / rate) are in slabs; the others are large until 5.3.0, and have pages
 * of their own later. */
static void samples_are_large(void **state)
{
	static const char dump[] = "heap_v2/1024\n  t*: 100: 6400 [0: 0]\n"
				   "@ 0x1\n  t*: 100: 6400 [0: 0]\n";
	double all = 100 / -expm1(-64 / 1024.0);
	struct made m;

	make(&m, dump, STATISTICS("5.3.0-0-g1", "1551", "40", "0", "0", "100"));
	near(part(&m.join, 0, 64)->objects, all);
	near(part(&m.join, 0, 64)->sampled, 100);
	near(m.join.classes[m.join.home].sampled, 100);
	near(m.join.pages, 100 * 4096);
	near(m.join.sampled, 100 * (16384 - 64 + 4096));
	near(m.join.classes[0].seen, all - 100);
	release(&m);
	make(&m, dump, STATISTICS("5.3.1-0-g1", "1551", "40", "0", "0", "100"));
	near(part(&m.join, 0, 64)->sampled, 100);
	near(m.join.classes[0].seen, all - 100);
	assert_true(m.join.home == SIZE_MAX);
	near(m.join.apart, 100);
	near(m.join.sampled, 100 * (4096 - 64 + 4096));
	near(m.join.pages, 0);
	release(&m);
}

static void without_classes(void **state)
{
	static const char text[] = "{\"jemalloc\":{\"version\":\"5\",\"stats.arenas\":{\"0\":{}}}}";
	struct made m;
	struct err err = { .text = "" };

	make(&m, "heap_v2/1\n  t*: 1: 64 [0: 0]\n@ 0x1\n  t*: 1: 64 [0: 0]\n",
	     STATISTICS("5.3.1", "1", "1", "0", "0", "0"));
	join_release(&m.join);
	snapshots_close(&m.snapshots);
	snapshots_memory(&m.snapshots, text, strlen(text));
	assert_int_equal(snapshots_next(&m.snapshots, &err), 1);
	assert_true(join_compute(&m.join, &m.profile, &m.snapshots.stats,
				 stats_merge(&m.snapshots.stats), &err) < 0);
	assert_true(*err.text);
	release(&m);
}

/* Three dumps; 0x1 grows by 64 each, 0x2 is gone in the last, both are called by 0x9. */
static void dumps_in_a_row(void **state)
{
	static const char *const dumps[] = {
		"heap_v2/1\n  t*: 2: 128 [0: 0]\n"
		"@ 0x1 0x9\n  t*: 1: 64 [0: 0]\n@ 0x2 0x9\n  t*: 1: 64 [0: 0]\n",
		"heap_v2/1\n  t*: 3: 192 [0: 0]\n"
		"@ 0x1 0x9\n  t*: 2: 128 [0: 0]\n@ 0x2 0x9\n  t*: 1: 64 [0: 0]\n",
		"heap_v2/1\n  t*: 3: 192 [0: 0]\n@ 0x1 0x9\n  t*: 3: 192 [0: 0]\n",
	};
	struct profile_options how = { .thread = PROFILE_ALL_THREADS };
	struct heap_locations_options where = { 0 };
	struct err err = { .text = "" };
	struct dump_series s;
	struct profile p;
	size_t sample_ends[3];

	profile_init(&p, &how, &where);
	for (unsigned i = 0; i < 3; i++) {
		add(&p, dumps[i]);
		sample_ends[i] = p.sample_count;
	}
	assert_int_equal(profile_finish(&p, &err), 0);
	dump_series_compute(&s, &p, NULL, sample_ends, 3, DUMP_SERIES_FLAT, HEAP_INUSE_SPACE);
	assert_int_equal(s.row_count, 2);
	near(s.rows[0].change, 128);
	near(s.rows[0].slope, 64);
	near(s.rows[0].fit, 1);
	near(s.rows[1].change, -64);
	near(s.rows[1].slope, -32);
	near(s.rows[1].fit, 0.75);
	near(s.total[1], 192);
	dump_series_release(&s);
	dump_series_compute(&s, &p, NULL, sample_ends, 3, DUMP_SERIES_CUM, HEAP_INUSE_OBJECTS);
	assert_int_equal(s.row_count, 3);
	near(s.rows[1].values[0], 2); /* the caller of both */
	near(s.rows[1].values[2], 3);
	dump_series_release(&s);
	dump_series_compute(&s, &p, NULL, sample_ends, 3, DUMP_SERIES_STACKS, HEAP_INUSE_SPACE);
	assert_int_equal(s.row_count, 2);
	dump_series_release(&s);
	profile_release(&p);
}

UNIT(join)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_a_class),	  cmocka_unit_test(more_than_there_is),
		cmocka_unit_test(lines_of_several_sizes), cmocka_unit_test(samples_are_large),
		cmocka_unit_test(without_classes),	  cmocka_unit_test(dumps_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
