/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rhai's statements, and the expressions that are made of them: if, switch, loops, blocks.  See
 * rhai_parse.h. */
#include <string.h>

#include "script/rhai_parse.h"

static struct rhai_node *parse_block(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_BLOCK);

	rhai_want(r, "{");
	if (rhai_enter(r))
		rhai_parse_statements(r, "}", n);
	r->depth--;
	rhai_want(r, "}");
	return n;
}

static struct rhai_node *parse_loop_body(struct rhai *r)
{
	struct rhai_node *n;

	r->loops++;
	n = parse_block(r);
	r->loops--;
	return n;
}

static struct rhai_node *parse_if(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_IF);

	rhai_next(r);
	rhai_add(r, n, rhai_parse_expression(r));
	rhai_add(r, n, parse_block(r));
	if (rhai_take(r, "else")) {
		if (rhai_at(r, "if") && rhai_enter(r)) {
			rhai_add(r, n, parse_if(r));
			r->depth--;
		} else {
			rhai_add(r, n, parse_block(r));
		}
	}
	return rhai_finish(r, n);
}

static bool is_default(const struct rhai *r)
{
	return r->token.kind == RHAI_TOKEN_NAME && rhai_text_is(r->token.text, "_");
}

/* values if condition => what is done */
static struct rhai_node *parse_case(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_CASE);

	if (is_default(r)) {
		rhai_next(r);
	} else {
		do {
			rhai_add(r, n, rhai_parse_case_value(r));
			if (n->kids[n->count - 1]->hoisted)
				rhai_fail(r, n->at, "a case is a value or a range");
		} while (rhai_take(r, "|"));
		n->number = (int64_t)n->count;
	}
	if (rhai_take(r, "if")) {
		rhai_add(r, n, rhai_parse_expression(r));
		if (n->kids[n->count - 1]->hoisted)
			rhai_fail(r, n->at, "this is not supported in the condition of a case");
	}
	rhai_want(r, "=>");
	rhai_add(r, n, rhai_parse_statement(r));
	return rhai_finish(r, n);
}

static struct rhai_node *parse_switch(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_SWITCH);
	bool last = false;

	rhai_next(r);
	rhai_add(r, n, rhai_parse_expression(r));
	rhai_want(r, "{");
	while (!r->failed && !rhai_at(r, "}")) {
		const struct rhai_node *body;
		struct rhai_node *c;

		if (last)
			rhai_fail(r, r->token.at, "a case behind the default is never chosen");
		c = parse_case(r);
		last = !c->number && c->count == 1;
		rhai_add(r, n, c);
		body = c->kids[c->count - 1];
		if (!rhai_take(r, ",") && body->kind != RHAI_BLOCK && !rhai_at(r, "}"))
			rhai_fail(r, r->token.at, "',' is missing here");
	}
	rhai_want(r, "}");
	return rhai_finish(r, n);
}

static struct rhai_node *parse_while(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_WHILE);

	rhai_next(r);
	rhai_add(r, n, rhai_parse_expression(r));
	rhai_add(r, n, parse_loop_body(r));
	return rhai_finish(r, n);
}

static struct rhai_node *parse_loop(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_LOOP);

	rhai_next(r);
	rhai_add(r, n, parse_loop_body(r));
	return rhai_finish(r, n);
}

static struct rhai_node *parse_do(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_DO);

	rhai_next(r);
	rhai_add(r, n, parse_loop_body(r));
	n->number = rhai_at(r, "until");
	if (!rhai_take(r, "until"))
		rhai_want(r, "while");
	rhai_add(r, n, rhai_parse_expression(r));
	return rhai_finish(r, n);
}

/* for x in …, for (x, i) in … */
static struct rhai_node *parse_for(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_FOR);

	rhai_next(r);
	if (rhai_take(r, "(")) {
		rhai_parse_parameters(r, n, ")");
		if (n->parameter_count != 2)
			rhai_fail(r, n->at, "a for loop has a variable, or one and a counter");
	} else {
		n->parameters = rhai_alloc(r, sizeof(*n->parameters));
		n->parameters[n->parameter_count++] = rhai_take_name(r, "variable");
	}
	rhai_want(r, "in");
	rhai_add(r, n, rhai_parse_expression(r));
	rhai_add(r, n, parse_loop_body(r));
	return rhai_finish(r, n);
}

static const struct {
	const char *word;
	struct rhai_node *(*parse)(struct rhai *r);
} flows[] = {
	{ "if", parse_if },   { "switch", parse_switch }, { "while", parse_while },
	{ "do", parse_do },   { "loop", parse_loop },	  { "for", parse_for },
	{ "{", parse_block },
};

bool rhai_flow_begins(const struct rhai *r)
{
	for (size_t i = 0; i < sizeof(flows) / sizeof(*flows); i++)
		if (rhai_at(r, flows[i].word))
			return true;
	return false;
}

struct rhai_node *rhai_parse_flow(struct rhai *r)
{
	for (size_t i = 0; i < sizeof(flows) / sizeof(*flows); i++)
		if (rhai_at(r, flows[i].word))
			return flows[i].parse(r);
	return rhai_finish(r, rhai_node(r, RHAI_UNIT));
}

static bool statement_ends(const struct rhai *r)
{
	return rhai_at(r, ";") || rhai_at(r, "}") || rhai_at(r, ",") ||
	       r->token.kind == RHAI_TOKEN_END;
}

static struct rhai_node *parse_let(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_LET);

	n->number = rhai_at(r, "const");
	rhai_next(r);
	n->text = rhai_take_name(r, n->number ? "constant" : "variable");
	if (rhai_take(r, "="))
		rhai_add(r, n, rhai_parse_expression(r));
	return rhai_finish(r, n);
}

static struct rhai_node *parse_function(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_FN);

	if (r->depth || r->functions)
		rhai_fail(r, r->token.at, "a function is defined outside of blocks and functions");
	rhai_want(r, "fn");
	n->text = rhai_take_name(r, "function");
	rhai_want(r, "(");
	rhai_parse_parameters(r, n, ")");
	r->functions++;
	rhai_add(r, n, parse_block(r));
	r->functions--;
	return rhai_finish(r, n);
}

/* return, break, throw: what they take along may be missing. */
static struct rhai_node *parse_leave(struct rhai *r, enum rhai_kind kind)
{
	struct rhai_node *n = rhai_node(r, kind);

	if ((kind == RHAI_BREAK || kind == RHAI_CONTINUE) && !r->loops)
		rhai_fail(r, r->token.at, "'%s' is not in a loop", r->token.word);
	rhai_next(r);
	if (kind != RHAI_CONTINUE && !statement_ends(r))
		rhai_add(r, n, rhai_parse_expression(r));
	return rhai_finish(r, n);
}

static struct rhai_node *parse_assignment(struct rhai *r, struct rhai_node *target)
{
	static const struct {
		const char *sign, *word;
	} signs[] = {
		{ "=", "" },	 { "+=", "+" }, { "-=", "-" },	 { "*=", "*" },
		{ "/=", "/" },	 { "%=", "%" }, { "**=", "**" }, { "<<=", "<<" },
		{ ">>=", ">>" }, { "&=", "&" }, { "|=", "|" },	 { "^=", "^" },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		struct rhai_node *n;

		if (!rhai_at(r, signs[i].sign))
			continue;
		if (!rhai_is_place(target))
			rhai_fail(r, r->token.at, "only variables and their parts are assigned to");
		n = rhai_node(r, RHAI_ASSIGN);
		n->word = signs[i].word;
		rhai_next(r);
		rhai_add(r, n, target);
		rhai_add(r, n, rhai_parse_expression(r));
		return rhai_finish(r, n);
	}
	return target;
}

struct rhai_node *rhai_parse_statement(struct rhai *r)
{
	struct rhai_node *n;

	if (!rhai_enter(r)) {
		r->depth--;
		return rhai_finish(r, rhai_node(r, RHAI_UNIT));
	}
	if (rhai_at(r, "let") || rhai_at(r, "const"))
		n = parse_let(r);
	else if (rhai_at(r, "return"))
		n = parse_leave(r, RHAI_RETURN);
	else if (rhai_at(r, "break"))
		n = parse_leave(r, RHAI_BREAK);
	else if (rhai_at(r, "continue"))
		n = parse_leave(r, RHAI_CONTINUE);
	else if (rhai_at(r, "throw"))
		n = parse_leave(r, RHAI_THROW);
	else if (rhai_flow_begins(r))
		n = rhai_parse_flow(r);
	else
		n = parse_assignment(r, rhai_parse_expression(r));
	r->depth--;
	return n;
}

/* Needs no semicolon behind it. */
static bool ends_itself(const struct rhai_node *n)
{
	return n->kind == RHAI_IF || n->kind == RHAI_SWITCH || n->kind == RHAI_WHILE ||
	       n->kind == RHAI_LOOP || n->kind == RHAI_FOR || n->kind == RHAI_BLOCK ||
	       n->kind == RHAI_FN;
}

struct rhai_node *rhai_parse_statements(struct rhai *r, const char *close, struct rhai_node *block)
{
	while (!r->failed && r->token.kind != RHAI_TOKEN_END && !rhai_at(r, close)) {
		struct rhai_node *n;
		bool flow;

		if (rhai_take(r, ";"))
			continue;
		flow = rhai_flow_begins(r);
		if (rhai_take(r, "private") && !rhai_at(r, "fn"))
			rhai_fail(r, r->token.at, "'fn' is missing here");
		n = rhai_at(r, "fn") ? parse_function(r) : rhai_parse_statement(r);
		rhai_add(r, block, n);
		if (!rhai_take(r, ";") && !(ends_itself(n) && (flow || n->kind == RHAI_FN)) &&
		    !rhai_at(r, close) && r->token.kind != RHAI_TOKEN_END)
			rhai_fail(r, r->token.at, "';' is missing before this");
	}
	return rhai_finish(r, block);
}

struct rhai_node *rhai_parse(struct rhai *r)
{
	struct rhai_node *n;

	r->line = 1;
	rhai_next(r);
	n = rhai_parse_statements(r, "the end", rhai_node(r, RHAI_BLOCK));
	return n;
}
