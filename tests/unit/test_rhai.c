/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rhai to Lua: what is refused, and where; lines; what is nested as deeply as is allowed.  What
 * the scripts in tests/data/rhai then print is an end-to-end test. */
#include "base/buf.h"
#include "base/buf_text.h"
#include "unit.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "script/rhai.h"
#include "script/rhai_tree.h"

/* Line and column in ret, and the reason. */
static int refuse(const char *text, unsigned *ret_line, unsigned *ret_column, struct err *err)
{
	struct buf out = { 0 };
	int error = rhai_to_lua(text, strlen(text), &out, err);

	buf_release(&out);
	rhai_position(text, strlen(text), err->offset, ret_line, ret_column);
	return error;
}

static void refused(void **state)
{
	static const struct {
		const char *text, *reason;
		unsigned line, column;
	} rows[] = {
		{ "1 +", "an expression is missing at the end", 1, 4 },
		{ "let x = 1;\nx ++ 2", "';' is missing before this", 2, 3 },
		{ "let é = 1", "'?' has no meaning here", 1, 5 },
		{ "\"é\"; 'ab'", "'…' is one character", 1, 6 },
		{ "\"\\q\"", "this escape is unknown", 1, 2 },
		{ "\"\\u12\"", "this escape needs 4", 1, 2 },
		{ "\"\\ud800\"", "this escape is not a character", 1, 2 },
		{ "`a ${1", "'}' is missing here", 1, 7 },
		{ "`a ${1} b", "the quote ` is never closed", 1, 8 },
		{ "#\"a", "this raw text is never closed", 1, 1 },
		{ "0x", "the number has no digits", 1, 1 },
		{ "0b12", "this is not a digit of the number", 1, 4 },
		{ "0x1ffffffffffffffff", "the number has more than 64 bits", 1, 1 },
		{ "12ab", "a number ends with a letter", 1, 1 },
		{ "1 = 2", "only variables and their parts", 1, 3 },
		{ "f() += 2", "only variables and their parts", 1, 5 },
		{ "f(1, 2", "')' is missing here", 1, 7 },
		{ "[1, 2", "']' is missing here", 1, 6 },
		{ "#{ 1: 2 }", "the name of a property is missing", 1, 4 },
		{ "#{ a 2 }", "':' is missing here", 1, 6 },
		{ "let if = 1", "'if' is a keyword", 1, 5 },
		{ "fn f(a, a) {}", "two parameters have the same name", 1, 6 },
		{ "for (a, b, c) in [] {}", "a for loop has a variable", 1, 1 },
		{ "switch 1 { _ => 2, 3 => 4 }", "a case behind the default", 1, 20 },
		{ "switch 1 { {1} => 2 }", "a case is a value or a range", 1, 12 },
		{ "return 1 2", "';' is missing before this", 1, 10 },
		{ "|| { break }", "'break' is not in a loop", 1, 6 },
		{ "loop { || continue }", "'continue' is not in a loop", 1, 11 },
		{ "global::X", "there is no constant 'X'", 1, 1 },
		{ "let a = a;", "there is no variable 'a'", 1, 9 },
		{ "{ let a = 1; }\na", "there is no variable 'a'", 2, 1 },
		{ "switch 1 { 1 => let b = 2, _ => b }", "there is no variable 'b'", 1, 33 },
		{ "const A = 1;\nA += 1", "the constant 'A' cannot be changed", 2, 1 },
		{ "const A = [1];\nA[0] = 1", "the constant 'A' cannot be changed", 2, 1 },
		{ "eval(\"1\")", "'eval' is not supported", 1, 1 },
		{ "f!(1)", "calls in the scope of the caller", 1, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err = { .text = "" };
		unsigned line = 0, column = 0;

		if (refuse(rows[i].text, &line, &column, &err) != -EINVAL)
			fail_msg("'%s' was taken", rows[i].text);
		if (!strstr(err.text, rows[i].reason) || line != rows[i].line ||
		    column != rows[i].column)
			fail_msg("'%s': %u:%u: %s", rows[i].text, line, column, err.text);
	}
}

/* What Lua says about the text that it becomes, or NULL. */
static void lua_takes(const char *text, size_t size)
{
	struct err err = { .text = "" };
	lua_State *state = luaL_newstate();
	struct buf out = { 0 };

	if (rhai_to_lua(text, size, &out, &err))
		fail_msg("%s", err.text);
	if (luaL_loadbufferx(state, out.data, out.size, "=script", "t"))
		fail_msg("%.60s…: %s", text, lua_tostring(state, -1));
	lua_close(state);
	buf_release(&out);
}

/* The line of the Lua text on which something stands. */
static unsigned line_with(const char *script, const char *what)
{
	struct buf out = { 0 };
	struct err err = { .text = "" };
	unsigned line, column;
	const char *at;

	if (rhai_to_lua(script, strlen(script), &out, &err))
		fail_msg("%s", err.text);
	at = strstr(out.data, what);
	if (!at)
		fail_msg("no %s in %s", what, out.data);
	rhai_position(out.data, out.size, (size_t)(at - out.data), &line, &column);
	buf_release(&out);
	return line;
}

static void lines_stay(void **state)
{
	static const char script[] = "let x = 1;\n"
				     "\n"
				     "/* two\n"
				     "lines */ fn f(a) {\n"
				     "    a.first()\n"
				     "        .second()\n"
				     "        + third(\n"
				     "            `x\n"
				     "y`, fourth())\n"
				     "}\n"
				     "if x > 1 {\n"
				     "    fifth();\n"
				     "} else if sixth() {\n"
				     "} else { seventh() }\n"
				     "x.push({ 1 });";

	assert_int_equal(line_with(script, "F.f_1"), 4);
	assert_int_equal(line_with(script, "\"first\""), 5);
	assert_int_equal(line_with(script, "\"second\""), 6);
	assert_int_equal(line_with(script, "R.add("), 7);
	assert_int_equal(line_with(script, "\"third\""), 7);
	assert_int_equal(line_with(script, "\"fourth\""), 9);
	assert_int_equal(line_with(script, "R.gt("), 11);
	assert_int_equal(line_with(script, "\"fifth\""), 12);
	assert_int_equal(line_with(script, "\"sixth\""), 13);
	assert_int_equal(line_with(script, "\"seventh\""), 14);
	assert_int_equal(line_with(script, "R.change("), 15);
}

/* Whatever is nested is refused here, and never by Lua. */
static void nested(void **state)
{
	static const struct {
		const char *open, *inside, *close;
	} rows[] = {
		{ "(", "1", ")" },
		{ "[", "1", "]" },
		{ "#{ a: ", "1", " }" },
		{ "{ ", "1", " }" },
		{ "f(", "1", ")" },
		{ "f(1, 2, 3, 4, ", "5", ")" },
		{ "[1, 2, 3, 4, ", "5", "]" },
		{ "- ", "1", "" },
		{ "!", "true", "" },
		{ "1 + (", "1", ")" },
		{ "1 ** ", "1", "" },
		{ "true && { ", "true", " }" },
		{ "1 ?? (", "1", ")" },
		{ "true && (", "true", ")" },
		{ "(", "true", ") || true" },
		{ "(", "1", ") + 1" },
		{ "(", "1", ").f(|a| a + 1)" },
		{ "if { ", "true", " } { 1 } else { 2 }" },
		{ "if true { ", "1", " }" },
		{ "if true { 1 } else ", "{ 1 }", "" },
		{ "if { true } { 1 } else ", "{ 1 }", "" },
		{ "while true { ", "break", " }" },
		{ "for a in [1] { ", "a", " }" },
		{ "do { ", "1", " } while true" },
		{ "do { 1 } while { ", "false", " }" },
		{ "switch 1 { 1 => ", "2", ", _ => 3 }" },
		{ "|a| ", "a", "" },
		{ "|a| { a + ", "1", " }" },
		{ "f().g({ ", "1", " })" },
		{ "`${", "1", "}`" },
		{ "`${1; ", "1", "}`" },
		{ "f()[", "0", "]" },
		{ "f()?.g(", "0", ")" },
		{ "let x = { ", "1", " };" },
		{ "return { ", "1", " }" },
		{ "loop { break ", "1", " }" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned taken = 0;

		for (unsigned depth = 1; depth < 2 * RHAI_DEPTH_MAX; depth++) {
			struct err err = { .text = "" };
			struct buf text = { 0 }, lua = { 0 };

			for (unsigned n = 0; n < depth; n++)
				buf_text(&text, rows[i].open);
			buf_text(&text, rows[i].inside);
			for (unsigned n = 0; n < depth; n++)
				buf_text(&text, rows[i].close);
			if (!rhai_to_lua(text.data, text.size, &lua, &err)) {
				lua_takes(text.data, text.size);
				taken = depth;
			} else if (!strstr(err.text, "nested") &&
				   !strstr(err.text, "in one function")) {
				fail_msg("%s: %s", text.data, err.text);
			}
			buf_release(&text);
			buf_release(&lua);
		}
		if (taken < 12 || taken > RHAI_DEPTH_MAX)
			fail_msg("%s…%s was taken %u deep", rows[i].open, rows[i].close, taken);
	}
}

/* One thing many times: no stack, no limit of Lua's. */
static void repeated(void **state)
{
	static const struct {
		const char *before, *what, *after;
		unsigned count;
		bool refused;
	} rows[] = {
		{ "let s = 1", " + 1", ";", 350, false },
		{ "let s = 1", " + 1", ";", 40000, true },
		{ "let s = f()", ".g()", ";", 350, false },
		{ "let s = f()", "\n.g()", ";", 350, false },
		{ "let s = f()", "[0]", ";", 100000, true },
		{ "let s = f()", " ?? 1", ";", 40000, true },
		{ "let s = f()", "?.a", ";", 100000, true },
		{ "", "!", "true", 100000, true },
		{ "let x = 1;", "x += { 1 };", "", 20000, false },
		{ "", "let x = 1;", "", 20000, false },
		{ "fn f() {", "let x = 1;", "}", 110, false },
		{ "fn f() {", "let x = 1;", "}", 1000, true },
		{ "fn f() {", "{ let x = 1; }", "}", 10000, false },
		{ "let x = [", "1, ", "];", 80000, false },
		{ "let x = [", "{ 1 }, ", "];", 1000, true },
		{ "f(", "1, ", ");", 60, false },
		{ "f(", "1, ", ");", 70, true },
		{ "switch 1 { ", "2 => { 3 } ", "}", 5000, false },
		{ "if f() {} ", "else if f() {} ", "", 40, false },
		{ "", "1;", "", 131000, false },
		{ "let x = 1;", "x;", "", 131000, false },
		{ "", "() ?? 1;", "", 32000, false },
		{ "fn f() {", "() ?? 1;", "}", 15000, false },
		{ "fn f() {", "() ?? 1;", "}", 32000, true },
		{ "fn f() {", "{ let x; }", "}", 15000, false },
		{ "", "for i in 1 {}", "", 20000, false },
		{ "fn f() {", "for i in 1 {}", "}", 20000, true },
		{ "", "|a| a;", "", 40000, false },
		{ "", "/*", "", 100000, true },
		{ "`", "${1}", "`", 10000, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err = { .text = "" };
		struct buf text = { 0 }, lua = { 0 };
		int error;

		buf_text(&text, rows[i].before);
		for (unsigned n = 0; n < rows[i].count; n++)
			buf_text(&text, rows[i].what);
		buf_text(&text, rows[i].after);
		error = rhai_to_lua(text.data, text.size, &lua, &err);
		if (!error != !rows[i].refused)
			fail_msg("%s%s…: %s", rows[i].before, rows[i].what, err.text);
		if (!error)
			lua_takes(text.data, text.size);
		buf_release(&text);
		buf_release(&lua);
	}
}

static void too_long(void **state)
{
	char *text = calloc(1, RHAI_SIZE_MAX + 1);
	struct err err = { .text = "" };
	struct buf out = { 0 };

	memset(text, ' ', RHAI_SIZE_MAX + 1);
	assert_int_equal(rhai_to_lua(text, RHAI_SIZE_MAX, &out, &err), 0);
	assert_int_equal(rhai_to_lua(text, RHAI_SIZE_MAX + 1, &out, &err), -E2BIG);
	buf_release(&out);
	free(text);
}

UNIT(rhai)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),  cmocka_unit_test(lines_stay), cmocka_unit_test(nested),
		cmocka_unit_test(repeated), cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
