/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rhai's expressions as Lua's.  See rhai_write.h.
 *
 * Nearly every operator and method is a call of the runtime library, which knows what Rhai means
 * by it.  An expression is written in two steps: what must come before it as statements (blocks,
 * loops and the like that are used as values, and every operand to the left of one, so that the
 * order stays), then the rest of it in one piece. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "script/rhai_write.h"

/* Lua refuses more than 200 of either, where it counts a level twice at times, and 255 registers.
 */
#define LEVEL_MAX 95
#define LOCALS_MAX 120
/* Names that Lua remembers of a function, though most are out of sight: 32767 at most. */
#define DECLARED_MAX 20000
#define PENDING_MAX 120
/* Elements of a table that Lua holds in registers before it puts them there. */
#define ELEMENTS_HELD 50

static const struct {
	const char *word, *function;
} binaries[] = {
	{ "+", "add" },	 { "-", "sub" },  { "*", "mul" },    { "/", "div" },  { "%", "rem" },
	{ "**", "pow" }, { "<<", "shl" }, { ">>", "shr" },   { "&", "band" }, { "|", "bor" },
	{ "^", "bxor" }, { "==", "eq" },  { "!=", "ne" },    { "<", "lt" },   { "<=", "le" },
	{ ">", "gt" },	 { ">=", "ge" },  { "in", "is_in" },
};

void rhai_to_line(struct rhai_writer *w, unsigned line)
{
	for (; w->line < line; w->line++)
		buf_char(w->out, '\n');
}

void rhai_put(struct rhai_writer *w, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_text(w->out, text);
}

static void put_plain(struct rhai_writer *w, struct rhai_text text)
{
	buf_add(w->out, text.data, text.size);
}

void rhai_put_name(struct rhai_writer *w, struct rhai_variable v)
{
	if (v.global && v.constant)
		rhai_put(w, "V.c_"); /* functions know it by its name alone */
	else
		rhai_put(w, "%sv%u_", v.global ? "V." : "", v.id);
	put_plain(w, v.name);
}

void rhai_put_quoted(struct rhai_writer *w, struct rhai_text text)
{
	buf_char(w->out, '"');
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '"' || c == '\\' || c < ' ' || c > '~')
			rhai_put(w, "\\%03u", c);
		else
			buf_char(w->out, (char)c);
	}
	buf_char(w->out, '"');
}

void rhai_deeper(struct rhai_writer *w, const struct rhai_node *n)
{
	if (++w->level > LEVEL_MAX)
		rhai_fail(w->r, n->at, "nested too deeply");
}

void rhai_count_local(struct rhai_writer *w, const struct rhai_node *n)
{
	if (++w->declared > DECLARED_MAX)
		rhai_fail(w->r, n->at, "the function is too long: make several of it");
	if (++w->locals > LOCALS_MAX)
		rhai_fail(w->r, n->at, "more than %d variables and operands in one function",
			  LOCALS_MAX);
}

unsigned rhai_new_temporary(struct rhai_writer *w, const struct rhai_node *n)
{
	rhai_count_local(w, n);
	return ++w->temporaries;
}

bool rhai_changes_variable(const struct rhai_node *n)
{
	return n->kind == RHAI_METHOD && n->kids[0]->kind == RHAI_VARIABLE && rhai_changes(n->text);
}

/* x.y.trim() and x[i].trim(), which change a part of something. */
static bool rhai_changes_part(const struct rhai_node *n)
{
	return n->kind == RHAI_METHOD && rhai_changes(n->text) &&
	       (n->kids[0]->kind == RHAI_INDEX || n->kids[0]->kind == RHAI_PROPERTY);
}

/* A constant, or a part of one. */
static bool is_constant(struct rhai_writer *w, const struct rhai_node *n)
{
	const struct rhai_variable *v;

	while (n->kind == RHAI_INDEX || n->kind == RHAI_PROPERTY)
		n = n->kids[0];
	v = n->kind == RHAI_VARIABLE ? rhai_find_variable(w, n->text) : NULL;
	return n->kind == RHAI_GLOBAL || (v && v->constant);
}

/* Has it a value only after statements of its own, and not as an expression behind some? */
static bool is_statement(const struct rhai_node *n)
{
	return (n->kind >= RHAI_COALESCE && n->kind != RHAI_PASSED && n->kind != RHAI_CLOSURE) ||
	       (n->kind == RHAI_LOGIC && n->kids[1]->hoisted) || rhai_changes_variable(n);
}

static bool is_fixed(const struct rhai_node *n)
{
	return n->kind <= RHAI_CHAR || n->kind == RHAI_CLOSURE;
}

/* Of a chain of calls the temporary that it begins with: what comes of it can go there as well,
 * as nobody else reads it.  0: there is none. */
static unsigned reusable(const struct rhai_node *n)
{
	while (!n->temporary && (n->kind == RHAI_BINARY || n->kind == RHAI_METHOD ||
				 n->kind == RHAI_INDEX || n->kind == RHAI_PROPERTY))
		n = n->kids[0];
	return n->kind == RHAI_PASSED ? 0 : n->temporary;
}

void rhai_put_aside(struct rhai_writer *w, struct rhai_node *n, bool own)
{
	unsigned t = reusable(n);

	if (n->temporary || w->r->failed)
		return;
	rhai_to_line(w, n->first_line);
	if (!t) {
		t = rhai_new_temporary(w, n);
		rhai_put(w, "local ");
	}
	rhai_put(w, "t%u = ", t);
	rhai_put_value(w, n, own);
	rhai_put(w, " ");
	n->temporary = t;
}

void rhai_put_all_before(struct rhai_writer *w, struct rhai_node **nodes, size_t count,
			 bool first_apart, bool of_first)
{
	size_t last = 0; /* one more than the last that is hoisted */

	for (size_t i = 0; i < count; i++)
		if (nodes[i]->hoisted)
			last = i + 1;
	for (size_t i = 0; i < count && !w->r->failed; i++) {
		rhai_put_before(w, nodes[i]);
		if ((i + 1 < last || (!i && first_apart)) && !is_fixed(nodes[i]))
			rhai_put_aside(w, nodes[i], i || !of_first);
	}
}

/* Of what is changed not its value, but what it is a part of and where. */
static void put_parts_before(struct rhai_writer *w, struct rhai_node *n)
{
	struct rhai_node *of = n->kids[0], *nodes[RHAI_ARGUMENTS_MAX + 2];
	size_t count = 0;

	for (size_t i = 0; i < of->count; i++)
		nodes[count++] = of->kids[i];
	for (size_t i = 1; i < n->count && count < RHAI_ARGUMENTS_MAX + 2; i++)
		nodes[count++] = n->kids[i];
	rhai_put_all_before(w, nodes, count, n->first_apart || of->first_apart, true);
}

void rhai_put_before(struct rhai_writer *w, struct rhai_node *n)
{
	unsigned t;

	if (!n->hoisted || n->temporary || w->r->failed)
		return;
	if (rhai_changes_part(n)) {
		put_parts_before(w, n);
		return;
	}
	if (!is_statement(n)) {
		rhai_put_all_before(w, n->kids, n->count, n->first_apart,
				    n->kind == RHAI_METHOD || n->kind == RHAI_INDEX ||
					    n->kind == RHAI_PROPERTY);
		return;
	}
	t = rhai_new_temporary(w, n);
	rhai_put(w, "local t%u ", t);
	rhai_put_statement(w, n, (struct rhai_destination){ RHAI_TO_TEMPORARY, t });
	n->temporary = t;
}

static void put_int(struct rhai_writer *w, int64_t number)
{
	if (number == INT64_MIN)
		rhai_put(w, "0x8000000000000000");
	else
		rhai_put(w, number < 0 ? "(%" PRId64 ")" : "%" PRId64, number);
}

static void put_float(struct rhai_writer *w, double real)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", real);
	if (strpbrk(text, "n")) /* infinite: more digits than a float has */
		rhai_put(w, real < 0 ? "(-1e999)" : "1e999");
	else
		rhai_put(w, "(%s%s)", text, strpbrk(text, ".e") ? "" : ".0");
}

/* An operand, while Lua holds so many registers for what it belongs to. */
static void put_operand(struct rhai_writer *w, const struct rhai_node *n, bool own, size_t pending)
{
	w->pending += pending;
	if (w->pending > PENDING_MAX)
		rhai_fail(w->r, n->at, "too much is nested in one expression: use variables");
	rhai_put_value(w, n, own);
	w->pending -= pending;
}

static void put_list(struct rhai_writer *w, const char *function, const struct rhai_node *n)
{
	rhai_put(w, "R.%s({", function);
	for (size_t i = 0; i < n->count; i++) {
		rhai_put(w, i ? ", " : "");
		put_operand(w, n->kids[i], true, 2 + i % ELEMENTS_HELD);
	}
	rhai_put(w, "}, %zu)", n->count);
}

void rhai_put_arguments(struct rhai_writer *w, const struct rhai_node *n)
{
	for (size_t i = 1; i < n->count; i++) {
		rhai_put(w, ", ");
		put_operand(w, n->kids[i], true, 2 + i);
	}
}

void rhai_put_part(struct rhai_writer *w, const struct rhai_node *part)
{
	put_operand(w, part->kids[0], false, 1);
	rhai_put(w, ", ");
	if (part->kind == RHAI_INDEX)
		put_operand(w, part->kids[1], false, 2);
	else
		rhai_put_quoted(w, part->text);
}

/* A part that a method changes is put back, as it may be a string. */
static void put_method(struct rhai_writer *w, const struct rhai_node *n)
{
	const struct rhai_node *of = n->kids[0];

	if (rhai_has_function(w, n->text, n->count - 1))
		rhai_fail(w->r, n->at, "'this' is not supported: call '%.*s' with an argument",
			  n->text.size < 60 ? (int)n->text.size : 60, n->text.data);
	if (rhai_changes_part(n) && !is_constant(w, of)) {
		rhai_put(w, "R.change_in(");
		rhai_put_part(w, of);
	} else {
		rhai_put(w, "R.%s(",
			 rhai_changes(n->text) && is_constant(w, of) ? "method_of_constant"
								     : "method");
		put_operand(w, of, false, 1);
	}
	rhai_put(w, ", ");
	rhai_put_quoted(w, n->text);
	rhai_put_arguments(w, n);
	rhai_put(w, ")");
}

static void put_call(struct rhai_writer *w, const struct rhai_node *n)
{
	bool own = rhai_has_function(w, n->text, n->count);
	const struct rhai_variable *v = own ? NULL : rhai_find_variable(w, n->text);

	if (own) {
		rhai_put(w, "F.");
		put_plain(w, n->text);
		rhai_put(w, "_%zu(", n->count);
	} else if (v) {
		rhai_put(w, "R.method(");
		rhai_put_name(w, *v);
		rhai_put(w, ", \"call\"%s", n->count ? ", " : "");
	} else {
		rhai_put(w, "R.call(");
		rhai_put_quoted(w, n->text);
		rhai_put(w, n->count ? ", " : "");
	}
	for (size_t i = 0; i < n->count; i++) {
		rhai_put(w, i ? ", " : "");
		put_operand(w, n->kids[i], true, 3 + i);
	}
	rhai_put(w, ")");
}

static void put_binary(struct rhai_writer *w, const struct rhai_node *n)
{
	for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++)
		if (!strcmp(binaries[i].word, n->word))
			rhai_put(w, "R.%s(", binaries[i].function);
	put_operand(w, n->kids[0], false, 1);
	rhai_put(w, ", ");
	put_operand(w, n->kids[1], false, 2);
	rhai_put(w, ")");
}

static void put_condition(struct rhai_writer *w, const struct rhai_node *n)
{
	rhai_put(w, "R.bool(");
	put_operand(w, n, false, 1);
	rhai_put(w, ")");
}

static void put_operator(struct rhai_writer *w, const struct rhai_node *n)
{
	switch (n->kind) {
	case RHAI_UNARY:
		rhai_put(w, *n->word == '!'   ? "R.no("
			    : *n->word == '-' ? "R.negative("
					      : "R.positive(");
		put_operand(w, n->kids[0], false, 1);
		break;
	case RHAI_LOGIC:
		rhai_deeper(w, n); /* parentheses, operator and argument */
		rhai_put(w, "(");
		put_condition(w, n->kids[0]);
		rhai_put(w, *n->word == '&' ? " and " : " or ");
		put_condition(w, n->kids[1]);
		w->level--;
		break;
	case RHAI_RANGE:
		rhai_put(w, "R.range(");
		put_operand(w, n->kids[0], false, 1);
		rhai_put(w, ", ");
		put_operand(w, n->kids[1], false, 2);
		rhai_put(w, n->number ? ", true" : ", false");
		break;
	case RHAI_INDEX:
		rhai_put(w, "R.index(");
		put_operand(w, n->kids[0], false, 1);
		rhai_put(w, ", ");
		put_operand(w, n->kids[1], false, 2);
		break;
	default: /* RHAI_PROPERTY */
		rhai_put(w, "R.property(");
		put_operand(w, n->kids[0], false, 1);
		rhai_put(w, ", ");
		rhai_put_quoted(w, n->text);
	}
	rhai_put(w, ")");
}

static void put_variable(struct rhai_writer *w, const struct rhai_node *n)
{
	const struct rhai_variable *v = rhai_resolve(w, n);

	if (v)
		rhai_put_name(w, *v);
}

static void put_global(struct rhai_writer *w, const struct rhai_node *n)
{
	if (!rhai_has_constant(w, n->text))
		rhai_fail(w->r, n->at, "there is no constant '%.*s' outside of the functions",
			  n->text.size < 60 ? (int)n->text.size : 60, n->text.data);
	rhai_put(w, "V.c_");
	put_plain(w, n->text);
}

static void put_plain_value(struct rhai_writer *w, const struct rhai_node *n)
{
	switch (n->kind) {
	case RHAI_BOOL:
		rhai_put(w, n->number ? "true" : "false");
		break;
	case RHAI_INT:
		put_int(w, n->number);
		break;
	case RHAI_FLOAT:
		put_float(w, n->real);
		break;
	case RHAI_STRING:
		rhai_put_quoted(w, n->text);
		break;
	case RHAI_CHAR:
		rhai_put(w, "R.char(");
		rhai_put_quoted(w, n->text);
		rhai_put(w, ")");
		break;
	case RHAI_VARIABLE:
		put_variable(w, n);
		break;
	case RHAI_GLOBAL:
		put_global(w, n);
		break;
	case RHAI_INTERPOLATION:
		put_list(w, "text", n);
		break;
	case RHAI_ARRAY:
		put_list(w, "array", n);
		break;
	case RHAI_MAP:
		put_list(w, "map", n);
		break;
	case RHAI_BINARY:
		put_binary(w, n);
		break;
	case RHAI_METHOD:
		put_method(w, n);
		break;
	case RHAI_CALL:
		put_call(w, n);
		break;
	case RHAI_CLOSURE:
		rhai_put(w, "function");
		rhai_put_function(w, n);
		break;
	case RHAI_UNARY:
	case RHAI_LOGIC:
	case RHAI_RANGE:
	case RHAI_INDEX:
	case RHAI_PROPERTY:
		put_operator(w, n);
		break;
	default: /* (), or what was written as statements */
		rhai_put(w, "nil");
	}
}

void rhai_put_value(struct rhai_writer *w, const struct rhai_node *n, bool own)
{
	bool copy = own && !n->temporary && (rhai_is_place(n) || n->kind == RHAI_GLOBAL);

	if (w->r->failed)
		return;
	if (n->temporary) {
		rhai_put(w, "t%u", n->temporary);
		return;
	}
	rhai_deeper(w, n);
	rhai_to_line(w, n->first_line);
	rhai_put(w, copy ? "R.copy(" : "");
	put_plain_value(w, n);
	rhai_put(w, copy ? ")" : "");
	w->level--;
}

bool rhai_is_call(const struct rhai_node *n)
{
	return !n->temporary && n->kind >= RHAI_INTERPOLATION && n->kind <= RHAI_CALL;
}
