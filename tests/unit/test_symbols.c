/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* symbols/: this program resolves its own addresses, from disk and as an embedded file. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "self.h"
#include "symbols/symbols.h"

static struct self self;

static int set_up(void **context)
{
	return self_find(&self);
}

/* Where this function returns to, through one that is inlined into its caller. */
static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uint64_t)__builtin_return_address(0);
}

static int inner_line;
static inline __attribute__((always_inline)) uint64_t inlined_call(void)
{
	uint64_t pc = return_address();

	inner_line = __LINE__ - 2;
	__asm__ volatile("" ::: "memory");
	return pc;
}

static int outer_line;
static __attribute__((noinline)) uint64_t outer_call(void)
{
	uint64_t pc = inlined_call();

	outer_line = __LINE__ - 2;
	__asm__ volatile("" ::: "memory");
	return pc;
}

static void check_lines(struct symbols *s)
{
	struct symbol symbol;

	symbols_resolve(s, 0, outer_call() - 1 - self.bias, &symbol);
	assert_int_equal(symbol.count, 2);
	assert_string_equal(symbol.frames[0].function, "inlined_call");
	assert_true(symbol.frames[0].inlined);
	assert_int_equal(symbol.frames[0].line, inner_line);
	assert_non_null(strstr(symbol.frames[0].file, "test_symbols.c"));
	assert_string_equal(symbol.frames[1].function, "outer_call");
	assert_false(symbol.frames[1].inlined);
	assert_int_equal(symbol.frames[1].line, outer_line);
	symbol_release(&symbol);
}

static void check_unknown(struct symbols *s, size_t module, uint64_t address)
{
	struct symbol symbol;

	symbols_resolve(s, module, address, &symbol);
	assert_int_equal(symbol.count, 1);
	assert_null(symbol.frames[0].function);
	assert_null(symbol.frames[0].raw_function);
	assert_null(symbol.frames[0].file);
	symbol_release(&symbol);
}

static void from_disk(void **context)
{
	struct symbols_module m = { self.path, self.build_id, self.build_id_size };
	struct symbols *s = symbols_new(&m, 1, NULL);

	assert_int_equal(symbols_level(s, 0), SYMBOLS_LINES);
	check_lines(s);
	check_unknown(s, 0, 1);
	check_unknown(s, 5, 1);
	symbols_free(s);
}

static void another_build_is_not_used(void **context)
{
	uint8_t other[64];
	struct symbols_module m = { self.path, other, self.build_id_size };
	struct symbols *s;

	if (!self.build_id_size)
		skip();
	memcpy(other, self.build_id, sizeof(other));
	other[0] ^= 1;
	s = symbols_new(&m, 1, NULL);
	assert_int_equal(symbols_level(s, 0), SYMBOLS_NONE);
	check_unknown(s, 0, outer_call() - 1 - self.bias);
	symbols_free(s);
}

static bool give_self(void *context, const struct symbols_module *module, struct buf *out)
{
	int fd = open(self.path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	do {
		buf_reserve(out, 65536);
		n = read(fd, out->data + out->size, 65536);
		if (n > 0)
			out->size += (size_t)n;
	} while (n > 0);
	close(fd);
	return true;
}

static bool give_nonsense(void *context, const struct symbols_module *module, struct buf *out)
{
	buf_text(out, "\177ELF but no further");
	return true;
}

static void from_the_recording(void **context)
{
	struct symbols_module m = { "/no/such/file", self.build_id, self.build_id_size };
	struct symbols *s = symbols_new(&m, 1, &(struct symbols_options){ .embedded = give_self });

	assert_int_equal(symbols_level(s, 0), SYMBOLS_LINES);
	check_lines(s);
	symbols_free(s);
	s = symbols_new(&m, 1, &(struct symbols_options){ .embedded = give_nonsense });
	assert_int_equal(symbols_level(s, 0), SYMBOLS_NONE);
	check_unknown(s, 0, 1);
	symbols_free(s);
}

static void check_demangled(const char *name, const char *wanted)
{
	char *text = demangle(name);

	assert_string_equal(text, wanted);
	free(text);
}

static void demangling(void **context)
{
	check_demangled("main", "main");
	check_demangled("_Znwm", "operator new(unsigned long)");
	check_demangled("_ZN3foo3barEi", "foo::bar(int)");
	check_demangled("_RNvC7mycrate3foo", "mycrate::foo");
	check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			"core::fmt::Write::write_fmt");
	check_demangled("_Znot mangled", "_Znot mangled");
	check_demangled("i", "i");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_disk),
		cmocka_unit_test(another_build_is_not_used),
		cmocka_unit_test(from_the_recording),
		cmocka_unit_test(demangling),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
