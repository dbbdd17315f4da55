/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Moving the first instructions of functions: each kind is moved and then run, and must do what it
 * did in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collector/inplace.h"
#include "collector/relocate.h"
#include "unit.h"

#define ENDBR 0xf3, 0x0f, 0x1e, 0xfa
#define HELPER 256  /* where in the page a function lies that returns 7 */
#define POINTER 512 /* and its address */
#define NUMBER 520  /* and the number 1234 */
#define MOVED 1024  /* and where the moved code goes */

static uint8_t *page;

static int set_up(void **state)
{
	static const uint8_t helper[] = { 0xb8, 7, 0, 0, 0, 0xc3 };
	uint64_t pointer, number = 1234;

	(void)state;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_true(page != MAP_FAILED);
	memset(page, 0xcc, 4096);
	memcpy(page + HELPER, helper, sizeof(helper));
	pointer = (uint64_t)(page + HELPER);
	memcpy(page + POINTER, &pointer, 8);
	memcpy(page + NUMBER, &number, 8);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(page, 4096);
}

/* Puts a function at the start of the page; `distance_at` is where in it four bytes are the
 * distance to `target` in the page, 0 for none. */
static struct relocate_code place(const uint8_t *bytes, size_t size, size_t distance_at,
				  size_t target)
{
	memcpy(page, bytes, size);
	if (distance_at) {
		int32_t distance = (int32_t)target - (int32_t)(distance_at + 4);

		memcpy(page + distance_at, &distance, 4);
	}
	return (struct relocate_code){ page, size, 256, (uint64_t)page };
}

/* Writes the moved code as the recorder would, and the jump over the original. */
static void install(const struct shm_site *s)
{
	uint8_t *code = page + MOVED;

	memcpy(code, s->code, s->code_size);
	for (unsigned i = 0; i < s->fix_count; i++) {
		int32_t distance =
			(int32_t)(s->fixes[i].target - (uint64_t)(code + s->fixes[i].end));

		memcpy(code + s->fixes[i].at, &distance, 4);
	}
	assert_memory_equal((const void *)s->address, s->original, s->displaced);
	memset((void *)s->address, 0xcc, ARCH_JUMP);
}

static uint64_t call(const void *code, uint64_t argument)
{
	uint64_t (*function)(uint64_t);

	memcpy(&function, &code, sizeof(function));
	return function(argument);
}

static void moves(const uint8_t *bytes, size_t size, size_t distance_at, size_t target,
		  unsigned displaced)
{
	struct relocate_code code = place(bytes, size, distance_at, target);
	struct shm_site s = { 0 };
	uint64_t expected[2] = { call(page, 0), call(page, 5) };
	const char *why = relocate_entry(&code, false, &s);

	if (why)
		fail_msg("refused: %s", why);
	assert_int_equal(s.displaced, displaced);
	install(&s);
	assert_int_equal(call(page + MOVED, 0), expected[0]);
	assert_int_equal(call(page + MOVED, 5), expected[1]);
}

#define MOVES(displaced, at, target, ...)                                                          \
	do {                                                                                       \
		static const uint8_t bytes_[] = { __VA_ARGS__ };                                   \
		moves(bytes_, sizeof(bytes_), at, target, displaced);                              \
	} while (0)

static void test_plain(void **state)
{
	(void)state;
	/* push rbx; mov rbx, rdi; lea rax, [rbx+1]; pop rbx; ret */
	MOVES(8, 0, 0, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x43, 1, 0x5b, 0xc3);
	/* The endbr64 stays. */
	MOVES(7, 0, 0, ENDBR, 0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, 1, 0xc3);
}

static void test_relative(void **state)
{
	(void)state;
	/* mov rax, [rip + NUMBER]; add rax, rdi; ret */
	MOVES(7, 3, NUMBER, 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3);
	/* cmp qword [rip + x], 3 has its distance before an immediate: mov dword [rip], imm would
	 * too; here cmp dword [rip + NUMBER], 1234; sete al; movzx eax, al; ret */
	{
		static const uint8_t bytes[] = { 0x81, 0x3d, 0,	   0,	 0,    0,    0xd2, 4,	0,
						 0,    0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3 };
		struct relocate_code code;
		struct shm_site s = { 0 };
		int32_t distance = NUMBER - 10;

		code = place(bytes, sizeof(bytes), 0, 0);
		memcpy(page + 2, &distance, 4);
		assert_int_equal(call(page, 0), 1);
		assert_null(relocate_entry(&code, false, &s));
		install(&s);
		assert_int_equal(call(page + MOVED, 0), 1);
	}
}

static void test_branches(void **state)
{
	(void)state;
	/* test rdi, rdi; jne +3; xor eax, eax; ret; mov eax, 9; ret */
	MOVES(5, 0, 0, 0x48, 0x85, 0xff, 0x75, 3, 0x31, 0xc0, 0xc3, 0xb8, 9, 0, 0, 0, 0xc3);
	/* test rdi, rdi; jne near HELPER; xor eax, eax; ret */
	MOVES(9, 5, HELPER, 0x48, 0x85, 0xff, 0x0f, 0x85, 0, 0, 0, 0, 0x31, 0xc0, 0xc3);
	/* jmp HELPER */
	MOVES(5, 1, HELPER, 0xe9, 0, 0, 0, 0);
	/* jmp [rip + POINTER] */
	MOVES(6, 2, POINTER, 0xff, 0x25, 0, 0, 0, 0);
	/* xor eax, eax; nop; jmp +2; (two bytes); add eax, 3; ret */
	MOVES(5, 0, 0, 0x31, 0xc0, 0x90, 0xeb, 2, 0xcc, 0xcc, 0x83, 0xc0, 3, 0xc3);
}

static void test_calls(void **state)
{
	(void)state;
	/* push rdi; call HELPER; pop rdi; add rax, rdi; ret */
	MOVES(6, 2, HELPER, 0x57, 0xe8, 0, 0, 0, 0, 0x5f, 0x48, 0x01, 0xf8, 0xc3);
	/* push rdi; call [rip + POINTER]; pop rdi; add rax, rdi; ret */
	MOVES(7, 3, POINTER, 0x57, 0xff, 0x15, 0, 0, 0, 0, 0x5f, 0x48, 0x01, 0xf8, 0xc3);
}

static void test_short(void **state)
{
	(void)state;
	/* rep ret behind xor eax, eax: four bytes, and a filling */
	{
		static const uint8_t bytes[] = { 0x31, 0xc0, 0xf3, 0xc3, 0x90, 0x90, 0x90 };
		struct relocate_code code;
		struct shm_site s = { 0 };

		place(bytes, sizeof(bytes), 0, 0);
		code = (struct relocate_code){ page, 4, 256, (uint64_t)page };
		assert_null(relocate_entry(&code, false, &s));
		assert_int_equal(s.displaced, 5);
		install(&s);
		assert_int_equal(call(page + MOVED, 3), 0);
		/* The next function follows at once. */
		page[4] = 0xb8;
		assert_non_null(relocate_entry(&code, false, &s));
	}
	/* A return in the last of the five bytes. */
	MOVES(5, 0, 0, 0x31, 0xc0, 0xff, 0xc0, 0xc3);
}

static void refuses(const uint8_t *bytes, size_t size, size_t distance_at, size_t target,
		    bool shadow_stack)
{
	struct relocate_code code = place(bytes, size, distance_at, target);
	struct shm_site s = { 0 };

	assert_non_null(relocate_entry(&code, shadow_stack, &s));
}

#define REFUSES(at, target, shadow_stack, ...)                                                     \
	do {                                                                                       \
		static const uint8_t bytes_[] = { __VA_ARGS__ };                                   \
		refuses(bytes_, sizeof(bytes_), at, target, shadow_stack);                         \
	} while (0)

static void test_refused(void **state)
{
	struct relocate_code empty;
	struct shm_site s = { 0 };

	(void)state;
	/* dec rdi; jne to the entry: a loop */
	REFUSES(0, 0, false, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3);
	/* A jump from further on into the second instruction. */
	REFUSES(0, 0, false, 0x31, 0xc0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3);
	/* loop, jrcxz */
	REFUSES(0, 0, false, 0xe2, 4, 0x31, 0xc0, 0x90, 0x90, 0xc3);
	REFUSES(0, 0, false, 0xe3, 4, 0x31, 0xc0, 0x90, 0x90, 0xc3);
	/* call rax */
	REFUSES(0, 0, false, 0x50, 0xff, 0xd0, 0x58, 0x90, 0xc3);
	/* call HELPER, where returns are checked */
	REFUSES(2, HELPER, true, 0x57, 0xe8, 0, 0, 0, 0, 0x5f, 0xc3);
	/* what is no instruction */
	REFUSES(0, 0, false, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06);
	empty = (struct relocate_code){ page, 0, 256, (uint64_t)page };
	assert_non_null(relocate_entry(&empty, false, &s));
}

static void test_jump_into(void **state)
{
	struct shm_site sites[2] = { { .address = 0x1000, .displaced = 7 },
				     { .address = 0x2000, .displaced = 5 } };
	uint8_t code[64] = { 0 };
	int32_t distance;

	(void)state;
	code[10] = 0xe9;
	distance = 0x2003 - (0x5000 + 15);
	memcpy(code + 11, &distance, 4);
	assert_int_equal(relocate_jump_into(code, sizeof(code), 0x5000, sites, 2), 1);
	distance = 0x2000 - (0x5000 + 15); /* a call of the whole function */
	memcpy(code + 11, &distance, 4);
	assert_int_equal(relocate_jump_into(code, sizeof(code), 0x5000, sites, 2), -1);
	code[9] = 0x0f;
	code[10] = 0x84;
	distance = 0x1006 - (0x5000 + 15);
	memcpy(code + 11, &distance, 4);
	assert_int_equal(relocate_jump_into(code, sizeof(code), 0x5000, sites, 2), 0);
}

UNIT(relocate)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_relative, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_branches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_short, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test(test_jump_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
