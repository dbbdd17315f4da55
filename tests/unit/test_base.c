/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* base/: numbers for people, JSON, text for terminals, the map. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/err.h"
#include "base/harmless.h"
#include "base/human.h"
#include "base/json.h"
#include "base/json_quick.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/read_file.h"
#include "base/strings.h"
#include "base/xalloc.h"
#include "wire/wide.h"

static void numbers_for_people(void **context)
{
	struct human h;

	assert_string_equal(human_count(&h, 0), "0");
	assert_string_equal(human_count(&h, 999), "999");
	assert_string_equal(human_count(&h, 1234567), "1,234,567");
	assert_string_equal(human_count(&h, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(human_size(&h, 0), "0 B");
	assert_string_equal(human_size(&h, 1023), "1023 B");
	assert_string_equal(human_size(&h, 1024), "1.00 KiB");
	assert_string_equal(human_size(&h, 10239), "10.0 KiB");
	assert_string_equal(human_size(&h, 1024 * 1024 - 1), "1.00 MiB");
	assert_string_equal(human_size(&h, UINT64_MAX), "16.0 EiB");
	assert_string_equal(human_duration(&h, 999), "999 ns");
	assert_string_equal(human_duration(&h, 1500000), "1.50 ms");
	assert_string_equal(human_duration(&h, 12300000000), "12.3 s");
	assert_string_equal(human_duration(&h, 125000000000), "2 min 05 s");
	assert_string_equal(human_duration(&h, 7500000000000), "2 h 05 min");
	assert_string_equal(human_share(&h, 1, 3), "33.3 %");
	assert_string_equal(human_share(&h, 1, 100000), "<0.1 %");
	assert_string_equal(human_share(&h, 0, 0), "0.0 %");
}

static void json_is_valid(void **context)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	json_object(&j, NULL);
	json_text(&j, "text", "a\"b\\c\n\x01\xff\xc3\xa9\xed\xa0\x80");
	json_array(&j, "empty");
	json_end_array(&j);
	json_array(&j, "list");
	json_number(&j, NULL, UINT64_MAX);
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_real(&j, NULL, 0.5, 2);
	json_end_array(&j);
	json_end_object(&j);
	assert_string_equal(out.data,
			    "{\n  \"text\": \"a\\\"b\\\\c\\n\\u0001\xef\xbf\xbd\xc3\xa9"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\n  \"empty\": [],\n"
			    "  \"list\": [\n    18446744073709551615,\n    true,\n    null,\n"
			    "    0.50\n  ]\n}\n");
	buf_release(&out);
}

static void numbers_are_written(void **context)
{
	static const double reals[] = { 0,	 1,	     0.5, 0.25, 1.0 / 3,
					2.0 / 3, 999999.999, 1e7, -2.5, 0.0004 };
	struct buf out = { 0 }, due = { 0 };
	struct json j = { .out = &out, .compact = true };

	for (unsigned shift = 0; shift < 64; shift++) {
		uint64_t value = UINT64_MAX >> shift;

		buf_decimal(&out, value);
		buf_char(&out, ' ');
		buf_hexadecimal(&out, value - 1);
		buf_printf(&due, "%llu %llx", (unsigned long long)value,
			   (unsigned long long)value - 1);
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		for (unsigned digits = 0; digits < 12; digits += 3) {
			if (digits == 0 && reals[i] == 0.5)
				continue; /* printf takes the even one */
			j.filled = false;
			json_real(&j, NULL, reals[i], digits);
			buf_printf(&due, "%.*f", (int)digits, reals[i]);
		}
	assert_string_equal(out.data, due.data);
	buf_clear(&out);
	j = (struct json){ .out = &out, .compact = true };
	json_array(&j, NULL);
	json_written(&j, NULL, "1,2", 3);
	json_written(&j, NULL, "{}", 2);
	json_end_array(&j);
	assert_string_equal(out.data, "[1,2,{}]\n");
	buf_release(&out);
	buf_release(&due);
}

/* Rows are written by other functions than everything else, to the same bytes. */
static void both(struct json *slow, struct json *quick, uint64_t n, const char *text)
{
	double part = (double)(n >> 11) / (double)(1ull << 53);

	json_number(slow, "n", n);
	json_quick_number(quick, "n", n);
	json_bool(slow, "b", n & 1);
	json_quick_bool(quick, "b", n & 1);
	json_real(slow, "part", part, 9);
	json_quick_part(quick, "part", part);
	json_real(slow, "beyond", (double)n, 9);
	json_quick_part(quick, "beyond", (double)n);
	json_text(slow, "text", text);
	json_quick_text(quick, "text", text);
	json_object(slow, "o");
	json_quick_object(quick, "o");
	json_number(slow, "n", n);
	json_quick_number(quick, "n", n);
	json_end_object(slow);
	json_quick_end_object(quick);
}

static void quick_json_is_the_same(void **context)
{
	static const char *const texts[] = {
		"",
		"malloc",
		"q\"uote",
		"back\\slash",
		"new\nline",
		"\x7f",
		"bad \xff",
		"na\xc3\xafve",
		"a text that is longer than what is copied without a further look, by far",
	};
	struct buf a = { 0 }, b = { 0 };

	for (unsigned compact = 0; compact < 2; compact++) {
		struct json slow = { .out = &a, .compact = compact };
		struct json quick = { .out = &b, .compact = compact };
		uint64_t n = 1;

		json_object(&slow, NULL);
		json_object(&quick, NULL);
		for (unsigned i = 0; i < 20; i++, n *= 10)
			for (unsigned k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
				both(&slow, &quick, n + k - 4, texts[k]);
		both(&slow, &quick, UINT64_MAX, "");
		json_quick_hex(&slow, "hex", 0x00c0ffee12345678);
		json_text(&quick, "hex", "00C0FFEE12345678");
		json_end_object(&slow);
		json_quick_end_object(&quick);
		assert_string_equal(a.data, b.data);
		buf_release(&a);
		buf_release(&b);
	}
}

static void terminals_are_safe(void **context)
{
	struct buf out = { 0 }, json = { 0 };
	struct err err;
	struct json j;

	buf_printable(&out, "a\033[31mb\xc2\x9b\xc3\xa9", 11);
	assert_string_equal(out.data, "a?[31mb?\xc3\xa9");
	buf_clear(&out);
	/* C1 as one byte is an order too; what belongs to a character is none. */
	buf_printable(&out,
		      "\x9b"
		      "2J\xe2\x80\x9b\xe2\x80",
		      8);
	assert_string_equal(out.data, "?2J\xe2\x80\x9b\xe2?");
	buf_clear(&out);
	harmless_add(&out, "\033[1m\033[31m\r\x9b\n\t", 13, true);
	assert_string_equal(out.data, "\033[1m?[31m\r?\n\t");
	buf_clear(&out);
	harmless_add(&out, "\033[1m\r", 5, false);
	assert_string_equal(out.data, "?[1m?");
	buf_release(&out);
	assert_int_equal(harmless_unfinished("a\xe2\x80", 3), 2);
	assert_int_equal(harmless_unfinished("a\xe2\x80\x9b", 4), 0);
	assert_int_equal(harmless_unfinished("\xc3", 1), 1);
	assert_int_equal(harmless_unfinished("\x9b\x9b\x9b", 3), 0);
	err_set(&err, 0, "%s: no", "\033]0;x\a\xc2\x9b\x9b");
	assert_string_equal(err.text, "?]0;x????: no");
	j = (struct json){ .out = &json, .compact = true };
	json_array(&j, NULL);
	json_text(&j, NULL, "\033\xc2\x9b\x9b");
	json_end_array(&j);
	assert_string_equal(json.data, "[\"\\u001b\\u009b\xef\xbf\xbd\"]\n");
	buf_release(&json);
}

static void map_keeps_what_it_got(void **context)
{
	struct map m = { 0 };
	uint64_t v;

	assert_false(map_get(&m, 0, &v));
	for (uint64_t i = 0; i < 100000; i++)
		map_set(&m, i << 32 | i * 4096, i);
	for (uint64_t i = 0; i < 100000; i++) {
		assert_true(map_get(&m, i << 32 | i * 4096, &v));
		assert_int_equal(v, i);
	}
	assert_false(map_get(&m, 77, &v));
	map_set(&m, 0, 5);
	assert_true(map_get(&m, 0, &v));
	assert_int_equal(v, 5);
	assert_int_equal(m.count, 100000);
	map_release(&m);
}

static void texts_are_kept_once(void **context)
{
	const unsigned count = 20000;
	struct strings s;
	char *large = xcalloc(1, 100001), text[32];

	strings_init(&s);
	assert_int_equal(strings_add(&s, ""), 0);
	assert_int_equal(strings_add(&s, NULL), 0);
	for (unsigned i = 1; i <= count; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		assert_int_equal(strings_add(&s, text), i);
	}
	memset(large, 'x', 100000);
	assert_int_equal(strings_add(&s, large), count + 1);
	for (unsigned i = count; i > 0; i--) {
		snprintf(text, sizeof(text), "text %u", i);
		assert_int_equal(strings_add(&s, text), i);
		assert_string_equal(strings_at(&s, i), text);
	}
	assert_int_equal(strings_add(&s, large), count + 1);
	assert_string_equal(strings_at(&s, count + 1), large);
	assert_int_equal(strings_count(&s), count + 2);
	strings_release(&s);
	free(large);
}

/* What one side writes the other reads. */
static void json_is_read(void **context)
{
	static const char text[] = " {\"a\" : [1, 18446744073709551615 ,[]], \"b\":{\"c\":null},"
				   "\"d\":\"x\\u00e9\\ud83d\\ude00\\n\\udc00\", \"e\":true}\n";
	struct buf key = { 0 }, value = { 0 };
	struct err err = { .text = "" };
	struct json_reader r;
	uint64_t number = 0;
	bool yes = false;

	json_reader_init(&r, text, sizeof(text) - 1, &err);
	assert_true(json_read_object(&r) && json_read_key(&r, &key));
	assert_string_equal(key.data, "a");
	assert_true(json_read_array(&r) && json_read_element(&r) && json_read_number(&r, &number));
	assert_int_equal(number, 1);
	assert_true(json_read_element(&r) && json_read_number(&r, &number));
	assert_true(number == UINT64_MAX);
	assert_true(json_read_element(&r) && json_skip(&r) && !json_read_element(&r));
	assert_true(json_read_key(&r, &key) && json_skip(&r));
	assert_true(json_read_key(&r, &key) && json_read_text(&r, &value));
	assert_string_equal(value.data, "x\xc3\xa9\xf0\x9f\x98\x80\n\xef\xbf\xbd");
	assert_true(json_read_key(&r, &key) && json_read_bool(&r, &yes) && yes);
	assert_false(json_read_key(&r, &key));
	assert_true(json_read_end(&r));
	buf_release(&key);
	buf_release(&value);
}

static void json_errors_have_a_place(void **context)
{
	static const struct {
		const char *text;
		uint64_t offset;
	} cases[] = {
		{ "", 0 },
		{ "[1 2]", 3 },
		{ "[1,", 3 },
		{ "[\"a\nb\"]", 3 },
		{ "[\"\\q\"]", 3 },
		{ "[\"\\u12g4\"]", 6 },
		{ "[\"\\u0000\"]", 8 },
		{ "{\"a\" 1}", 5 },
		{ "{1:2}", 1 },
		{ "[tru]", 1 },
		{ "[1]]", 3 },
		{ "[\"open", 6 },
		{ "{\"a\":1,}", 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = { .text = "", .offset = ERR_NO_OFFSET };
		struct json_reader r;

		json_reader_init(&r, cases[i].text, strlen(cases[i].text), &err);
		json_skip(&r);
		assert_false(json_read_end(&r));
		assert_true(*err.text);
		assert_int_equal(err.offset, cases[i].offset);
	}
}

static void files_are_read_to_their_end(void **context)
{
	char path[] = "/tmp/read_file.XXXXXX", text[8];
	int fd = mkstemp(path);
	struct buf all = { 0 };

	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(read_short_file(path, text, sizeof(text)), 7);
	assert_string_equal(text, "0123456");
	lseek(fd, 4, SEEK_SET);
	buf_text(&all, "ab");
	assert_int_equal(read_to_end(fd, &all, 100), 0);
	assert_string_equal(all.data, "ab456789");
	assert_int_equal(all.size, 8);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(read_to_end(fd, &all, 7), 0); /* there is more already */
	assert_int_equal(all.size, 8);
	buf_release(&all);
	close(fd);
	unlink(path);
	assert_int_equal(read_short_file(path, text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(read_short_file("/", text, sizeof(text)), -EISDIR);
	assert_int_equal(read_to_end(-1, &all, 100), -EBADF);
	buf_release(&all);
}

/* Where the compiler has numbers of 128 bits, both ways are there. */
static void test_wide(void **state)
{
	static const uint64_t edges[] = { 0,	      1,	  2,	      10000,	UINT32_MAX,
					  1ull << 32, UINT64_MAX, 1ull << 63, 100000000 };
	uint64_t random = 88172645463325252;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t n[4];

		for (unsigned k = 0; k < 4; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			n[k] = random % 3 ? random >> random % 61 : edges[random / 3 % 9];
		}
		assert_int_equal(wide_compare_in_halves(n[0], n[1], n[2], n[3]),
				 wide_compare(n[0], n[1], n[2], n[3]));
		if (n[2])
			assert_int_equal(wide_scale_in_halves(n[0], n[1], n[2]),
					 wide_scale(n[0], n[1], n[2]));
	}
}

UNIT(base)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wide),
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(json_is_valid),
		cmocka_unit_test(json_is_read),
		cmocka_unit_test(json_errors_have_a_place),
		cmocka_unit_test(numbers_are_written),
		cmocka_unit_test(terminals_are_safe),
		cmocka_unit_test(quick_json_is_the_same),
		cmocka_unit_test(map_keeps_what_it_got),
		cmocka_unit_test(texts_are_kept_once),
		cmocka_unit_test(files_are_read_to_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
