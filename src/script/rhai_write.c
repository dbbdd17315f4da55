/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rhai's statements as Lua's, and the whole script.  See rhai_write.h.
 *
 * What Rhai uses as a value, though Lua has it as a statement only, is told where its value goes:
 * to a temporary, or to the caller of the function.  Everything stands on the line of its script,
 * or behind it where it comes late. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/err.h"
#include "script/rhai.h"
#include "script/rhai_write.h"

/* Variables and operands after which a part of the script outside of functions ends. */
#define PART_DECLARES 1000

static const struct rhai_destination nowhere = { RHAI_NOWHERE, 0 };
static const struct rhai_destination to_caller = { RHAI_TO_CALLER, 0 };

/* What is declared until scope_close() is not seen behind it. */
struct scope {
	size_t variables;
	unsigned locals;
};

static struct scope scope_open(struct rhai_writer *w, const struct rhai_node *n)
{
	rhai_deeper(w, n);
	return (struct scope){ w->variable_count, w->locals };
}

static void scope_close(struct rhai_writer *w, struct scope s)
{
	w->variable_count = s.variables;
	w->locals = s.locals;
	w->level--;
}

static struct rhai_destination to_result(const struct rhai_writer *w)
{
	return (struct rhai_destination){ RHAI_TO_TEMPORARY, w->result };
}

/* The value is (). */
static void put_nothing(struct rhai_writer *w, struct rhai_destination to)
{
	if (to.goal == RHAI_TO_TEMPORARY)
		rhai_put(w, "t%u = nil ", to.temporary);
	else if (to.goal == RHAI_TO_CALLER)
		rhai_put(w, "return nil ");
}

static void put_temporary(struct rhai_writer *w, unsigned temporary, struct rhai_destination to)
{
	if (to.goal == RHAI_TO_TEMPORARY && to.temporary != temporary)
		rhai_put(w, "t%u = t%u ", to.temporary, temporary);
	else if (to.goal == RHAI_TO_CALLER)
		rhai_put(w, "return t%u ", temporary);
}

/* The parentheses keep Lua from leaving this function before the call: it would not know the line
 * any more when the call fails. */
static void put_result(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	rhai_to_line(w, n->first_line);
	if (to.goal == RHAI_TO_TEMPORARY) {
		rhai_put(w, "t%u = ", to.temporary);
		rhai_put_value(w, n, true);
	} else if (to.goal == RHAI_TO_CALLER) {
		rhai_put(w, "return (");
		rhai_put_value(w, n, true);
		rhai_put(w, ")");
	} else if (rhai_is_call(n)) {
		rhai_put_value(w, n, false);
	} else {
		rhai_put(w, "R.ignore(");
		rhai_put_value(w, n, false);
		rhai_put(w, ")");
	}
	rhai_put(w, " ");
}

static void put_expression(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct scope s;

	if (!n->hoisted) {
		put_result(w, n, to);
		return;
	}
	s = scope_open(w, n);
	rhai_put(w, "do ");
	rhai_put_before(w, n);
	put_result(w, n, to);
	rhai_put(w, "end ");
	scope_close(w, s);
}

/* Statements of which the last one's value is the block's. */
static void put_statements(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct scope s = scope_open(w, n);

	for (size_t i = 0; i < n->count; i++)
		rhai_put_statement(w, n->kids[i], i + 1 < n->count ? nowhere : to);
	if (!n->count)
		put_nothing(w, to);
	scope_close(w, s);
}

static void put_condition(struct rhai_writer *w, struct rhai_node *n)
{
	rhai_put(w, "R.bool(");
	rhai_put_value(w, n, false);
	rhai_put(w, ")");
}

static void put_if(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct scope s = scope_open(w, n);
	bool hoisted = n->kids[0]->hoisted;

	if (hoisted) {
		rhai_put(w, "do ");
		rhai_put_before(w, n->kids[0]);
	}
	rhai_put(w, "if ");
	put_condition(w, n->kids[0]);
	rhai_put(w, " then ");
	put_statements(w, n->kids[1], to);
	while (n->count > 2 && n->kids[2]->kind == RHAI_IF && !n->kids[2]->kids[0]->hoisted) {
		n = n->kids[2];
		rhai_to_line(w, n->line);
		rhai_put(w, "elseif ");
		put_condition(w, n->kids[0]);
		rhai_put(w, " then ");
		put_statements(w, n->kids[1], to);
	}
	if (n->count > 2) {
		rhai_put(w, "else ");
		rhai_put_statement(w, n->kids[2], to);
	} else if (to.goal != RHAI_NOWHERE) {
		rhai_put(w, "else ");
		put_nothing(w, to);
	}
	rhai_put(w, hoisted ? "end end " : "end ");
	scope_close(w, s);
}

static void put_case(struct rhai_writer *w, const struct rhai_node *n, unsigned value)
{
	size_t values = (size_t)n->number;

	rhai_to_line(w, n->line);
	rhai_put(w, values ? "(" : "");
	for (size_t i = 0; i < values; i++) {
		rhai_put(w, i ? " or R.case(t%u, " : "R.case(t%u, ", value);
		rhai_put_value(w, n->kids[i], false);
		rhai_put(w, ")");
	}
	rhai_put(w, values ? ")" : "");
	if (n->count > values + 1) {
		rhai_put(w, values ? " and " : "");
		put_condition(w, n->kids[values]);
	}
}

static void put_switch(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct scope s = scope_open(w, n);
	const char *word = "if ";
	bool complete = false;

	rhai_put(w, "do ");
	rhai_put_before(w, n->kids[0]);
	rhai_put_aside(w, n->kids[0], false);
	for (size_t i = 1; i < n->count; i++) {
		struct rhai_node *c = n->kids[i];
		struct scope inner;

		complete = c->count == 1; /* no values and no condition: the default */
		if (complete) {
			rhai_put(w, i > 1 ? "else " : "if true then ");
		} else {
			rhai_put(w, "%s", word);
			put_case(w, c, n->kids[0]->temporary);
			rhai_put(w, " then ");
		}
		inner = scope_open(w, c);
		rhai_put_statement(w, c->kids[c->count - 1], to);
		scope_close(w, inner);
		word = "elseif ";
	}
	if (!complete && n->count > 1) {
		rhai_put(w, "else ");
		put_nothing(w, to);
	}
	rhai_put(w, n->count > 1 ? "end " : "");
	if (n->count == 1)
		put_nothing(w, to);
	rhai_put(w, "end ");
	scope_close(w, s);
}

/* break and continue belong to it until loop_close(). */
static struct rhai_loop loop_open(struct rhai_writer *w, struct rhai_destination to)
{
	struct rhai_loop outer = w->loop;

	w->loop = (struct rhai_loop){ ++w->ids, to };
	return outer;
}

/* The block is one of Lua's, so that continue may leave it for the label behind it. */
static void put_body(struct rhai_writer *w, struct rhai_node *n)
{
	rhai_put(w, "do ");
	put_statements(w, n, nowhere);
	rhai_put(w, "end ::c%u:: ", w->loop.id);
}

static void put_end_if(struct rhai_writer *w, struct rhai_node *n, bool when)
{
	struct scope s = scope_open(w, n);

	rhai_put(w, "do ");
	rhai_put_before(w, n);
	rhai_put(w, when ? "if " : "if not ");
	put_condition(w, n);
	rhai_put(w, " then break end end ");
	scope_close(w, s);
}

/* One variable for all rounds: closures that capture it share it. */
static void put_for(struct rhai_writer *w, struct rhai_node *n)
{
	static const char *const from[] = { "e", "i" };
	struct scope s = scope_open(w, n);
	struct rhai_variable variables[2];
	unsigned id = w->loop.id;

	rhai_put(w, "do ");
	rhai_put_before(w, n->kids[0]);
	for (size_t i = 0; i < n->parameter_count; i++) {
		variables[i] = rhai_new_variable(w, n->parameters[i], false, false);
		rhai_put(w, "local ");
		rhai_put_name(w, variables[i]);
		rhai_put(w, " ");
	}
	rhai_put(w, "for i%u, e%u in R.each(", id, id);
	rhai_put_value(w, n->kids[0], false);
	rhai_put(w, ") do ");
	for (size_t i = 0; i < n->parameter_count; i++) {
		rhai_count_local(w, n);
		rhai_put_name(w, variables[i]);
		rhai_put(w, " = %s%u ", from[i], id);
		rhai_declare(w, variables[i]);
	}
	w->locals += 6; /* Lua's own four, i and e */
	w->declared += 6;
	put_body(w, n->kids[1]);
	rhai_put(w, "end end ");
	scope_close(w, s);
}

static void put_loop(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct rhai_loop outer;

	put_nothing(w, to);
	if (n->kind == RHAI_FOR) {
		outer = loop_open(w, to);
		put_for(w, n);
		w->loop = outer;
		return;
	}
	outer = loop_open(w, to);
	rhai_deeper(w, n);
	rhai_put(w, "while true do ");
	if (n->kind == RHAI_WHILE)
		put_end_if(w, n->kids[0], false);
	put_body(w, n->kids[n->kind == RHAI_WHILE]);
	if (n->kind == RHAI_DO)
		put_end_if(w, n->kids[1], n->number);
	rhai_put(w, "end ");
	w->level--;
	w->loop = outer;
}

static void put_coalesce(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	rhai_put_statement(w, n->kids[0], to);
	rhai_put(w, "if t%u == nil then ", to.temporary);
	rhai_put_statement(w, n->kids[1], to);
	rhai_put(w, "end ");
}

static void put_logic(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	bool both = *n->word == '&';

	rhai_put_statement(w, n->kids[0], to);
	rhai_put(w, both ? "if R.bool(t%u) then " : "if not R.bool(t%u) then ", to.temporary);
	rhai_put_statement(w, n->kids[1], to);
	rhai_put(w, "t%u = R.bool(t%u) end ", to.temporary, to.temporary);
}

/* a?.b().c: what follows is done with a unless that is (). */
static void put_optional(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct rhai_node *passed = n->kids[1];

	while (passed->kind != RHAI_PASSED)
		passed = passed->kids[0];
	rhai_put_statement(w, n->kids[0], to);
	rhai_put(w, "if t%u ~= nil then ", to.temporary);
	passed->temporary = to.temporary;
	rhai_put_statement(w, n->kids[1], to);
	rhai_put(w, "end ");
}

/* x.push(1): the library says what x then is, and what the method returns. */
static void put_change(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	const struct rhai_variable *found = rhai_resolve(w, n->kids[0]);
	struct rhai_variable v;

	if (!found)
		return;
	v = *found;
	rhai_put_all_before(w, n->kids + 1, n->count - 1, false, false);
	rhai_to_line(w, n->line);
	if (v.constant) {
		if (to.goal == RHAI_TO_TEMPORARY)
			rhai_put(w, "t%u = ", to.temporary);
		rhai_put_value(w, n, false);
		rhai_put(w, " ");
		return;
	}
	rhai_put_name(w, v);
	if (to.goal == RHAI_TO_TEMPORARY)
		rhai_put(w, ", t%u", to.temporary);
	rhai_put(w, " = R.change(");
	rhai_put_name(w, v);
	rhai_put(w, ", ");
	rhai_put_quoted(w, n->text);
	rhai_put_arguments(w, n);
	rhai_put(w, ") ");
}

/* The same as a statement, where nobody asks what it returns. */
static void put_change_alone(struct rhai_writer *w, struct rhai_node *n)
{
	struct scope s = scope_open(w, n);

	rhai_put(w, "do ");
	put_change(w, n, nowhere);
	rhai_put(w, "end ");
	scope_close(w, s);
}

/* What is done by way of a temporary, wherever the value then goes. */
static void
put_with_temporary(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to,
		   void (*put)(struct rhai_writer *, struct rhai_node *, struct rhai_destination))
{
	struct scope s = scope_open(w, n);
	struct rhai_destination t = to;

	rhai_put(w, "do ");
	if (to.goal != RHAI_TO_TEMPORARY) {
		t = (struct rhai_destination){ RHAI_TO_TEMPORARY, rhai_new_temporary(w, n) };
		rhai_put(w, "local t%u ", t.temporary);
	}
	put(w, n, t);
	put_temporary(w, t.temporary, to);
	rhai_put(w, "end ");
	scope_close(w, s);
}

static bool check_not_constant(struct rhai_writer *w, const struct rhai_node *n)
{
	const struct rhai_variable *v;

	while (n->kind != RHAI_VARIABLE)
		n = n->kids[0];
	v = rhai_resolve(w, n);
	if (v && v->constant)
		rhai_fail(w->r, n->at, "the constant '%.*s' cannot be changed",
			  v->name.size < 60 ? (int)v->name.size : 60, v->name.data);
	return v && !v->constant;
}

static void put_assign_variable(struct rhai_writer *w, struct rhai_node *target,
				struct rhai_node *n)
{
	rhai_put_before(w, n->kids[1]);
	rhai_to_line(w, n->line);
	rhai_put_value(w, target, false);
	rhai_put(w, " = ");
	if (*n->word) {
		rhai_put(w, "R.update(");
		rhai_put_value(w, target, false);
		rhai_put(w, ", \"%s\", ", n->word);
	}
	rhai_put_value(w, n->kids[1], true);
	rhai_put(w, *n->word ? ") " : " ");
}

/* x[i] = …, x.y[i] += …: what it is a part of is put back, as it may be a string, a value. */
static void put_assign_part(struct rhai_writer *w, struct rhai_node *target, struct rhai_node *n)
{
	struct rhai_node *of = target->kids[0], *nodes[4];
	bool variable = of->kind == RHAI_VARIABLE;
	size_t count = 0;

	for (size_t i = 0; i < of->count; i++)
		nodes[count++] = of->kids[i];
	if (target->kind == RHAI_INDEX)
		nodes[count++] = target->kids[1];
	nodes[count++] = n->kids[1];
	rhai_put_all_before(w, nodes, count, !variable && (target->first_apart || of->first_apart),
			    !variable);
	rhai_to_line(w, target->line);
	if (variable) {
		rhai_put_value(w, of, false);
		rhai_put(w, " = R.%s_part(", *n->word ? "update" : "set");
		rhai_put_part(w, target);
	} else {
		rhai_put(w, "R.%s_within(", *n->word ? "update" : "set");
		rhai_put_part(w, of);
		rhai_put(w, ", ");
		if (target->kind == RHAI_INDEX)
			rhai_put_value(w, target->kids[1], false);
		else
			rhai_put_quoted(w, target->text);
	}
	if (*n->word)
		rhai_put(w, ", \"%s\"", n->word);
	rhai_put(w, ", ");
	rhai_put_value(w, n->kids[1], true);
	rhai_put(w, ") ");
}

static void put_assign(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct rhai_node *target = n->kids[0];
	struct scope s;

	if (!check_not_constant(w, target))
		return;
	s = scope_open(w, n);
	rhai_put(w, "do ");
	if (target->kind == RHAI_VARIABLE)
		put_assign_variable(w, target, n);
	else
		put_assign_part(w, target, n);
	rhai_put(w, "end ");
	scope_close(w, s);
	put_nothing(w, to);
}

static void put_let(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	struct rhai_node *value = n->count ? n->kids[0] : NULL;
	bool global = w->level == 1 && !w->in_function;
	struct rhai_variable v = rhai_new_variable(w, n->text, n->number, global);
	struct scope s;

	if (!global) {
		rhai_count_local(w, n);
		rhai_put(w, "local ");
		rhai_put_name(w, v);
		rhai_put(w, " ");
	}
	if (value || global) {
		s = scope_open(w, n);
		rhai_put(w, "do ");
		if (value)
			rhai_put_before(w, value);
		rhai_put_name(w, v);
		rhai_put(w, " = ");
		if (value)
			rhai_put_value(w, value, true);
		else
			rhai_put(w, "nil");
		rhai_put(w, " end ");
		scope_close(w, s);
	}
	rhai_declare(w, v);
	put_nothing(w, to);
}

/* A part of the script outside of functions says that it is over by returning true. */
static void put_return(struct rhai_writer *w, struct rhai_node *n)
{
	rhai_put(w, "do ");
	if (n->count)
		rhai_put_statement(w, n->kids[0], w->in_function ? to_caller : to_result(w));
	if (!w->in_function)
		rhai_put(w, "do return true end ");
	else if (!n->count)
		rhai_put(w, "return nil ");
	rhai_put(w, "end ");
}

static void put_break(struct rhai_writer *w, struct rhai_node *n)
{
	if (n->count)
		rhai_put_statement(w, n->kids[0], w->loop.to);
	rhai_put(w, "break ");
}

static void put_throw(struct rhai_writer *w, struct rhai_node *n)
{
	struct scope s = scope_open(w, n);

	rhai_put(w, "do ");
	if (n->count)
		rhai_put_before(w, n->kids[0]);
	rhai_put(w, "R.throw(");
	if (n->count)
		rhai_put_value(w, n->kids[0], false);
	rhai_put(w, ") end ");
	scope_close(w, s);
}

void rhai_put_statement(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to)
{
	if (w->r->failed)
		return;
	if (n->temporary) {
		put_temporary(w, n->temporary, to);
		return;
	}
	if (!n->hoisted || n->kind >= RHAI_BLOCK) /* else its parts stand on lines before */
		rhai_to_line(w, n->first_line);
	switch (n->kind) {
	case RHAI_BLOCK:
		rhai_put(w, "do ");
		put_statements(w, n, to);
		rhai_put(w, "end ");
		break;
	case RHAI_IF:
		put_if(w, n, to);
		break;
	case RHAI_SWITCH:
		put_switch(w, n, to);
		break;
	case RHAI_WHILE:
	case RHAI_DO:
	case RHAI_LOOP:
	case RHAI_FOR:
		if (to.goal == RHAI_TO_CALLER)
			put_with_temporary(w, n, to, put_loop);
		else
			put_loop(w, n, to);
		break;
	case RHAI_LET:
		put_let(w, n, to);
		break;
	case RHAI_ASSIGN:
		put_assign(w, n, to);
		break;
	case RHAI_RETURN:
		put_return(w, n);
		break;
	case RHAI_BREAK:
		put_break(w, n);
		break;
	case RHAI_CONTINUE:
		rhai_put(w, "goto c%u ", w->loop.id);
		break;
	case RHAI_THROW:
		put_throw(w, n);
		break;
	case RHAI_COALESCE:
		put_with_temporary(w, n, to, put_coalesce);
		break;
	case RHAI_OPTIONAL:
		put_with_temporary(w, n, to, put_optional);
		break;
	default:
		if (rhai_changes_variable(n) && to.goal == RHAI_NOWHERE)
			put_change_alone(w, n);
		else if (rhai_changes_variable(n))
			put_with_temporary(w, n, to, put_change);
		else if (n->kind == RHAI_LOGIC && n->kids[1]->hoisted)
			put_with_temporary(w, n, to, put_logic);
		else
			put_expression(w, n, to);
	}
}

void rhai_put_function(struct rhai_writer *w, const struct rhai_node *n)
{
	struct scope s = scope_open(w, n);
	struct rhai_loop loop = w->loop;
	bool in_function = w->in_function;
	size_t pending = w->pending;
	unsigned declared = w->declared;

	w->locals = 0;
	w->declared = 0;
	w->pending = 0;
	w->in_function = true;
	rhai_put(w, "(");
	for (size_t i = 0; i < n->parameter_count; i++) {
		struct rhai_variable v = rhai_new_variable(w, n->parameters[i], false, false);

		rhai_put(w, i ? ", " : "");
		rhai_put_name(w, v);
		rhai_declare(w, v);
		rhai_count_local(w, n);
	}
	rhai_put(w, ") ");
	rhai_put_statement(w, n->kids[0], to_caller);
	rhai_put(w, "end");
	w->in_function = in_function;
	w->pending = pending;
	w->declared = declared;
	w->loop = loop;
	scope_close(w, s);
}

static void put_definition(struct rhai_writer *w, const struct rhai_node *n)
{
	size_t visible = w->visible;

	rhai_to_line(w, n->line);
	rhai_put(w, "F.");
	buf_add(w->out, n->text.data, n->text.size);
	rhai_put(w, "_%zu = function", n->parameter_count);
	w->visible = w->variable_count;
	w->enclosed = true;
	rhai_put_function(w, n);
	w->enclosed = false;
	w->visible = visible;
	rhai_put(w, " ");
}

/* Functions may be called before the line on which they are defined: what is between two of them
 * becomes a function itself, or several where it is long, and all of these are executed at the
 * end. */
static void put_script(struct rhai_writer *w)
{
	const struct rhai_node *n = w->script;
	size_t last = n->count; /* the statement whose value is the script's */
	bool open = false;

	while (last && n->kids[last - 1]->kind == RHAI_FN)
		last--;
	w->result = ++w->temporaries;
	rhai_put(w, "local R = __rhai local V, F, M, t%u = %s, {}, nil ", w->result,
		 w->session ? "R.V, R.F" : "{}, {}");
	for (size_t i = 0; i < n->count && !w->r->failed; i++) {
		bool definition = n->kids[i]->kind == RHAI_FN;

		if (open && (definition || w->declared > PART_DECLARES)) {
			rhai_put(w, "end ");
			w->level--;
			w->locals = w->declared = 0;
			open = false;
		}
		if (!definition && !open) {
			rhai_put(w, "M[#M + 1] = function() ");
			w->level++;
			open = true;
		}
		if (definition)
			put_definition(w, n->kids[i]);
		else
			rhai_put_statement(w, n->kids[i], i + 1 == last ? to_result(w) : nowhere);
	}
	rhai_put(w, "%sR.run(M, F) return t%u\n", open ? "end " : "", w->result);
}

int rhai_to_lua(const char *text, size_t size, struct buf *out, struct err *err)
{
	return rhai_to_lua_in(NULL, text, size, out, err);
}

int rhai_to_lua_in(struct rhai_session *session, const char *text, size_t size, struct buf *out,
		   struct err *err)
{
	struct rhai r = { .text = text, .size = size, .err = err };
	struct buf lua = { 0 };
	struct rhai_writer w = { .r = &r, .out = &lua, .session = session, .line = 1 };

	if (size > RHAI_SIZE_MAX)
		return err_at(err, -E2BIG, RHAI_SIZE_MAX, "a script has at most %u bytes",
			      RHAI_SIZE_MAX);
	w.script = rhai_parse(&r);
	if (!r.failed) {
		rhai_find_functions(&w);
		if (session)
			rhai_session_begin(&w);
		put_script(&w);
	}
	if (!r.failed) {
		buf_add(out, lua.data, lua.size);
		if (session)
			rhai_session_keep(session, &w);
	}
	buf_release(&lua);
	free(w.variables);
	free(w.functions);
	rhai_release(&r);
	return r.failed ? -EINVAL : 0;
}
