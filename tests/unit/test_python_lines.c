/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lines from a Python code object's table.  The tables and what Python 3.11 says about them were
 * taken from co_linetable and co_lines(). */
#include "collector/python.h"
#include "unit.h"

#define FIRST_LINE 42u

static const uint8_t table[] = {
	128, 0,	  224, 9,   10,	 216, 9,   10,	241, 3,	  1,   10,  11,	 128, 65,  240, 4,   8,
	5,   17,  240, 2,   2,	 13,  23,  240, 0,   2,	  13,  23,  229, 13,  18,  144, 49,  137,
	88,  140, 88,  240, 5,	 2,   13,  23,	241, 0,	  2,   13,  23,	 244, 0,   2,	13,  23,
	136, 1,	  240, 8,   1,	 18,  21,  240, 0,   3,	  9,   17,  240, 0,   3,   9,	17,  136,
	65,  229, 12,  13,  136, 97,  216, 14,	15,  241, 3,   1,   13,	 17,  244, 0,	1,   13,
	17,  240, 0,   1,   13,	 17,  240, 0,	1,   13,  17,  240, 5,	 3,   9,   17,	248, 240,
	0,   1,	  18,  21,  240, 0,   3,   9,	17,  240, 0,   3,   9,	 17,  136, 65,	229, 12,
	13,  136, 97,  216, 14,	 15,  241, 3,	1,   13,  17,  244, 0,	 1,   13,  17,	240, 0,
	1,   13,  17,  240, 0,	 1,   13,  17,	240, 5,	  3,   9,   17,	 248, 248, 248, 240, 8,
	0,   8,	  9,   240, 0,	 1,   5,   11,	216, 8,	  9,   240, 3,	 1,   11,  11,	240, 0,
	1,   11,  11,  240, 122, 2,   0,   10,	11,  240, 0,   2,   5,	 16,  240, 0,	2,   5,
	16,  221, 14,  24,  152, 17,  216, 13,	14,  241, 3,   1,   15,	 16,  244, 0,	1,   15,
	16,  240, 0,   1,   9,	 16,  240, 3,	2,   5,	  16,  240, 0,	 2,   5,   16,	240, 0,
	2,   5,	  16,  240, 0,	 2,   5,   16,	248, 248, 248, 240, 0,	 2,   5,   16,	240, 0,
	2,   5,	  16,  240, 0,	 2,   5,   16,	240, 0,	  2,   5,   16,	 240, 0,   2,	5,   16,
	240, 0,	  2,   5,   16
};
static const uint32_t lines[] = { 42,  44,  45,	 44,  44,  44,	46,  47,  47,  49,  49,	 49,  49,
				  49,  49,  49,	 49,  49,  49,	49,  49,  49,  49,  47,	 47,  47,
				  47,  47,  47,	 47,  47,  47,	51,  51,  51,  51,  53,	 53,  53,
				  53,  53,  53,	 53,  54,  53,	53,  53,  53,  53,  53,	 53,  53,
				  53,  51,  42,	 51,  51,  51,	51,  53,  53,  53,  53,	 53,  53,
				  53,  54,  53,	 53,  53,  53,	53,  53,  53,  53,  53,	 51,  42,
				  42,  42,  55,	 55,  56,  55,	55,  148, 148, 148, 149, 149, 149,
				  149, 149, 149, 149, 150, 149, 149, 149, 149, 149, 149, 149, 149,
				  148, 148, 148, 148, 42,  42,	42,  148, 148, 148, 148, 148, 148 };

static void as_python_says(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(python_line(table, sizeof(table), FIRST_LINE, i), lines[i]);
	/* Behind its end, and in a table that was cut, it is the function's first line. */
	assert_int_equal(python_line(table, sizeof(table), FIRST_LINE, 100000), FIRST_LINE);
	assert_int_equal(python_line(table, 0, FIRST_LINE, 0), FIRST_LINE);
	for (size_t size = 0; size < sizeof(table); size++)
		python_line(table, size, FIRST_LINE, 100000);
}

static void numbers_without_an_end(void **state)
{
	const uint8_t endless[] = { 0x80 | 14 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f };

	(void)state;
	assert_int_equal(python_line(endless, sizeof(endless), 7, 0), 7);
	assert_int_equal(python_line(endless, 2, 7, 0), 7);
}

UNIT(python_lines)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_python_says),
		cmocka_unit_test(numbers_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
