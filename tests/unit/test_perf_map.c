/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The text of /tmp/perf-PID.map: lines that come in pieces, lines that are none, the newest of
 * several. */
#include <string.h>

#include "base/buf_text.h"
#include "collector/perf_map.h"
#include "unit.h"

static void add_text(struct perf_map *m, const char *text)
{
	buf_text(&m->text, text);
	perf_map_parse(m);
}

static void newest_line_counts(void **state)
{
	struct perf_map_wanted wanted[] = { { .address = 0x1fff },
					    { .address = 0x1010 },
					    { .address = 0x1000 },
					    { .address = 0x2000 } };
	struct perf_map m;

	(void)state;
	perf_map_init(&m);
	add_text(&m, "1000 1000 old\n10");
	assert_int_equal(m.count, 1);
	add_text(&m, "10 10 new");
	assert_int_equal(m.count, 1);
	add_text(&m, "er\n1000 new\n\n x\n1000 0 empty\nffffffffffffffff 10 beyond\n1 2 ");
	assert_int_equal(m.count, 2);
	perf_map_find(&m, wanted, 4);
	assert_memory_equal(wanted[0].name, "old\n", 4);
	assert_memory_equal(wanted[1].name, "newer\n", 6);
	assert_int_equal(wanted[1].name_size, 5);
	assert_memory_equal(wanted[2].name, "old\n", 4);
	assert_null(wanted[3].name);
	perf_map_release(&m);
}

static void names_in_parts(void **state)
{
	static const struct {
		const char *text, *function, *file;
		uint32_t line;
	} rows[] = {
		{ "JS:*hold /srv/shop.js:12:7", "hold", "/srv/shop.js", 12 },
		{ "LazyCompile:~get node:internal/fs:474:27", "get", "node:internal/fs", 474 },
		{ "JS:~ /srv/my shop.js:4:1", "(anonymous)", "/srv/my shop.js", 4 },
		{ "JS:*hold", "JS:*hold", "", 0 },
		{ "JS:*hold :1:2", "JS:*hold :1:2", "", 0 },
		{ "JS:*hold x:1:9999999999", "JS:*hold x:1:9999999999", "", 0 },
		{ "Lcom/shop/Cart;::add", "Lcom/shop/Cart;::add", "", 0 },
		{ "", "", "", 0 },
	};
	char longest[3000];
	struct perf_map_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		perf_map_name(rows[i].text, strlen(rows[i].text), &name);
		assert_string_equal(name.raw, rows[i].text);
		assert_string_equal(name.function, rows[i].function);
		assert_string_equal(name.file, rows[i].file);
		assert_int_equal(name.line, rows[i].line);
	}
	memset(longest, 'x', sizeof(longest));
	perf_map_name(longest, sizeof(longest), &name);
	assert_int_equal(strlen(name.function), sizeof(name.function) - 1);
}

UNIT(perf_map)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_line_counts),
		cmocka_unit_test(names_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
