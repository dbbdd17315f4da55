/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Values and expressions: what is read, what is refused, and where. */
#include "base/buf_type.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter.h"

static uint64_t read_as(enum filter_arg type, const char *text)
{
	struct err err = { .text = "" };
	struct value v;
	uint64_t number;

	if (value_parse(&v, type, text, &err))
		fail_msg("%s: %s", text, err.text);
	number = v.number;
	value_release(&v);
	return number;
}

static void refuse_as(enum filter_arg type, const char *text)
{
	struct err err = { .text = "" };
	struct value v;

	if (!value_parse(&v, type, text, &err))
		fail_msg("'%s' was taken", text);
	assert_true(strlen(err.text) > 10);
}

static void sizes(void **context)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "512B", 512 },
		{ "1k", 1000 },
		{ "1K", 1000 },
		{ "1kB", 1000 },
		{ "1.5k", 1500 },
		{ "2M", 2000000 },
		{ "2m", 2000000 },
		{ "3G", 3000000000 },
		{ "1T", 1000000000000 },
		{ "4Ki", 4096 },
		{ "4KiB", 4096 },
		{ "4 KiB", 4096 },
		{ "0.5Mi", 524288 },
		{ "1Gi", 1ull << 30 },
		{ "2TiB", 2ull << 40 },
		{ " 7 ", 7 },
	};
	static const char *const bad[] = { "",
					   "k",
					   "1x",
					   "-1",
					   "1.5",
					   "0.1",
					   "1k2",
					   "1 2",
					   "1e3",
					   "0x10",
					   "1..5k",
					   "99999999999999999999",
					   "9000000000T",
					   "1kk",
					   "%",
					   "1%" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(read_as(ARG_SIZE, good[i].text), good[i].bytes);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuse_as(ARG_SIZE, bad[i]);
}

static void durations(void **context)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "5", 5000000000 },
		{ "1.5", 1500000000 },
		{ "10ms", 10000000 },
		{ "10MS", 10000000 },
		{ "250us", 250000 },
		{ "250\xc2\xb5s", 250000 },
		{ "80ns", 80 },
		{ "0.5us", 500 },
		{ "1h", 3600000000000 },
		{ "2m", 120000000000 },
		{ "2min", 120000000000 },
		{ "3d", 259200000000000 },
		{ "1h30m", 5400000000000 },
		{ "1 h 30 min 5 s", 5405000000000 },
		{ "1.5s500us", 1500500000 },
	};
	static const char *const bad[] = { "",	    "s",     "10 parsecs", "1h30", "-1s",
					   "0.5ns", "1s,2s", "300000000d", "5%" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(read_as(ARG_DURATION, good[i].text), good[i].ns);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuse_as(ARG_DURATION, bad[i]);
	assert_int_equal(read_as(ARG_DURATION_OR_PERCENT, "12.5%"), 12500000);
	refuse_as(ARG_DURATION_OR_PERCENT, "12.5 percent");
}

static void moment(const char *text, enum value_kind kind, uint64_t number, uint64_t width)
{
	struct err err = { .text = "" };
	struct value v;

	if (value_parse(&v, ARG_TIME, text, &err))
		fail_msg("%s: %s", text, err.text);
	if (v.kind != kind || v.number != number || v.width != width)
		fail_msg("%s: %d, %llu, %llu", text, v.kind, (unsigned long long)v.number,
			 (unsigned long long)v.width);
	value_release(&v);
}

static void times(void **context)
{
	static const char *const bad[] = { "",
					   "yesterday",
					   "2026-13-01",
					   "2026-02-03T25:00",
					   "2026-02-03T10:00:00Q",
					   "2026-02-03T10:00:00+99:00",
					   "-5s",
					   "1600-01-01" };
	const uint64_t second = 1000000000;

	moment("1.5s", VALUE_NUMBER, 1500000000, 1);
	moment("5", VALUE_NUMBER, 5 * second, 1);
	moment("50%", VALUE_PERCENT, 50000000, 1);
	moment("0.001%", VALUE_PERCENT, 1000, 1);
	moment("100000000000", VALUE_UNIX, 100000000 * second, 1000000);
	moment("1760000000000", VALUE_UNIX, 1760000000 * second, 1000000);
	moment("1770127506123", VALUE_UNIX, 1770127506123000000, 1000000);
	moment("2026-02-03T14:05:06Z", VALUE_UNIX, 1770127506 * second, second);
	moment("2026-2-3 14:5:6Z", VALUE_UNIX, 1770127506 * second, second);
	moment("2026-02-03T14:05:06.123Z", VALUE_UNIX, 1770127506123000000, 1000000);
	moment("2026-02-03T16:05:06+02:00", VALUE_UNIX, 1770127506 * second, second);
	moment("2026-02-03T14:05Z", VALUE_UNIX, 1770127500 * second, 60 * second);
	moment("2026-02-03Z", VALUE_UNIX, 1770076800 * second, 86400 * second);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuse_as(ARG_TIME, bad[i]);
}

static void local_dates(void **context)
{
	setenv("TZ", "UTC-3", 1); /* three hours east */
	moment("2026-02-03T17:05:06", VALUE_UNIX, 1770127506000000000, 1000000000);
	unsetenv("TZ");
}

static void other_values(void **context)
{
	struct err err;
	struct value v;

	assert_int_equal(read_as(ARG_ADDRESS, "0x7f12a0"), 0x7f12a0);
	assert_int_equal(read_as(ARG_ADDRESS, "00007F12A0000010"), 0x7f12a0000010);
	assert_int_equal(read_as(ARG_ADDRESS, "7f12a0"), 0x7f12a0);
	assert_int_equal(read_as(ARG_ADDRESS, "1234"), 1234);
	refuse_as(ARG_ADDRESS, "0x");
	refuse_as(ARG_ADDRESS, "12z");
	refuse_as(ARG_ADDRESS, "");
	assert_int_equal(read_as(ARG_COUNT, "10k"), 10000);
	refuse_as(ARG_COUNT, "1.5");
	refuse_as(ARG_COUNT, "10%");
	assert_int_equal(read_as(ARG_COUNT_OR_PERCENT, "10%"), 10000000);
	assert_int_equal(read_as(ARG_YES_NO, "yes"), 1);
	assert_int_equal(read_as(ARG_YES_NO, "False"), 0);
	refuse_as(ARG_YES_NO, "maybe");
	assert_int_equal(value_parse(&v, ARG_IDS, "1, 2,3", &err), 0);
	assert_int_equal(v.id_count, 3);
	assert_int_equal(v.ids[2], 3);
	value_release(&v);
	refuse_as(ARG_IDS, "1,,2");
	refuse_as(ARG_IDS, "1,");
	refuse_as(ARG_IDS, "a");
}

/* Column (from 0) and a part of the message. */
static void refuse(const char *text, uint64_t column, const char *part)
{
	struct filter *f = filter_new();
	struct err err = { .text = "", .offset = 12345 };

	if (!filter_parse(f, text, &err))
		fail_msg("%s was taken", text);
	if (err.offset != column || !strstr(err.text, part))
		fail_msg("%s: %llu: %s", text, (unsigned long long)err.offset, err.text);
	assert_true(filter_is_empty(f));
	filter_free(f);
}

static void mistakes_are_shown(void **context)
{
	refuse("sizee > 5", 0, "did you mean 'size'");
	refuse("size > ", 7, "value is missing");
	refuse("size", 0, "needs a comparison");
	refuse("size 5", 0, "needs a comparison");
	refuse("size > 5 leaked", 9, "'and' or 'or' is missing");
	refuse("size > 5 and", 12, "condition is missing at the end");
	refuse("and size > 5", 0, "condition is missing here");
	refuse("(size > 5", 9, "')' is missing");
	refuse("size > 5)", 8, "closes nothing");
	refuse("size ~ 5", 5, "cannot be compared");
	refuse("function > x", 9, "cannot be compared");
	refuse("leaked > 3", 7, "cannot be compared");
	refuse("size > 10x", 7, "does not fit");
	refuse("lifetime > 1y", 11, "does not fit");
	refuse("function ~ \"abc", 11, "never closed");
	refuse("function ~ '(abc'", 11, "missing closing parenthesis");
	refuse("frame(size > 5)", 6, "nothing that a frame has");
	refuse("frame(function ~ a", 18, "')' is missing");
	refuse("frame(frame(function ~ a))", 6, "no frame()");
	refuse("alive_at(50%", 12, "')' is missing");
	refuse("alive_at", 0, "needs a comparison");
	refuse("size_min(10x)", 0, "does not fit");
	refuse("size_min > 5", 9, "= or parentheses");
	refuse("lifetime = only_leakedd", 11, "does not fit");
	refuse("size > 5 # comment", 9, "no meaning");
	refuse("xyzzy_plugh = 4", 0, "memoir help filters");
	refuse("leaked and leaked = perhaps", 20, "does not fit");
}

static void depth_is_limited(void **context)
{
	char text[5000] = "";
	struct filter *f = filter_new();
	struct err err;

	for (unsigned i = 0; i < 300; i++)
		strcat(text, "(");
	assert_int_not_equal(filter_parse(f, text, &err), 0);
	assert_string_equal(err.text, "nested too deeply");
	text[0] = 0;
	for (unsigned i = 0; i < 300; i++)
		strcat(text, "not ");
	assert_int_not_equal(filter_parse(f, text, &err), 0);
	strcpy(text, "leaked");
	for (unsigned i = 0; i < 400; i++)
		strcat(text, " or leaked");
	assert_int_equal(filter_parse(f, text, &err), 0);
	assert_int_not_equal(filter_parse(f, text, &err), 0);
	assert_string_equal(err.text, "that are too many conditions");
	filter_free(f);
}

static void printed(const char *text, const char *as)
{
	struct filter *f = filter_new();
	struct buf out = { 0 };
	struct err err;

	if (filter_parse(f, text, &err))
		fail_msg("%s: %s", text, err.text);
	filter_print(f, &out);
	assert_string_equal(out.data, as);
	buf_release(&out);
	filter_free(f);
}

static void printing(void **context)
{
	printed("", "");
	printed("size>=1k and not leaked", "size >= 1k and not leaked");
	printed("size >= 1 KiB", "size >= 1KiB");
	printed("leaked && (zeroed || !temporary)", "leaked and (zeroed or not temporary)");
	printed("function ~ \"a\\\"b\\.c\"", "function ~ \"a\\\"b\\\\.c\"");
	printed("function !~ x", "not function ~ \"x\"");
	printed("frame(function ~ x and source ~ y)",
		"frame((function ~ \"x\" and source ~ \"y\"))");
	printed("size_min(1k)", "size >= 1k");
	printed("size-min = 1k", "size >= 1k");
	printed("lifetime = only_leaked", "leaked");
	printed("alive_at(50%)", "alive_at(50%)");
	printed("backtrace = 1,2", "backtrace = 1, 2");
	printed("leaked = no", "not leaked");
	printed("leaked != no", "leaked");
	printed("size \xe2\x89\xa4 5 AND NOT leaked OR temporary",
		"((size <= 5 and not leaked) or temporary)");
}

static void adding_rows(void **context)
{
	struct filter *f = filter_new();
	struct buf out = { 0 };
	struct err err = { .text = "" };

	assert_true(filter_is_empty(f));
	assert_int_equal(filter_add(f, "lifetime", "all", &err), 0);
	assert_true(filter_is_empty(f));
	assert_int_equal(filter_add(f, "size_min", "1k", &err), 0);
	assert_int_equal(filter_add(f, "function-regex", "a", &err), 0);
	assert_int_equal(filter_add(f, "source_regex", "b", &err), 0);
	assert_int_equal(filter_add(f, "source_regex", "c", &err), 0);
	filter_print(f, &out);
	assert_string_equal(out.data, "size >= 1k and frame((function ~ \"a\" and source ~ \"b\")) "
				      "and source ~ \"c\"");
	assert_int_not_equal(filter_add(f, "size_min", "lots", &err), 0);
	assert_non_null(strstr(err.text, "lots"));
	assert_int_not_equal(filter_add(f, "lifetime", "some", &err), 0);
	assert_non_null(strstr(err.text, "only_leaked, only_not_leaked"));
	assert_int_not_equal(filter_add(f, "colour", "red", &err), 0);
	buf_release(&out);
	filter_free(f);
}

UNIT(filter)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(times),
		cmocka_unit_test(local_dates),
		cmocka_unit_test(other_values),
		cmocka_unit_test(mistakes_are_shown),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(printing),
		cmocka_unit_test(adding_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
