/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code of each processor as text, whichever this is. */
#include <elf.h>
#include <string.h>

#include "heap/instructions.h"
#include "unit.h"

static struct instruction read_one(unsigned machine, const void *bytes, size_t size)
{
	struct instruction i;

	assert_non_null(instruction_set(machine));
	instruction_set(machine)->read(&i, bytes, size, 0x1000);
	return i;
}

static void test_aarch64(void **state)
{
	static const struct {
		uint32_t word;
		const char *text;
		uint64_t target;
		bool jumps, refers, page, adds;
	} rows[] = {
		{ 0xa9bd7bfd, "stp    x29, x30, [sp, #-0x30]!", 0, .adds = true },
		{ 0x94000010, "bl     1040", 0x1040, .jumps = true },
		{ 0x54ffffe0, "b.eq   ffc", 0xffc, .jumps = true },
		{ 0xb4000060, "cbz    x0, 100c", 0x100c, .jumps = true },
		{ 0x37080040, "tbnz   w0, #1, 1008", 0x1008, .jumps = true },
		{ 0x90000010, "adrp   x16, #0x1000", 0x1000, .refers = true, .page = true },
		{ 0xf9400a11, "ldr    x17, [x16, #0x10]", 0, .adds = true },
		{ 0x58000041, "ldr    x1, #0x1008", 0x1008, .refers = true },
		{ 0xd65f03c0, "ret", 0, .jumps = false },
		{ 0x00000001, ".inst  0x00000001", 0, .jumps = false },
	};

	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct instruction i = read_one(EM_AARCH64, &rows[n].word, 4);

		assert_int_equal(i.size, 4);
		assert_string_equal(i.text, rows[n].text);
		assert_int_equal(i.jumps, rows[n].jumps);
		assert_int_equal(i.refers, rows[n].refers);
		assert_int_equal(i.page, rows[n].page);
		if (rows[n].target)
			assert_int_equal(i.target, rows[n].target);
	}
	assert_string_equal(read_one(EM_AARCH64, "\x1f\x20", 2).text, ".byte  0x1f");
}

static void test_mips64(void **state)
{
	static const struct {
		uint32_t word;
		const char *text;
		uint64_t target;
	} rows[] = {
		{ 0x67bdffd0, "daddiu $sp, $sp, -0x30", 0 },
		{ 0x24040080, "li     $a0, 0x80", 0 },
		{ 0x1040004b, "beqz   $v0, 1130", 0x1130 },
		{ 0x1000fff5, "b      fd8", 0xfd8 },
		{ 0x0320f809, "jalr   $t9", 0 },
		{ 0x03e00008, "jr     $ra", 0 },
		{ 0x00000000, "nop", 0 },
		{ 0xffffffff, "sd     $ra, -1($ra)", 0 },
		{ 0xec000000, ".word  0xec000000", 0 },
	};

	(void)state;
	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct instruction i = read_one(EM_MIPS, &rows[n].word, 4);

		assert_int_equal(i.size, 4);
		assert_string_equal(i.text, rows[n].text);
		assert_int_equal(i.jumps, rows[n].target != 0);
		assert_int_equal(i.target, rows[n].target);
	}
}

static void test_x86(void **state)
{
	static const uint8_t call[] = { 0xe8, 0x0b, 0, 0, 0 };
	struct instruction i = read_one(EM_X86_64, call, sizeof(call));

	assert_int_equal(i.size, 5);
	assert_true(i.jumps);
	assert_int_equal(i.target, 0x1010);
	assert_null(instruction_set(EM_NONE));
}

static void test_arm(void **state)
{
	static const struct {
		uint32_t word;
		const char *text;
		uint64_t target, added;
		bool jumps, refers, page, adds;
	} rows[] = {
		{ 0xe92d4010, "push   {r4, lr}", 0, 0, .jumps = false },
		{ 0xeb000010, "bl     1048", 0x1048, 0, .jumps = true },
		{ 0x0afffffe, "beq    1000", 0x1000, 0, .jumps = true },
		{ 0xe59f0008, "ldr    r0, [pc, #8]", 0x1010, 0, .refers = true },
		{ 0xe28fc600, "add    ip, pc, #0, #12", 0x1008, 0, .page = true },
		{ 0xe28cca10, "add    ip, ip, #16, #20", 0, 0x10000, .page = true, .adds = true },
		{ 0xe5bcf0a8, "ldr    pc, [ip, #0xa8]!", 0, 0xa8, .adds = true },
		{ 0xffffffff, ".inst  0xffffffff", 0, 0, .jumps = false },
	};

	(void)state;
	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct instruction i = read_one(EM_ARM, &rows[n].word, 4);

		assert_int_equal(i.size, 4);
		assert_string_equal(i.text, rows[n].text);
		assert_int_equal(i.jumps, rows[n].jumps);
		assert_int_equal(i.refers, rows[n].refers);
		assert_int_equal(i.page, rows[n].page);
		assert_int_equal(i.adds, rows[n].adds);
		if (rows[n].target)
			assert_int_equal(i.target, rows[n].target);
		if (rows[n].added)
			assert_int_equal(i.added, rows[n].added);
	}
}

UNIT(instructions)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aarch64),
		cmocka_unit_test(test_mips64),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_x86),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
