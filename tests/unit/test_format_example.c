/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* docs/format.md: the example in it is what it says. */
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* Takes the lines "0000  4d 45 ..." between the last two fences. */
static void read_example(struct buf *out)
{
	FILE *file = fopen(FORMAT_DOCUMENT, "r");
	char line[512];
	bool inside = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *p = line;

		if (!strncmp(line, "```", 3)) {
			inside = !inside;
			continue;
		}
		if (!inside)
			continue;
		assert_int_equal(strtoul(p, &p, 16), out->size);
		for (char *end; *p && *p != '\n'; p = end) {
			unsigned long byte = strtoul(p, &end, 16);

			assert_true(end > p && byte < 256);
			buf_char(out, (char)byte);
		}
	}
	fclose(file);
}

static void example_is_right(void **context)
{
	struct model_options options = { .workers = 0 };
	struct buf bytes = { 0 };
	struct model *m;
	struct err err;
	const struct columns *c;

	read_example(&bytes);
	assert_int_equal(model_open_memory(&m, bytes.data, bytes.size, &err), 0);
	model_load(m, &options);
	model_finish(m);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	assert_string_equal(model_info(m, "pid"), "77");
	assert_int_equal(m->totals.events, 3);
	assert_int_equal(m->tables.threads.rows[0].tid, 77);
	assert_string_equal(m->tables.threads.rows[0].name, "main");
	c = &m->allocations;
	assert_int_equal(c->count, 1);
	assert_int_equal(columns_address(c, 0), 0x5000);
	assert_int_equal(columns_size(c, 0), 100);
	assert_int_equal(columns_slack(c, 0), 4);
	assert_int_equal(columns_allocated_at(c, 0), 1100);
	assert_int_equal(columns_freed_at(c, 0), 1300);
	assert_int_equal(columns_stack(c, 0), 2);
	assert_int_equal(columns_free_stack(c, 0), 1);
	assert_int_equal(m->tables.nodes.frame[2], 0x401234);
	assert_int_equal(m->tables.nodes.parent[2], 1);
	model_free(m);
	buf_release(&bytes);
}

UNIT(format_example)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(example_is_right) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
