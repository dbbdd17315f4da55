/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* symbols/: this program resolves its own addresses, from disk and as an embedded file. */
#include "base/buf.h"
#include "base/buf_text.h"
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

/* Thumb code, whose functions' symbols have bit 0 set. */
static void of_32_bits(void **context)
{
	static const uint8_t id[] = { 0xa5, 0xa7, 0x87, 0x63, 0x7b, 0x81, 0x47, 0xfc, 0x8a, 0xdf,
				      0x2d, 0x7c, 0x71, 0x1c, 0xb1, 0x51, 0xde, 0x9c, 0x4b, 0xa8 };
	struct symbols_module m = { TEST_DATA "/../../fuzz/corpus/symbols/arm-32bit", id,
				    sizeof(id) };
	struct symbols *s = symbols_new(&m, 1, NULL);
	struct symbol symbol;

	assert_int_equal(symbols_level(s, 0), SYMBOLS_LINES);
	symbols_resolve(s, 0, 0x1f3, &symbol);
	assert_int_equal(symbol.count, 2);
	assert_string_equal(symbol.frames[0].function, "inner");
	assert_true(symbol.frames[0].inlined);
	assert_int_equal(symbol.frames[0].line, 2);
	assert_string_equal(symbol.frames[1].function, "outer");
	assert_int_equal(symbol.frames[1].line, 3);
	symbol_release(&symbol);
	symbols_resolve(s, 0, 0x1e8, &symbol);
	assert_string_equal(symbol.frames[0].function, "twice");
	symbol_release(&symbol);
	check_unknown(s, 0, 0x10000);
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
	check_demangled("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]");
	check_demangled("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()");
	check_demangled("_Znot mangled", "_Znot mangled");
	check_demangled("_ZN", "_ZN");
	check_demangled("_R", "_R");
	check_demangled("i", "i");
	check_demangled("", "");
}

static void demangling_rust(void **context)
{
	check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			"core::fmt::Write::write_fmt");
	check_demangled("_ZN64_$LT$a..shapes..Square$LT$f64$GT$$u20$as$u20$a..shapes..Area$GT$4area"
			"17ha53cc3ccba03dd67E",
			"<a::shapes::Square<f64> as a::shapes::Area>::area");
	check_demangled("_ZN1a13gr$uf6$$udf$e17h0a24d3fb5fa7b0f8E", "a::gr\xc3\xb6\xc3\x9f"
								    "e");
	check_demangled("_ZN1a13x$ud800$$u1$e17h0a24d3fb5fa7b0f8E", "a::x$ud800$$u1$e");
	check_demangled("_RNvC7mycrate3foo", "mycrate::foo");
	check_demangled("_RINvMs_NtCs6xxl1lAjzDf_1a6shapesINtB5_6SquarelE5twiceNCNvB7_4main0EB7_",
			"<a::shapes::Square<i32>>::twice::<a::main::{closure#0}>");
	check_demangled("_RNCNvCs6xxl1lAjzDf_1au9gre_6ka8i0", "a::gr\xc3\xb6\xc3\x9f"
							      "e::{closure#0}");
}

/* As people write them, and only those. */
static void demangling_strings(void **context)
{
#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	check_demangled("_Z1fRK" STRING, "f(std::string const&)");
	check_demangled("_Z1fSs", "f(std::string)");
	check_demangled("_Z1fSt17basic_string_viewIcSt11char_traitsIcEE", "f(std::string_view)");
	check_demangled("_Z1fNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEEE",
			"f(std::wstring)");
	check_demangled("_ZN"
			"St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEm",
			"std::string::reserve(unsigned long)");
	check_demangled(
		"_Z1fSt3mapI" STRING "St6vectorIS5_"
		"SaIS5_EESt4lessIS5_ESaISt4pairIKS5_S8_EEE",
		"f(std::map<std::string, std::vector<std::string, std::allocator<std::string>>, "
		"std::less<std::string>, std::allocator<std::pair<std::string const, "
		"std::vector<std::string, std::allocator<std::string>>>>>)");
	/* Not a closing bracket. */
	check_demangled("_ZN1agtIiEEbT_", "bool a::operator><int>(int)");
	check_demangled("_Z1gIXadL_ZN1agtEiEEEvv", "void g<&a::operator> >()");
	/* Another allocator is another type. */
	check_demangled("_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcE1AIcEEE",
			"f(std::__cxx11::basic_string<char, std::char_traits<char>, A<char>>)");
#undef STRING
}

static void check_bounded(const char *name)
{
	char *text = demangle(name);

	assert_true(strlen(text) <= DEMANGLED_MAX || !strcmp(text, name));
	free(text);
}

/* A<A<A<…>, A<…>>, …>: the name doubles with each reference to what came before. */
static char *doubling(bool rust)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	struct buf name = { 0 };
	size_t before = 8;

	buf_text(&name, rust ? "_RINvC1a1bTuuE" : "_Z1f1AIiiE");
	for (unsigned i = 0; i < 34; i++) {
		size_t at = name.size - 2;

		if (rust)
			buf_printf(&name, "TB%c_B%c_E", digits[before - 1], digits[before - 1]);
		else if (i)
			buf_printf(&name, "S_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				   "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
		else
			buf_text(&name, "S_IS0_S0_E");
		if (rust && at > 35)
			break;
		before = at;
	}
	buf_text(&name, rust ? "E" : "");
	return name.data;
}

static void demangling_is_bounded(void **context)
{
	static const char *const parts[] = { "P", "N", "1aI", "3abc", "DpT_", "NvC1a1b" };
	char *name = doubling(false);
	struct buf text = { 0 };

	check_bounded(name);
	free(name);
	name = doubling(true);
	check_bounded(name);
	free(name);
	/* Deep, beyond what libiberty takes by itself, beyond what we take. */
	for (size_t size = 500; size < 100000; size *= 3)
		for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			buf_clear(&text);
			buf_text(&text, i == 5 ? "_R" : i ? "_ZN" : "_Z1f");
			while (text.size < size)
				buf_text(&text, parts[i]);
			buf_text(&text, "i");
			check_bounded(text.data);
		}
	/* A name that is just long is still read. */
	buf_clear(&text);
	buf_text(&text, "_ZN");
	for (unsigned i = 0; i < 200; i++)
		buf_text(&text, "16abcdefghijklmnop");
	buf_text(&text, "Ev");
	name = demangle(text.data);
	assert_int_equal(strlen(name), 200 * strlen("abcdefghijklmnop::"));
	free(name);
	buf_release(&text);
}

UNIT(symbols)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_disk),
		cmocka_unit_test(of_32_bits),
		cmocka_unit_test(another_build_is_not_used),
		cmocka_unit_test(from_the_recording),
		cmocka_unit_test(demangling),
		cmocka_unit_test(demangling_rust),
		cmocka_unit_test(demangling_strings),
		cmocka_unit_test(demangling_is_bounded),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
