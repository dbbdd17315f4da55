/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of what is live: growth over many snapshots, files of records, addresses. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "client/http.h"
#include "jemalloc/fields.h"
#include "jemalloc/growth.h"
#include "jemalloc/journal.h"
#include "jemalloc/when.h"

/* A snapshot with one bin and one large class. */
static void make(struct stats *s, uint64_t small, uint64_t large, uint64_t age)
{
	struct stats_arena *a;
	uint64_t *row;

	stats_clear(s);
	a = stats_add_arena(s, 0);
	a->value[STATS_ARENA_UPTIME_NS] = age;
	a->value[STATS_ARENA_TOTAL_ALLOCATED] = small + large;
	row = stats_add_row(&a->bins);
	row[STATS_BIN_SIZE] = 64;
	row[STATS_BIN_ALLOCATED] = small;
	row = stats_add_row(&a->large);
	row[STATS_LARGE_SIZE] = 16384;
	row[STATS_LARGE_ALLOCATED] = large;
}

#define SECOND INT64_C(1000000000)

/* 1 MB a second for the bin, while the large class goes up and down. */
static void feed(struct growth *g, unsigned count, int64_t start, bool timed)
{
	struct stats s;

	stats_init(&s);
	for (unsigned i = 0; i < count; i++) {
		make(&s, i * UINT64_C(1000000), i % 2 ? 16384 * 100 : 16384 * 200,
		     i * (uint64_t)SECOND);
		growth_add(g, &s, stats_whole(&s), timed ? start + i * SECOND : WHEN_NONE);
	}
	stats_release(&s);
}

static void check(struct growth *g, enum growth_clock clock, size_t most, double span)
{
	size_t count;
	const struct growth_class **list = growth_rank(g, &count);

	assert_int_equal(g->clock, clock);
	assert_true(g->sample_count <= most && g->sample_count >= most / 2);
	assert_true(growth_span(g) >= span * 0.98 && growth_span(g) <= span);
	assert_true(count >= 1);
	assert_int_equal(list[0]->size, 64);
	assert_true(list[0]->suspect);
	assert_true(list[0]->slope > 999999 && list[0]->slope < 1000001 && list[0]->fit > 0.9999);
	for (size_t i = 1; i < count; i++)
		assert_false(list[i]->suspect);
	free(list);
	growth_release(g);
}

static void test_growth(void **state)
{
	struct growth g = { 0 };

	/* All of a long series, and the newest of a live one. */
	feed(&g, 20000, 1794774301 * SECOND, true);
	check(&g, GROWTH_WALL, GROWTH_SAMPLES, 19999);
	feed(&g, 20000, 0, false);
	check(&g, GROWTH_UPTIME, GROWTH_SAMPLES, 19999);
	g.moving = true;
	g.limit = 120;
	feed(&g, 1000, 1794774301 * SECOND, true);
	check(&g, GROWTH_WALL, 120, 119);
}

static void test_another_process(void **state)
{
	struct growth g = { 0 };

	feed(&g, 100, 1794774301 * SECOND, true);
	feed(&g, 70, 1794775301 * SECOND, true);
	assert_int_equal(g.restarts, 1);
	assert_int_equal(g.sample_count, 70);
	check(&g, GROWTH_WALL, 70, 69);
}

static void content(const char *path, const char *expected)
{
	char text[256] = "";
	FILE *file = fopen(path, "r");
	size_t n;

	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	assert_string_equal(text, expected);
}

static void test_journal(void **state)
{
	char folder[] = "/tmp/memoir-journal-XXXXXX", path[64], other[80];
	struct buf record = { 0 };
	struct err err = { .text = "" };
	struct journal j;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/j", folder);
	assert_int_equal(journal_open(&j, path, 10, 2, &err), 0);
	for (char c = 'a'; c < 'h'; c++) {
		buf_clear(&record);
		buf_printf(&record, "%c%c%c%c\n", c, c, c, c);
		assert_int_equal(journal_add(&j, &record, &err), 0);
	}
	assert_int_equal(journal_close(&j, &err), 0);
	content(path, "gggg\n");
	snprintf(other, sizeof(other), "%s.1", path);
	content(other, "eeee\nffff\n");
	unlink(other);
	snprintf(other, sizeof(other), "%s.2", path);
	content(other, "cccc\ndddd\n");
	unlink(other);
	snprintf(other, sizeof(other), "%s.3", path);
	assert_int_equal(access(other, F_OK), -1);
	/* One that is larger than a file may be has a file of its own. */
	assert_int_equal(journal_open(&j, path, 3, 0, &err), 0);
	assert_int_equal(journal_add(&j, &record, &err), 0);
	assert_int_equal(j.rotations, 1);
	assert_int_equal(journal_close(&j, &err), 0);
	content(path, "gggg\n");
	snprintf(other, sizeof(other), "%s.1", path);
	unlink(other);
	unlink(path);
	rmdir(folder);
	buf_release(&record);
}

/* Half a record is taken back. */
static void test_no_room(void **state)
{
	char path[] = "/tmp/memoir-journal-XXXXXX";
	struct rlimit before, small = { 100, 100 };
	struct buf record = { 0 };
	struct err err = { .text = "" };
	struct journal j;

	close(mkstemp(path));
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(journal_open(&j, path, 0, 0, &err), 0);
	buf_repeat(&record, 'x', 60);
	assert_int_equal(journal_add(&j, &record, &err), 0);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(journal_add(&j, &record, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_non_null(strstr(err.text, "cannot write"));
	assert_int_equal(journal_add(&j, &record, &err), 0);
	assert_int_equal(journal_close(&j, &err), 0);
	{
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, 120);
	}
	unlink(path);
	buf_release(&record);
}

static void address(const char *text, const char *origin, bool local, const char *target)
{
	struct http_address a;
	struct err err;

	assert_int_equal(http_parse_address(&a, text, &err), 0);
	assert_string_equal(a.origin, origin);
	assert_string_equal(a.socket, strncmp(origin, "unix:", 5) ? "" : origin + 5);
	assert_int_equal(a.local, local);
	assert_string_equal(a.target, target);
}

static void test_addresses(void **state)
{
	static const char *const bad[] = { "",
					   "localhost:80",
					   "http://",
					   "http://:80/",
					   "http://[::1/",
					   "http://h:x/",
					   "http://h:/",
					   "unix:relative",
					   "http://h/a b",
					   "http://h/a\nb",
					   "http://h/#a",
					   "http://h:123456789/",
					   "http://name:password@h/",
					   "http://name@h/",
					   "ftp://h/" };
	struct http_address a;
	struct err err;

	address("http://host", "http://host", false, "");
	address("https://host:443/x", "https://host:443", false, "/x");
	address("http://127.0.0.1:7000/stats?J", "http://127.0.0.1:7000", true, "/stats?J");
	address("http://127.1.2.3", "http://127.1.2.3", true, "");
	address("http://127.example.org/", "http://127.example.org", false, "/");
	address("http://[::1]:7000/x", "http://[::1]:7000", true, "/x");
	address("http://[fe80::1]", "http://[fe80::1]", false, "");
	address("http://0.0.0.0:1", "http://0.0.0.0:1", true, "");
	address("https://Localhost", "https://Localhost", true, "");
	address("http://localhost.example.org", "http://localhost.example.org", false, "");
	address("http://host?Jm", "http://host", false, "/?Jm");
	address("http://host/a:/b", "http://host", false, "/a:/b");
	address("unix:/run/agent", "unix:/run/agent", true, "");
	address("unix:/run/a:gent:/stats?J", "unix:/run/a:gent", true, "/stats?J");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(http_parse_address(&a, bad[i], &err), -EINVAL);
}

static void test_fields(void **state)
{
	struct fields_name f;
	struct err err;
	struct stats s;

	stats_init(&s);
	make(&s, 640, 16384, 1);
	s.total[STATS_TOTAL_RESIDENT] = 7;
	assert_int_equal(fields_parse(&f, "total,x", 5, &err), 0);
	assert_int_equal(fields_value(&f, &s, s.arenas), 640 + 16384);
	assert_true(f.bytes);
	assert_int_equal(fields_parse(&f, "bin.64.allocated", 16, &err), 0);
	assert_int_equal(fields_value(&f, &s, s.arenas), 640);
	assert_int_equal(fields_parse(&f, "bin.80.curregs", 14, &err), 0);
	assert_int_equal(fields_value(&f, &s, s.arenas), 0);
	assert_false(f.bytes);
	assert_int_equal(fields_parse(&f, "large.16384.allocated", 21, &err), 0);
	assert_int_equal(fields_value(&f, &s, s.arenas), 16384);
	assert_int_equal(fields_parse(&f, "stats.resident", 14, &err), 0);
	assert_int_equal(fields_value(&f, &s, s.arenas), 7);
	assert_int_equal(fields_parse(&f, "bin.x.curregs", 13, &err), -EINVAL);
	assert_int_equal(fields_parse(&f, "stats.", 6, &err), -EINVAL);
	assert_int_equal(fields_parse(&f, "", 0, &err), -EINVAL);
	stats_release(&s);
}

UNIT(jemalloc_live)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),	  cmocka_unit_test(test_another_process),
		cmocka_unit_test(test_journal),	  cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
