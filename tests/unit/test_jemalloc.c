/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics of jemalloc: text and JSON of all versions into one model. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "jemalloc/merge.h"
#include "jemalloc/notations.h"
#include "jemalloc/snapshots.h"
#include "jemalloc/waterfall.h"
#include "jemalloc/when.h"

#define DATA TEST_DATA "/jemalloc/"
#define STORY_MAX 8

/* All snapshots of a file. */
struct story {
	struct snapshots at[STORY_MAX];
	unsigned count;
};

static void load(struct story *s, const char *path)
{
	struct err err = { .text = "" };

	for (s->count = 0; s->count < STORY_MAX; s->count++) {
		struct snapshots *r = &s->at[s->count];
		int n = 1;

		assert_int_equal(snapshots_open(r, path, &err), 0);
		for (unsigned i = 0; i <= s->count && n; i++) {
			n = snapshots_next(r, &err);
			assert_true(n >= 0);
		}
		if (!n) {
			snapshots_close(r);
			return;
		}
	}
	fail_msg("%s has too many snapshots", path);
}

static void unload(struct story *s)
{
	for (unsigned i = 0; i < s->count; i++)
		snapshots_close(&s->at[i]);
}

static void first(struct snapshots *r, const char *path)
{
	struct err err = { .text = "" };

	assert_int_equal(snapshots_open(r, path, &err), 0);
	assert_int_equal(snapshots_next(r, &err), 1);
}

static void test_iterations(void **state)
{
	static const struct {
		const char *path;
		unsigned count;
	} files[] = { { DATA "series_53.txt", 4 },	{ DATA "series_53.json", 4 },
		      { DATA "stats_interval.txt", 5 }, { DATA "synthetic_36.log", 7 },
		      { DATA "json_521.json", 1 },	{ DATA "json_full.json", 1 },
		      { DATA "text_521.txt", 1 },	{ DATA "text_full.txt", 1 },
		      { DATA "json_small.json", 1 } };
	static const uint64_t allocated[] = { 137822208, 275447808, 413073408, 275427968 };
	struct story s;

	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		load(&s, files[i].path);
		assert_int_equal(s.count, files[i].count);
		for (unsigned j = 0; i < 2 && j < 4; j++)
			assert_int_equal(s.at[j].stats.total[STATS_TOTAL_ALLOCATED], allocated[j]);
		unload(&s);
	}
}

static unsigned shared_fields, equal_fields;

/* JSON was printed before the text and after it, and printing itself takes time, locks and a
 * buffer: what text says is what both say, or between. */
static void same(const char *what, const struct stats_field *fields, const uint64_t *text,
		 const uint64_t *before, const uint64_t *after)
{
	for (unsigned i = 0; *fields[i].name; i++) {
		uint64_t low = before[i] < after[i] ? before[i] : after[i];
		uint64_t high = before[i] < after[i] ? after[i] : before[i];

		if (text[i] == STATS_NONE || before[i] == STATS_NONE)
			continue;
		shared_fields++;
		equal_fields += low == high;
		if (text[i] < low || text[i] > high)
			fail_msg("%s %s: %llu in text, %llu and %llu in JSON", what, fields[i].name,
				 (unsigned long long)text[i], (unsigned long long)before[i],
				 (unsigned long long)after[i]);
	}
}

static void same_mutexes(const struct stats_mutexes *t, const struct stats_mutexes *b,
			 const struct stats_mutexes *a)
{
	assert_true(t->count > 8);
	assert_int_equal(t->count, b->count);
	for (size_t i = 0; i < t->count; i++) {
		assert_string_equal(t->list[i].name, b->list[i].name);
		same(t->list[i].name, stats_mutex_fields, t->list[i].value, b->list[i].value,
		     a->list[i].value);
	}
}

static const uint64_t *row_of(const struct stats_rows *r, unsigned index_field, uint64_t index)
{
	for (size_t i = 0; i < r->count; i++)
		if (stats_row(r, i)[index_field] == index)
			return stats_row(r, i);
	return NULL;
}

/* Rows by index.  One that text left out (a gap) is not in use in JSON. */
static void same_rows(const char *what, const struct stats_field *fields,
		      const struct stats_rows *text, const struct stats_rows *before,
		      const struct stats_rows *after, unsigned index_field, unsigned used_field)
{
	assert_true(text->count > 0);
	for (size_t i = 0; i < before->count; i++) {
		const uint64_t *b = stats_row(before, i), *t, *a;

		t = row_of(text, index_field, b[index_field]);
		a = row_of(after, index_field, b[index_field]);
		assert_non_null(a);
		if (t)
			same(what, fields, t, b, a);
		else
			assert_int_equal(b[used_field], 0);
	}
}

static void same_arena(const struct stats_arena *t, const struct stats_arena *b,
		       const struct stats_arena *a)
{
	same("arena", stats_arena_fields, t->value, b->value, a->value);
	same("huge pages", stats_hpa_fields, t->hpa, b->hpa, a->hpa);
	same_rows("bin", stats_bin_fields, &t->bins, &b->bins, &a->bins, STATS_BIN_INDEX,
		  STATS_BIN_CURREGS);
	same_rows("large", stats_large_fields, &t->large, &b->large, &a->large, STATS_LARGE_INDEX,
		  STATS_LARGE_COUNT);
	same_rows("extent", stats_extent_fields, &t->extents, &b->extents, &a->extents,
		  STATS_EXTENT_INDEX, STATS_EXTENT_NRETAINED);
	same_mutexes(&t->mutexes, &b->mutexes, &a->mutexes);
}

static void same_stats(const struct stats *t, const struct stats *b, const struct stats *a)
{
	assert_string_equal(t->version, b->version);
	same("stats", stats_total_fields, t->total, b->total, a->total);
	same("arenas", stats_shape_fields, t->shape, b->shape, a->shape);
	assert_int_equal(t->arena_count, b->arena_count);
	for (size_t i = 0; i < b->arena_count; i++) {
		assert_non_null(stats_arena(t, b->arenas[i].id));
		same_arena(stats_arena(t, b->arenas[i].id), &b->arenas[i],
			   stats_arena(a, b->arenas[i].id));
	}
	same_mutexes(&t->mutexes, &b->mutexes, &a->mutexes);
	for (size_t i = 0; i < b->setting_count; i++) {
		const char *value = stats_setting(t, b->words.data + b->settings[i].name);

		assert_non_null(value);
		assert_string_equal(value, b->words.data + b->settings[i].value);
		shared_fields++;
		equal_fields++;
	}
}

static void test_text_is_json(void **state)
{
	struct story text, json;

	load(&text, DATA "pair_53.txt");
	load(&json, DATA "pair_53.json");
	assert_int_equal(json.count, 2);
	assert_false(text.at[0].stats.json);
	assert_true(json.at[0].stats.json);
	shared_fields = equal_fields = 0;
	same_stats(&text.at[0].stats, &json.at[0].stats, &json.at[1].stats);
	print_message("# %u shared fields, %u of them the same in all\n", shared_fields,
		      equal_fields);
	assert_true(shared_fields > 1000 && equal_fields > shared_fields * 9 / 10);
	unload(&text);
	unload(&json);
}

/* Two runs of one program: what it asked for is the same. */
static void test_series(void **state)
{
	static const unsigned fields[] = { STATS_ARENA_TOTAL_ALLOCATED, STATS_ARENA_ACTIVE,
					   STATS_ARENA_TOTAL_NMALLOC, STATS_ARENA_LARGE_NDALLOC };
	struct story text, json;

	load(&text, DATA "series_53.txt");
	load(&json, DATA "series_53.json");
	assert_int_equal(text.count, json.count);
	for (unsigned i = 0; i < text.count; i++)
		for (unsigned f = 0; f < 4; f++)
			assert_int_equal(stats_whole(&text.at[i].stats)->value[fields[f]],
					 stats_whole(&json.at[i].stats)->value[fields[f]]);
	unload(&text);
	unload(&json);
}

/* What follows from the bins and large classes is what jemalloc says as a sum. */
static uint64_t fragmentation(const struct stats *s, const struct stats_arena *a)
{
	uint64_t small = 0, large = 0, free_bytes = 0, count = 0;

	for (size_t i = 0; i < a->bins.count; i++) {
		const uint64_t *b = stats_row(&a->bins, i);

		small += b[STATS_BIN_ALLOCATED];
		free_bytes += (b[STATS_BIN_NREGS] * b[STATS_BIN_CURSLABS] - b[STATS_BIN_CURREGS]) *
			      b[STATS_BIN_SIZE];
	}
	for (size_t i = 0; i < a->large.count; i++) {
		large += stats_row(&a->large, i)[STATS_LARGE_ALLOCATED];
		count += stats_row(&a->large, i)[STATS_LARGE_COUNT];
	}
	assert_int_equal(small, a->value[STATS_ARENA_SMALL_ALLOCATED]);
	assert_int_equal(large, a->value[STATS_ARENA_LARGE_ALLOCATED]);
	return free_bytes + count * s->shape[STATS_SHAPE_PAGE];
}

static void test_identities(void **state)
{
	static const char *const files[] = { DATA "json_full.json", DATA "text_full.txt" };
	struct snapshots r;

	for (unsigned i = 0; i < 2; i++) {
		const struct stats_arena *a;

		first(&r, files[i]);
		a = stats_whole(&r.stats);
		assert_int_equal(a->id, STATS_MERGED);
		assert_int_equal(fragmentation(&r.stats, a), 7138176);
		assert_int_equal(a->value[STATS_ARENA_ACTIVE] -
					 a->value[STATS_ARENA_TOTAL_ALLOCATED],
				 7138176);
		assert_int_equal(a->value[STATS_ARENA_SMALL_ALLOCATED], 13182080);
		assert_int_equal(a->value[STATS_ARENA_ACTIVE], r.stats.total[STATS_TOTAL_ACTIVE]);
		snapshots_close(&r);
	}
	assert_int_equal(stats_extent_size(4096, 0), 4096);
	assert_int_equal(stats_extent_size(4096, 4), 20480);
	assert_int_equal(stats_extent_size(4096, 10), 57344);
	assert_int_equal(stats_extent_size(4096, 31), 2097152);
	assert_int_equal(stats_extent_size(4096, 36), 5242880);
}

/* The steps add up to the byte, and none is unexplained. */
static void check_waterfall(const char *path, int64_t slabs, int64_t padding)
{
	struct waterfall w = { 0 };
	struct snapshots r;
	uint64_t at;

	first(&r, path);
	waterfall_make(&w, &r.stats, stats_merge(&r.stats));
	assert_int_equal(w.step[WATERFALL_SLABS], slabs);
	assert_int_equal(w.step[WATERFALL_PADDING], padding);
	assert_int_equal(w.step[WATERFALL_UNKNOWN], 0);
	assert_true(w.attributed);
	at = w.resident;
	for (unsigned i = 0; i < WATERFALL_SLABS; i++) {
		assert_true(w.step[i] >= 0);
		at -= (uint64_t)w.step[i];
	}
	assert_int_equal(at, w.active);
	for (unsigned i = WATERFALL_SLABS; i < WATERFALL_TCACHE; i++)
		at -= (uint64_t)w.step[i];
	assert_int_equal(at, w.allocated);
	for (unsigned i = WATERFALL_TCACHE; i < WATERFALL_STEP_COUNT; i++)
		at -= (uint64_t)w.step[i];
	assert_int_equal(at, w.program);
	at = 0;
	for (size_t i = 0; i < w.bin_count; i++) {
		at += (uint64_t)w.bins[i].bytes;
		assert_true(!i || w.bins[i].bytes <= w.bins[i - 1].bytes);
	}
	assert_int_equal(at, slabs);
	waterfall_release(&w);
	snapshots_close(&r);
}

static void test_waterfall(void **state)
{
	check_waterfall(DATA "json_full.json", 6994816, 35 * 4096);
	check_waterfall(DATA "text_full.txt", 6994816, 35 * 4096);
}

/* The sum that is made is the sum that is printed. */
static void test_merge(void **state)
{
	static const char *const files[] = { DATA "json_full.json", DATA "text_full.txt" };

	for (unsigned f = 0; f < 2; f++) {
		const struct stats_arena *printed, *made;
		struct snapshots r, without;

		first(&r, files[f]);
		first(&without, files[f]);
		printed = stats_merge(&r.stats);
		assert_false(r.stats.merged_made);
		for (size_t i = 0; i < without.stats.arena_count; i++)
			if (without.stats.arenas[i].id == STATS_MERGED)
				without.stats.arenas[i].id = STATS_DESTROYED;
		made = stats_merge(&without.stats);
		assert_true(without.stats.merged_made);
		assert_int_equal(made->id, STATS_MERGED);
		for (unsigned i = STATS_ARENA_PACTIVE; i < STATS_ARENA_COUNT; i++)
			assert_int_equal(made->value[i], printed->value[i]);
		for (size_t i = 0; i < 36; i++)
			for (unsigned k = STATS_BIN_SIZE;
			     row_of(&printed->bins, STATS_BIN_INDEX, i) && k <= STATS_BIN_NREQUESTS;
			     k++)
				assert_int_equal(row_of(&made->bins, STATS_BIN_INDEX, i)[k],
						 row_of(&printed->bins, STATS_BIN_INDEX, i)[k]);
		snapshots_close(&r);
		snapshots_close(&without);
	}
}

static void check_time(const char *text, int64_t seconds, int64_t ns)
{
	char room[40];
	int64_t time = when_last(text, strlen(text));

	assert_int_equal(time, seconds * 1000000000 + ns);
	assert_int_equal(when_last(when_text(time, room), strlen(when_text(time, room))),
			 time / 1000 * 1000);
}

static void test_times(void **state)
{
	check_time("2026-11-15T20:25:01.123456Z memoir\n", 1794774301, 123456000);
	check_time("x 2026-11-15 20:25:01,5 INFO more 12:00", 1794774301, 500000000);
	check_time("[2026-11-15T21:25:01+0100] y\n", 1794774301, 0);
	check_time("Nov 15 2026 20:25:01 GMT: INFO (info)", 1794774301, 0);
	check_time("2020-01-01 00:00:00 and 1970-01-01T00:00:01Z", 1, 0);
	assert_int_equal(when_last("2026-13-15T20:25:01Z", 20), WHEN_NONE);
	assert_int_equal(when_last("12026-11-15T20:25:01", 20), WHEN_NONE);
	assert_int_equal(when_last("", 0), WHEN_NONE);
}

static const struct stats_mutex *mutex_of(const struct stats_mutexes *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].name, name))
			return &m->list[i];
	fail_msg("no mutex %s", name);
	return NULL;
}

#define MUTEX(version)                                                                             \
	"{\"jemalloc\":{\"version\":\"" version "\",\"stats\":{\"allocated\":1,\"mutexes\":{"      \
	"\"ctl\":{\"num_ops\":100,\"num_wait\":50,\"num_spin_acq\":7,\"num_owner_switch\":3,"      \
	"\"total_wait_time\":9,\"max_wait_time\":4,\"max_num_thds\":2}}}}}"

static void check_mutex(const char *text, uint64_t wait, uint64_t spin, uint64_t owner, bool lost)
{
	struct err err = { .text = "" };
	const struct stats_mutex *m;
	struct snapshots r;

	snapshots_memory(&r, text, strlen(text));
	assert_int_equal(snapshots_next(&r, &err), 1);
	m = mutex_of(&r.stats.mutexes, "ctl");
	assert_int_equal(m->value[STATS_MUTEX_OPS], 100);
	assert_int_equal(m->value[STATS_MUTEX_WAIT], wait);
	assert_int_equal(m->value[STATS_MUTEX_SPIN_ACQ], spin);
	assert_int_equal(m->value[STATS_MUTEX_OWNER_SWITCH], owner);
	assert_int_equal(m->value[STATS_MUTEX_MAX_THREADS], 2);
	assert_int_equal(r.stats.mutexes_lost, lost);
	snapshots_close(&r);
}

static void test_mutexes(void **state)
{
	struct snapshots r;

	check_mutex(MUTEX("5.1.0-0-g1"), 50, 7, 3, false);
	check_mutex(MUTEX("5.1.0-899-g1"), STATS_NONE, STATS_NONE, STATS_NONE, true);
	check_mutex(MUTEX("5.2.0-0-g1"), 7, 9, STATS_NONE, true);
	check_mutex(MUTEX("5.2.1-0-g1"), 7, 9, STATS_NONE, true);
	check_mutex(MUTEX("5.3.0-0-g1"), 7, 9, STATS_NONE, true);
	check_mutex(MUTEX("5.3.1-0-g1"), 50, 7, 3, false);
	first(&r, DATA "text_full.txt");
	assert_int_equal(mutex_of(&stats_whole(&r.stats)->mutexes, "extents_dirty")
				 ->value[STATS_MUTEX_OWNER_SWITCH],
			 14);
	assert_int_equal(mutex_of(&r.stats.mutexes, "background_thread")->value[STATS_MUTEX_OPS],
			 8);
	assert_int_equal(r.stats.mutexes.count, 9);
	snapshots_close(&r);
}

static void test_old_text(void **state)
{
	static const char path[] = TEST_DATA "/../../fuzz/corpus/jemalloc_text/old_45";
	char text[4096];
	FILE *file = fopen(path, "r");
	const struct stats_arena *a;
	struct stats s;

	assert_non_null(file);
	stats_init(&s);
	stats_read_text(&s, text, fread(text, 1, sizeof(text), file));
	fclose(file);
	assert_int_equal(s.release, 40500);
	assert_int_equal(s.total[STATS_TOTAL_RETAINED], 60);
	assert_int_equal(s.total[STATS_TOTAL_CEILING], 70);
	a = stats_whole(&s);
	assert_int_equal(a->value[STATS_ARENA_PDIRTY], 7);
	assert_int_equal(a->value[STATS_ARENA_DIRTY_PURGED], 10);
	assert_int_equal(a->value[STATS_ARENA_HUGE_ALLOCATED], 2097152);
	assert_int_equal(a->value[STATS_ARENA_TOTAL_ALLOCATED], 2113600);
	assert_int_equal(a->value[STATS_ARENA_METADATA_MAPPED], 155648);
	assert_int_equal(a->value[STATS_ARENA_METADATA_ALLOCATED], 17024);
	assert_int_equal(a->bins.count, 1);
	assert_int_equal(stats_row(&a->bins, 0)[STATS_BIN_NREGS], 128);
	assert_int_equal(stats_row(&a->bins, 0)[STATS_BIN_NSLABS], 3);
	assert_int_equal(a->large.count, 2); /* huge ones are large */
	assert_int_equal(stats_row(&a->large, 1)[STATS_LARGE_COUNT], 1);
	stats_release(&s);
}

/* Numbers that fill their column. */
static void test_no_blank(void **state)
{
	static const char text[] =
		"arenas[0]:\n"
		"decaying:  time       npages       sweeps     madvises       purged\n"
		"   dirty:600000          116            1            2            3\n"
		"   muzzy:   N/A            4            0            0            0\n";
	struct stats s;

	stats_init(&s);
	stats_read_text(&s, text, strlen(text));
	assert_int_equal(s.arenas[0].value[STATS_ARENA_DIRTY_DECAY_MS], 600000);
	assert_int_equal(s.arenas[0].value[STATS_ARENA_PDIRTY], 116);
	assert_int_equal(s.arenas[0].value[STATS_ARENA_DIRTY_PURGED], 3);
	assert_int_equal(s.arenas[0].value[STATS_ARENA_MUZZY_DECAY_MS], STATS_NONE);
	assert_int_equal(s.arenas[0].value[STATS_ARENA_PMUZZY], 4);
	stats_release(&s);
}

static void test_statistics_of_3_6(void **state)
{
	struct snapshots r;

	first(&r, DATA "synthetic_36.log");
	assert_int_equal(r.stats.release, 30600);
	assert_int_equal(r.stats.arena_count, 3);
	assert_int_equal(stats_arena(&r.stats, 1)->value[STATS_ARENA_TOTAL_ALLOCATED], 943718400);
	assert_int_equal(stats_arena(&r.stats, 1)->value[STATS_ARENA_MAPPED], 1258291200);
	assert_int_equal(stats_arena(&r.stats, 0)->value[STATS_ARENA_PDIRTY], 10);
	snapshots_close(&r);
}

static void test_json_of_4(void **state)
{
	static const char path[] = TEST_DATA "/../../fuzz/corpus/jemalloc_json/old";
	const struct stats_arena *a;
	struct snapshots r;

	first(&r, path);
	a = stats_whole(&r.stats);
	assert_int_equal(a->large.count, 2);
	assert_int_equal(stats_row(&a->large, 0)[STATS_LARGE_ALLOCATED], 16384);
	assert_int_equal(stats_row(&a->large, 1)[STATS_LARGE_ALLOCATED], 2097152);
	assert_int_equal(stats_row(&a->bins, 0)[STATS_BIN_CURSLABS], 1);
	assert_int_equal(stats_row(&a->bins, 0)[STATS_BIN_NRESLABS], 4);
	assert_int_equal(a->value[STATS_ARENA_DIRTY_PURGED], 3);
	snapshots_close(&r);
}

/* 1 for each document, 'x' for each that is broken. */
static void outcome(const char *text, const char *expected, const char *why)
{
	struct err err = { .text = "" };
	char seen[16];
	struct snapshots r;
	unsigned n = 0;
	int e;

	snapshots_memory(&r, text, strlen(text));
	while ((e = snapshots_next(&r, &err)) && n < sizeof(seen) - 1)
		seen[n++] = e == 1 ? '1' : 'x';
	seen[n] = 0;
	assert_string_equal(seen, expected);
	if (why)
		assert_non_null(strstr(err.text, why));
	snapshots_close(&r);
}

#define GOOD "{\"jemalloc\":{\"stats\":{\"allocated\":1}}}"
#define TEXT "___ Begin jemalloc statistics ___\nAllocated: 1, active: 2\n"
#define DONE "--- End jemalloc statistics ---\n"

static void test_framing(void **state)
{
	outcome("", "", NULL);
	outcome("{}", "", NULL);
	outcome("{\"jemalloc\":{}}", "x", "\"stats\" is missing");
	outcome(GOOD GOOD "\n" GOOD, "111", NULL);
	outcome("a line of jemalloc {\n" GOOD "more \"jemalloc\" " GOOD, "11", NULL);
	outcome(GOOD "{\"jemalloc\":{\"stats\":{\"alloc", "1x", "cut off");
	outcome("{\"jemalloc\":{\"stats\":{\"allocated\" log line\n" GOOD, "x1", "colon");
	outcome(TEXT DONE "noise\n" TEXT DONE GOOD, "111", NULL);
	outcome(TEXT TEXT DONE, "x1", "cut off");
	outcome(TEXT "noise in between: 7\n" DONE TEXT, "1x", "cut off");
}

/* Through a pipe and over the edge of the window, with documents of any position in it. */
static void test_stream(void **state)
{
	struct err err = { .text = "" };
	struct snapshots r;
	uint64_t sum = 0;
	FILE *file = tmpfile();
	char path[64];
	int n;

	for (unsigned i = 0; i < 120000; i++)
		fprintf(file, "%u noise\n{\n\t\"jemalloc\": {\"stats\": {\"allocated\": %u}}}%s", i,
			i, i % 3 ? "\n" : "");
	fflush(file);
	rewind(file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	assert_int_equal(snapshots_open(&r, path, &err), 0);
	while ((n = snapshots_next(&r, &err)) == 1)
		sum += r.stats.total[STATS_TOTAL_ALLOCATED];
	assert_int_equal(n, 0);
	assert_int_equal(r.documents, 120000);
	assert_int_equal(sum, 120000ull * 119999 / 2);
	assert_true(r.offset > 0); /* the window was moved */
	snapshots_close(&r);
	fclose(file);
}

static void test_duplicates(void **state)
{
	struct snapshots r;

	first(&r, DATA "json_full.json");
	assert_true(r.stats.duplicates >= 2);
	assert_string_equal(stats_setting(&r.stats, "opt.narenas"), "8");
	snapshots_close(&r);
}

UNIT(jemalloc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iterations),
		cmocka_unit_test(test_text_is_json),
		cmocka_unit_test(test_identities),
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_mutexes),
		cmocka_unit_test(test_old_text),
		cmocka_unit_test(test_statistics_of_3_6),
		cmocka_unit_test(test_json_of_4),
		cmocka_unit_test(test_framing),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_waterfall),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_no_blank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
