/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of live blocks: every one is found, and nothing stays behind of those that are gone. */
#include "unit.h"

#include "pairing/live.h"

static void live_table(void **context)
{
	enum { ROWS = 200000 };
	struct columns c = { 0 };
	struct live l;

	live_init(&l);
	for (uint32_t i = 0; i < ROWS; i++) {
		if (i == c.room)
			columns_grow(&c);
		c.plain.address[i] = (uint64_t)i * 48 + 0x10000;
		c.count++;
		live_add(&l, &c, i);
	}
	assert_int_equal(l.count, ROWS);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(live_find(&l, &c, columns_address(&c, i)), i);
	for (uint32_t i = 0; i < ROWS; i += 2)
		assert_int_equal(live_take(&l, &c, columns_address(&c, i)), i);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(live_find(&l, &c, c.plain.address[i]), i % 2 ? i : NO_ALLOCATION);
	for (uint32_t i = 1; i < ROWS; i += 2)
		assert_int_equal(live_take(&l, &c, columns_address(&c, i)), i);
	assert_int_equal(l.count, 0);
	for (uint64_t i = 0; i < 1ull << l.bucket_bits; i++)
		assert_int_equal(l.buckets[i].passed, 0);
	live_release(&l);
	columns_release(&c);
}

UNIT(live)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
