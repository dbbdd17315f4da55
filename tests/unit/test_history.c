/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A file of statistics as the page has it: bounded, with its last snapshot, and with what is wrong.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "jemalloc/history.h"

/* Snapshots with so many bytes allocated each. */
static void put(struct buf *b, uint64_t allocated, unsigned padding)
{
	buf_printf(
		b,
		"{\"jemalloc\":{\"version\":\"5.3.0\",\"opt\":{\"name\":\"%*s\"},"
		"\"arenas\":{\"narenas\":1,\"page\":4096,\"nbins\":2,"
		"\"bin\":[{\"size\":8,\"nregs\":512},{\"size\":16,\"nregs\":256}]},"
		"\"stats\":{\"allocated\":%llu,\"active\":%llu,\"resident\":900000},"
		"\"stats.arenas\":{\"0\":{\"pactive\":10,\"bins\":[{\"curregs\":1,\"curslabs\":1},"
		"{\"curregs\":0,\"curslabs\":0}]}}}}\n",
		padding, "", (unsigned long long)allocated, (unsigned long long)allocated);
}

static int read_all(struct history *h, const struct buf *text, size_t most, size_t bytes,
		    struct err *err)
{
	struct snapshots r;
	int error;

	history_init(h, "a.json", most, bytes);
	snapshots_memory(&r, text->data, text->size);
	error = history_read(h, &r, NULL, NULL, err);
	snapshots_close(&r);
	return error;
}

static void expect_whole(const struct history *h, uint64_t count)
{
	char told[64];

	assert_int_equal(h->snapshots, count);
	assert_int_equal(h->documents[0].number, 0);
	assert_int_equal(h->documents[h->document_count - 1].number, count - 1);
	assert_int_equal(h->points[0].number, 0);
	assert_int_equal(h->points[h->point_count - 1].number, count - 1);
	for (size_t i = 0; i < h->document_count; i++) {
		assert_true(!i || h->documents[i].number > h->documents[i - 1].number);
		snprintf(told, sizeof(told), "\"allocated\":%llu,",
			 (unsigned long long)(1000 + h->documents[i].number));
		assert_non_null(strstr(h->documents[i].json, told));
		assert_ptr_equal(history_document(h, h->documents[i].number), &h->documents[i]);
	}
	for (size_t i = 0; i < h->point_count; i++)
		assert_int_equal(h->points[i].value[HISTORY_ALLOCATED], 1000 + h->points[i].number);
	assert_null(history_document(h, count));
}

static void test_bounded(void **state)
{
	static const unsigned counts[] = { 1, 2, 3, 4, 5, 16, 17, 64, 100, 9000 };
	struct err err;
	struct history h;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct buf text = { 0 };

		for (unsigned k = 0; k < counts[i]; k++)
			put(&text, 1000 + k, 1);
		assert_int_equal(read_all(&h, &text, 16, 1 << 20, &err), 0);
		expect_whole(&h, counts[i]);
		assert_in_range(h.document_count, counts[i] < 8 ? counts[i] : 8, 17);
		assert_in_range(h.point_count, counts[i] < 2048 ? counts[i] : 2048,
				HISTORY_POINTS + 1);
		assert_int_equal(h.problem_count, 0);
		history_release(&h);
		/* By bytes: two and the last one always stay. */
		assert_int_equal(read_all(&h, &text, 1000, 1, &err), 0);
		expect_whole(&h, counts[i]);
		assert_in_range(h.document_count, counts[i] < 2 ? counts[i] : 2, 3);
		history_release(&h);
		buf_release(&text);
	}
}

static void test_json(void **state)
{
	struct buf text = { 0 }, out = { 0 };
	struct history h;
	struct err err;
	struct json j = { .out = &out, .compact = true };

	put(&text, 1000, 1);
	put(&text, 1001, 1);
	assert_int_equal(read_all(&h, &text, 16, 1 << 20, &err), 0);
	assert_string_equal(h.version, "5.3.0");
	/* The idle bin has no row. */
	assert_non_null(strstr(h.documents[0].json, "\"size\":8,"));
	assert_null(strstr(h.documents[0].json, "\"size\":16,"));
	json_object(&j, NULL);
	history_write(&j, &h, false);
	json_end_object(&j);
	assert_non_null(strstr(out.data, "\"name\":\"a.json\",\"snapshots\":2,\"kept\":[0,1],"
					 "\"problems\":[],\"series\":{\"snapshot\":[0,1],"
					 "\"time\":[null,null],\"allocated\":[1000,1001],"));
	assert_non_null(strstr(out.data, "\"growth\":{"));
	assert_null(strstr(out.data, "\"documents\""));
	buf_clear(&out);
	j.filled = false;
	json_object(&j, NULL);
	history_write(&j, &h, true);
	json_end_object(&j);
	assert_non_null(strstr(out.data, "\"documents\":[{\"file\":\"a.json\",\"offset\":0,"));
	history_release(&h);
	buf_release(&text);
	buf_release(&out);
}

static void test_problems(void **state)
{
	struct buf text = { 0 }, out = { 0 };
	struct history h;
	struct err err;
	struct json j = { .out = &out };

	/* Broken ones between good ones: some are told, all are counted. */
	for (unsigned i = 0; i < 30; i++) {
		buf_text(&text, "{\"jemalloc\":{\"stats\":nonsense}}\n");
		put(&text, 1000 + i, 1);
	}
	assert_int_equal(read_all(&h, &text, 100, 1 << 20, &err), 0);
	expect_whole(&h, 30);
	assert_int_equal(h.problem_count, 30);
	history_write(&j, &h, false);
	assert_non_null(strstr(out.data, "and 10 more like these"));
	history_release(&h);
	/* Nothing but broken ones, nothing at all. */
	buf_clear(&text);
	buf_text(&text, "{\"jemalloc\":{\"stats\":nonsense}}\n");
	assert_int_equal(read_all(&h, &text, 100, 1 << 20, &err), -EBADMSG);
	assert_int_not_equal(err.offset, ERR_NO_OFFSET);
	history_release(&h);
	buf_clear(&text);
	assert_int_equal(read_all(&h, &text, 100, 1 << 20, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "it is empty"));
	history_release(&h);
	/* Without arenas: said once. */
	for (unsigned i = 0; i < 3; i++)
		buf_text(&text,
			 "{\"jemalloc\":{\"arenas\":{\"page\":4096},\"stats\":{\"allocated\":"
			 "1}}}\n");
	assert_int_equal(read_all(&h, &text, 100, 1 << 20, &err), 0);
	assert_int_equal(h.problem_count, 1);
	assert_non_null(strstr(h.problems.data, "no arenas"));
	history_release(&h);
	buf_release(&text);
	buf_release(&out);
}

static bool stop(void *context, uint64_t at)
{
	return ++*(unsigned *)context < 3;
}

static void test_stopped(void **state)
{
	struct buf text = { 0 };
	struct snapshots r;
	struct history h;
	struct err err;
	unsigned calls = 0;

	for (unsigned i = 0; i < 10; i++)
		put(&text, 1000 + i, 1);
	history_init(&h, "a", 10, 1 << 20);
	snapshots_memory(&r, text.data, text.size);
	assert_int_equal(history_read(&h, &r, stop, &calls, &err), -ECANCELED);
	assert_int_equal(calls, 3);
	snapshots_close(&r);
	history_release(&h);
	buf_release(&text);
}

UNIT(history)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
