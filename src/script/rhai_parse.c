/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rhai's expressions and statements: tokens to nodes, by recursive descent.  See rhai_tree.h.
 *
 * Nearly everything is an expression in Rhai, and nearly nothing is one in Lua.  So a node knows
 * whether statements must be written before it (hoisted), and whether its first kid must be
 * evaluated in a statement of its own: where a chain of calls goes on in another line, as an error
 * of the call is about that line, and where a chain is so long that Lua would refuse to nest it. */
#include <string.h>

#include "script/rhai_parse.h"

/* How deep expressions nest before a part of them becomes a statement of its own. */
#define HEIGHT_MAX 24

static struct rhai_node *parse_binary(struct rhai *r, int least);

bool rhai_at(const struct rhai *r, const char *word)
{
	return (r->token.kind == RHAI_TOKEN_SIGN || r->token.kind == RHAI_TOKEN_KEYWORD) &&
	       !strcmp(r->token.word, word);
}

bool rhai_take(struct rhai *r, const char *word)
{
	bool there = rhai_at(r, word);

	if (there)
		rhai_next(r);
	return there;
}

void rhai_want(struct rhai *r, const char *word)
{
	if (!rhai_take(r, word))
		rhai_fail(r, r->token.at, "'%s' is missing here", word);
}

struct rhai_node *rhai_node(struct rhai *r, enum rhai_kind kind)
{
	struct rhai_node *n = rhai_alloc(r, sizeof(*n));

	n->kind = kind;
	n->at = r->token.at;
	n->line = n->first_line = r->token.line;
	n->word = r->token.word;
	return n;
}

void rhai_add(struct rhai *r, struct rhai_node *n, struct rhai_node *kid)
{
	if (!(n->count & (n->count - 1))) { /* a power of two: it is full */
		struct rhai_node **kids =
			rhai_alloc(r, (n->count ? 2 * n->count : 1) * sizeof(*kids));

		if (n->count)
			memcpy(kids, n->kids, n->count * sizeof(*kids));
		n->kids = kids;
	}
	n->kids[n->count++] = kid;
}

struct rhai_text rhai_take_name(struct rhai *r, const char *of_what)
{
	struct rhai_text text = { "", 0 };

	if (r->token.kind == RHAI_TOKEN_NAME) {
		text = r->token.text;
		rhai_next(r);
	} else if (r->token.kind == RHAI_TOKEN_KEYWORD) {
		rhai_fail(r, r->token.at, "'%s' is a keyword, not the name of a %s", r->token.word,
			  of_what);
	} else {
		rhai_fail(r, r->token.at, "the name of a %s is missing here", of_what);
	}
	return text;
}

/* These keep what is in a block apart from what is around it. */
static bool is_statement_like(const struct rhai_node *n)
{
	return n->kind >= RHAI_LOGIC && n->kind != RHAI_LOGIC && n->kind != RHAI_CLOSURE &&
	       n->kind != RHAI_PASSED;
}

/* What is written with its first kid in front of what an error would be about. */
static bool follows_first(const struct rhai_node *n)
{
	return n->kind == RHAI_BINARY || n->kind == RHAI_RANGE || n->kind == RHAI_INDEX ||
	       n->kind == RHAI_PROPERTY || n->kind == RHAI_METHOD || n->kind == RHAI_LOGIC;
}

/* Called when a node has its kids. */
struct rhai_node *rhai_finish(struct rhai *r, struct rhai_node *n)
{
	n->hoisted = is_statement_like(n);
	n->height = n->depth = 1;
	for (size_t i = 0; i < n->count; i++) {
		const struct rhai_node *kid = n->kids[i];

		n->hoisted |= kid->hoisted && n->kind != RHAI_CLOSURE;
		n->height = n->height > kid->height ? n->height : kid->height + 1;
		n->depth = n->depth > kid->depth ? n->depth : kid->depth + 1;
	}
	if (follows_first(n)) {
		n->first_apart = n->kids[0]->height >= HEIGHT_MAX ||
				 (n->line != n->kids[0]->first_line && n->kind != RHAI_LOGIC);
		n->first_line = n->first_apart ? n->line : n->kids[0]->first_line;
		n->hoisted |= n->first_apart;
	}
	if (n->depth > RHAI_CHAIN_MAX)
		rhai_fail(r, n->at, "more than %d operators or calls in one expression",
			  RHAI_CHAIN_MAX);
	if (n->first_apart || is_statement_like(n))
		n->height = 1;
	return n;
}

bool rhai_is_place(const struct rhai_node *n)
{
	while (n->kind == RHAI_INDEX || n->kind == RHAI_PROPERTY)
		n = n->kids[0];
	return n->kind == RHAI_VARIABLE;
}

bool rhai_changes(struct rhai_text name)
{
	static const char *const names[] = {
		"append",    "chop",   "clear",	     "crop",	   "dedup",  "drain",
		"fill_with", "insert", "make_lower", "make_upper", "mixin",  "pad",
		"pop",	     "push",   "remove",     "replace",	   "retain", "reverse",
		"set",	     "shift",  "sort",	     "splice",	   "trim",   "truncate",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (rhai_text_is(name, names[i]))
			return true;
	return false;
}

bool rhai_enter(struct rhai *r)
{
	if (++r->depth > RHAI_DEPTH_MAX)
		rhai_fail(r, r->token.at, "nested too deeply");
	return !r->failed;
}

/* (a, b, …), of which the parenthesis is the token. */
static void parse_arguments(struct rhai *r, struct rhai_node *n)
{
	size_t before = n->count, at = r->token.at;

	rhai_want(r, "(");
	while (!r->failed && !rhai_at(r, ")")) {
		rhai_add(r, n, rhai_parse_expression(r));
		if (!rhai_take(r, ","))
			break;
	}
	rhai_want(r, ")");
	if (n->count - before > RHAI_ARGUMENTS_MAX)
		rhai_fail(r, at, "more than %d arguments", RHAI_ARGUMENTS_MAX);
}

void rhai_parse_parameters(struct rhai *r, struct rhai_node *n, const char *close)
{
	struct rhai_text names[RHAI_ARGUMENTS_MAX];
	size_t at = r->token.at, count = 0;

	while (!r->failed && !rhai_at(r, close)) {
		struct rhai_text name = rhai_take_name(r, "parameter");

		for (size_t i = 0; i < count; i++)
			if (names[i].size == name.size &&
			    !memcmp(names[i].data, name.data, name.size))
				rhai_fail(r, at, "two parameters have the same name");
		if (count == RHAI_ARGUMENTS_MAX)
			rhai_fail(r, at, "more than %d parameters", RHAI_ARGUMENTS_MAX);
		else
			names[count++] = name;
		if (!rhai_take(r, ","))
			break;
	}
	rhai_want(r, close);
	n->parameters = rhai_alloc(r, count * sizeof(*names));
	n->parameter_count = count;
	if (count)
		memcpy(n->parameters, names, count * sizeof(*names));
}

/* |a, b| body.  Loops outside are no loops for it. */
static struct rhai_node *parse_closure(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_CLOSURE);
	unsigned loops = r->loops;

	if (rhai_take(r, "||")) {
		n->parameters = NULL;
	} else {
		rhai_want(r, "|");
		rhai_parse_parameters(r, n, "|");
	}
	r->loops = 0;
	r->functions++;
	rhai_add(r, n, rhai_parse_statement(r));
	r->functions--;
	r->loops = loops;
	return rhai_finish(r, n);
}

static struct rhai_node *parse_array(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_ARRAY);

	rhai_want(r, "[");
	while (!r->failed && !rhai_at(r, "]")) {
		rhai_add(r, n, rhai_parse_expression(r));
		if (!rhai_take(r, ","))
			break;
	}
	rhai_want(r, "]");
	return rhai_finish(r, n);
}

static struct rhai_node *parse_map_key(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_STRING);

	n->text = r->token.text;
	if (r->token.kind == RHAI_TOKEN_NAME || r->token.kind == RHAI_TOKEN_STRING ||
	    (r->token.kind == RHAI_TOKEN_LITERAL && !r->token.more)) {
		rhai_next(r);
	} else if (r->token.kind == RHAI_TOKEN_KEYWORD) {
		n->text = (struct rhai_text){ r->token.word, strlen(r->token.word) };
		rhai_next(r);
	} else {
		rhai_fail(r, r->token.at, "the name of a property is missing here");
	}
	return rhai_finish(r, n);
}

static struct rhai_node *parse_map(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_MAP);

	rhai_want(r, "#{");
	while (!r->failed && !rhai_at(r, "}")) {
		rhai_add(r, n, parse_map_key(r));
		rhai_want(r, ":");
		rhai_add(r, n, rhai_parse_expression(r));
		if (!rhai_take(r, ","))
			break;
	}
	rhai_want(r, "}");
	return rhai_finish(r, n);
}

/* `…`: parts and what is between ${ and } in turn; just a string where there is no such thing. */
static struct rhai_node *parse_literal(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_INTERPOLATION), *part;

	for (;;) {
		bool more = r->token.more;

		part = rhai_node(r, RHAI_STRING);
		part->text = r->token.text;
		rhai_add(r, n, rhai_finish(r, part));
		if (r->token.kind != RHAI_TOKEN_LITERAL || !more)
			break;
		rhai_next(r);
		part = rhai_parse_statements(r, "}", rhai_node(r, RHAI_BLOCK));
		/* A block only where there is more than an expression. */
		rhai_add(r, n,
			 part->count == 1 && part->kids[0]->kind < RHAI_COALESCE ? part->kids[0]
										 : part);
		if (!rhai_at(r, "}"))
			rhai_fail(r, r->token.at, "'}' is missing here");
		else
			rhai_next_literal(r);
	}
	rhai_next(r);
	return n->count == 1 ? part : rhai_finish(r, n);
}

static struct rhai_node *parse_name(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_VARIABLE);

	n->text = rhai_take_name(r, "variable");
	if (rhai_at(r, "::"))
		rhai_fail(r, r->token.at, "modules are not supported; global:: is");
	if (rhai_at(r, "!"))
		rhai_fail(r, r->token.at, "calls in the scope of the caller are not supported");
	if (rhai_at(r, "(")) {
		n->kind = RHAI_CALL;
		parse_arguments(r, n);
	}
	return rhai_finish(r, n);
}

static struct rhai_node *parse_global(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_GLOBAL);

	rhai_next(r);
	rhai_want(r, "::");
	n->text = rhai_take_name(r, "constant");
	return rhai_finish(r, n);
}

static struct rhai_node *parse_parentheses(struct rhai *r)
{
	struct rhai_node *n = rhai_node(r, RHAI_UNIT);

	rhai_next(r);
	if (rhai_take(r, ")"))
		return rhai_finish(r, n);
	n = rhai_parse_expression(r);
	rhai_want(r, ")");
	return n;
}

static struct rhai_node *parse_token(struct rhai *r, enum rhai_kind kind)
{
	struct rhai_node *n = rhai_node(r, kind);

	n->number = kind == RHAI_BOOL ? rhai_at(r, "true") : r->token.number;
	n->real = r->token.real;
	n->text = r->token.text;
	rhai_next(r);
	return rhai_finish(r, n);
}

static void fail_expression(struct rhai *r)
{
	if (r->token.kind == RHAI_TOKEN_END)
		rhai_fail(r, r->token.at, "an expression is missing at the end");
	else if (r->token.kind == RHAI_TOKEN_KEYWORD)
		rhai_fail(r, r->token.at, "'%s' is not supported here", r->token.word);
	else
		rhai_fail(r, r->token.at, "an expression is missing before '%s'", r->token.word);
}

static struct rhai_node *parse_primary(struct rhai *r)
{
	switch (r->token.kind) {
	case RHAI_TOKEN_INT:
		return parse_token(r, RHAI_INT);
	case RHAI_TOKEN_FLOAT:
		return parse_token(r, RHAI_FLOAT);
	case RHAI_TOKEN_STRING:
		return parse_token(r, RHAI_STRING);
	case RHAI_TOKEN_CHAR:
		return parse_token(r, RHAI_CHAR);
	case RHAI_TOKEN_LITERAL:
		return parse_literal(r);
	case RHAI_TOKEN_NAME:
		return parse_name(r);
	default:
		break;
	}
	if (rhai_at(r, "true") || rhai_at(r, "false"))
		return parse_token(r, RHAI_BOOL);
	if (rhai_at(r, "("))
		return parse_parentheses(r);
	if (rhai_at(r, "["))
		return parse_array(r);
	if (rhai_at(r, "#{"))
		return parse_map(r);
	if (rhai_at(r, "|") || rhai_at(r, "||"))
		return parse_closure(r);
	if (rhai_at(r, "global"))
		return parse_global(r);
	if (rhai_flow_begins(r))
		return rhai_parse_flow(r);
	fail_expression(r);
	return rhai_finish(r, rhai_node(r, RHAI_UNIT));
}

static struct rhai_node *parse_index(struct rhai *r, struct rhai_node *of)
{
	struct rhai_node *n = rhai_node(r, RHAI_INDEX);

	rhai_next(r);
	rhai_add(r, n, of);
	rhai_add(r, n, rhai_parse_expression(r));
	rhai_want(r, "]");
	return rhai_finish(r, n);
}

static struct rhai_node *parse_member(struct rhai *r, struct rhai_node *of)
{
	struct rhai_node *n;

	rhai_next(r);
	n = rhai_node(r, RHAI_PROPERTY);
	rhai_add(r, n, of);
	n->text = rhai_take_name(r, "property or method");
	if (rhai_at(r, "(")) {
		n->kind = RHAI_METHOD;
		parse_arguments(r, n);
		n = rhai_finish(r, n);
		/* A variable that holds a string is assigned what the method makes of it. */
		if (of->kind == RHAI_VARIABLE && rhai_changes(n->text))
			n->hoisted = true;
		return n;
	}
	return rhai_finish(r, n);
}

/* .name, .name(…), [i], and ?. and ?[, which end the whole chain where something is (). */
static struct rhai_node *parse_postfix(struct rhai *r, struct rhai_node *n)
{
	for (;;) {
		bool optional = rhai_at(r, "?.") || rhai_at(r, "?[");

		if (optional) {
			struct rhai_node *whole = rhai_node(r, RHAI_OPTIONAL);
			struct rhai_node *passed = rhai_node(r, RHAI_PASSED);

			rhai_add(r, whole, n);
			if (!rhai_enter(r))
				return n;
			passed = rhai_finish(r, passed);
			passed =
				rhai_at(r, "?[") ? parse_index(r, passed) : parse_member(r, passed);
			rhai_add(r, whole, parse_postfix(r, passed));
			r->depth--;
			return rhai_finish(r, whole);
		}
		if (rhai_at(r, "."))
			n = parse_member(r, n);
		else if (rhai_at(r, "["))
			n = parse_index(r, n);
		else
			return n;
	}
}

/* A minus that touches a number is a part of it: -5.abs() is 5. */
static bool is_number_at(const struct rhai *r, size_t at)
{
	return (r->token.kind == RHAI_TOKEN_INT || r->token.kind == RHAI_TOKEN_FLOAT) &&
	       r->token.at == at;
}

static struct rhai_node *parse_unary(struct rhai *r)
{
	struct rhai_node *n;
	size_t end = r->token.end;

	if (!rhai_at(r, "-") && !rhai_at(r, "+") && !rhai_at(r, "!"))
		return parse_postfix(r, parse_primary(r));
	n = rhai_node(r, RHAI_UNARY);
	rhai_next(r);
	if (!strcmp(n->word, "-") && is_number_at(r, end)) {
		struct rhai_node *number = parse_primary(r);

		number->number = (int64_t)(0 - (uint64_t)number->number);
		number->real = -number->real;
		return parse_postfix(r, number);
	}
	if (rhai_enter(r))
		rhai_add(r, n, parse_unary(r));
	r->depth--;
	if (!n->count) /* nested too deeply */
		rhai_add(r, n, rhai_finish(r, rhai_node(r, RHAI_UNIT)));
	return rhai_finish(r, n);
}

static const struct {
	const char *word;
	int precedence;
	enum rhai_kind kind;
} operators[] = {
	{ "||", 30, RHAI_LOGIC },     { "|", 30, RHAI_BINARY },	  { "^", 30, RHAI_BINARY },
	{ "&&", 60, RHAI_LOGIC },     { "&", 60, RHAI_BINARY },	  { "==", 90, RHAI_BINARY },
	{ "!=", 90, RHAI_BINARY },    { "in", 110, RHAI_BINARY }, { "<", 130, RHAI_BINARY },
	{ "<=", 130, RHAI_BINARY },   { ">", 130, RHAI_BINARY },  { ">=", 130, RHAI_BINARY },
	{ "??", 135, RHAI_COALESCE }, { "..", 140, RHAI_RANGE },  { "..=", 140, RHAI_RANGE },
	{ "+", 150, RHAI_BINARY },    { "-", 150, RHAI_BINARY },  { "*", 180, RHAI_BINARY },
	{ "/", 180, RHAI_BINARY },    { "%", 180, RHAI_BINARY },  { "**", 190, RHAI_BINARY },
	{ "<<", 210, RHAI_BINARY },   { ">>", 210, RHAI_BINARY },
};

/* An operator that binds at least so tightly is the token: its row, or -1. */
static int operator_at(const struct rhai *r, int least)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (operators[i].precedence >= least && rhai_at(r, operators[i].word))
			return (int)i;
	return -1;
}

/* a !in b is !(a in b). */
static bool take_not_in(struct rhai *r, int least)
{
	struct rhai ahead = *r;

	if (least > 110 || !rhai_at(r, "!"))
		return false;
	ahead.err = NULL;
	rhai_next(&ahead);
	r->memory = ahead.memory;
	if (!rhai_at(&ahead, "in"))
		return false;
	rhai_next(r);
	return true;
}

/* What begins after a range's dots, if it has an end at all. */
static bool expression_begins(const struct rhai *r)
{
	return !rhai_at(r, ")") && !rhai_at(r, "]") && !rhai_at(r, "{") && !rhai_at(r, ",") &&
	       !rhai_at(r, ";") && !rhai_at(r, "}") && !rhai_at(r, "=>") &&
	       r->token.kind != RHAI_TOKEN_END;
}

static struct rhai_node *number_node(struct rhai *r, int64_t number)
{
	struct rhai_node *n = rhai_node(r, RHAI_INT);

	n->number = number;
	return rhai_finish(r, n);
}

static struct rhai_node *parse_right(struct rhai *r, int row)
{
	bool right = !strcmp(operators[row].word, "**"); /* which binds to the right */
	struct rhai_node *n;

	if (operators[row].kind == RHAI_RANGE && !expression_begins(r))
		return number_node(r, INT64_MAX);
	if (!rhai_enter(r)) {
		r->depth--;
		return rhai_finish(r, rhai_node(r, RHAI_UNIT));
	}
	n = parse_binary(r, operators[row].precedence + !right);
	r->depth--;
	return n;
}

static struct rhai_node *parse_binary(struct rhai *r, int least)
{
	struct rhai_node *left, *n;
	bool negated = false;
	int row;

	if (rhai_at(r, "..") || rhai_at(r, "..="))
		left = number_node(r, 0);
	else
		left = parse_unary(r);
	while ((negated = take_not_in(r, least)) || (row = operator_at(r, least)) >= 0) {
		if (negated)
			row = operator_at(r, 110);
		n = rhai_node(r, operators[row].kind);
		n->number = rhai_at(r, "..=");
		rhai_next(r);
		rhai_add(r, n, left);
		rhai_add(r, n, parse_right(r, row));
		left = rhai_finish(r, n);
		if (!negated)
			continue;
		n = rhai_node(r, RHAI_UNARY);
		n->word = "!";
		n->line = left->line;
		rhai_add(r, n, left);
		left = rhai_finish(r, n);
	}
	return left;
}

struct rhai_node *rhai_parse_expression(struct rhai *r)
{
	struct rhai_node *n;

	if (rhai_enter(r))
		n = parse_binary(r, 0);
	else
		n = rhai_finish(r, rhai_node(r, RHAI_UNIT));
	r->depth--;
	return n;
}

/* Case values stop before |, which stands between two of them. */
struct rhai_node *rhai_parse_case_value(struct rhai *r)
{
	struct rhai_node *n;

	if (rhai_enter(r))
		n = parse_binary(r, 60);
	else
		n = rhai_finish(r, rhai_node(r, RHAI_UNIT));
	r->depth--;
	return n;
}
