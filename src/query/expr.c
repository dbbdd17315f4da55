/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Expressions: text to conditions.
 *
 *	or      := and (("or" | "||") and)*
 *	and     := not (("and" | "&&") not)*
 *	not     := ("not" | "!") not | primary
 *	primary := "(" or ")" | "frame" "(" or ")" | name | name operator value ("," value)*
 *	         | name "(" value ("," value)* ")"
 *
 * A value is a word (10ms, 0x7f00, 2026-02-03T14:05) or a text in double or single quotes.  In it
 * \" and \\ are a quote and a backslash; a backslash before anything else stays, so that regular
 * expressions are written as they are.  A number and its unit may be two words.  Everything here is
 * bounded: depth, number of conditions, and no backtracking. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "query/condition.h"

#define EXPRESSION_MAX 65536

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_TEXT, /* was in quotes */
	TOKEN_ARGUMENT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_OP,
};

struct parser {
	const char *text, *argument;
	size_t at; /* behind the token */
	enum token_kind kind;
	enum filter_op op;
	size_t start;	 /* of the token */
	struct buf word; /* of the token */
	bool in_frame;	 /* inside frame(…) */
	unsigned depth, *count;
	struct err *err;
	bool failed;
};

static const struct {
	const char *text;
	enum token_kind kind;
	enum filter_op op;
} signs[] = {
	{ "&&", TOKEN_AND, OP_NONE },
	{ "||", TOKEN_OR, OP_NONE },
	{ "!~", TOKEN_OP, OP_NO_MATCH },
	{ "!=", TOKEN_OP, OP_NE },
	{ "<=", TOKEN_OP, OP_LE },
	{ ">=", TOKEN_OP, OP_GE },
	{ "==", TOKEN_OP, OP_EQ },
	{ "=~", TOKEN_OP, OP_MATCH },
	{ "<>", TOKEN_OP, OP_NE },
	{ "=", TOKEN_OP, OP_EQ },
	{ "<", TOKEN_OP, OP_LT },
	{ ">", TOKEN_OP, OP_GT },
	{ "~", TOKEN_OP, OP_MATCH },
	{ "!", TOKEN_NOT, OP_NONE },
	{ "(", TOKEN_OPEN, OP_NONE },
	{ ")", TOKEN_CLOSE, OP_NONE },
	{ ",", TOKEN_COMMA, OP_NONE },
	{ "$", TOKEN_ARGUMENT, OP_NONE },
	{ "\xe2\x89\xa4", TOKEN_OP, OP_LE },
	{ "\xe2\x89\xa5", TOKEN_OP, OP_GE },
	{ "\xe2\x89\xa0", TOKEN_OP, OP_NE },
};

static struct condition *parse_or(struct parser *p);

static struct condition *fail(struct parser *p, size_t at, const char *format, const char *what)
{
	if (!p->failed)
		err_at(p->err, -EINVAL, at, format, what);
	p->failed = true;
	return NULL;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.%:+-/@", c)) ||
	       (unsigned char)c >= 0x80;
}

bool expr_is_number_word(const char *text)
{
	const char *p = text;

	while (in_word(*p))
		p++;
	return isdigit((unsigned char)*text) && !*p;
}

static void read_text(struct parser *p, char quote)
{
	size_t start = p->at++;

	p->kind = TOKEN_TEXT;
	for (; p->text[p->at] && p->text[p->at] != quote; p->at++) {
		char next = p->text[p->at + 1];

		if (p->text[p->at] == '\\' && (next == quote || next == '\\'))
			p->at++;
		buf_char(&p->word, p->text[p->at]);
	}
	if (p->text[p->at])
		p->at++;
	else
		fail(p, start, "the quote %s is never closed", quote == '"' ? "\"" : "'");
}

/* Reads the next token; at the end again and again the end. */
static void expr_next_token(struct parser *p)
{
	const char *text = p->text;

	while (isspace((unsigned char)text[p->at]))
		p->at++;
	p->start = p->at;
	buf_clear(&p->word);
	buf_text(&p->word, "");
	p->op = OP_NONE;
	if (!text[p->at]) {
		p->kind = TOKEN_END;
		return;
	}
	if (text[p->at] == '"' || text[p->at] == '\'') {
		read_text(p, text[p->at]);
		return;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].text);

		if (strncmp(text + p->at, signs[i].text, n) != 0)
			continue;
		p->kind = signs[i].kind;
		p->op = signs[i].op;
		p->at += n;
		return;
	}
	while (in_word(text[p->at]))
		buf_char(&p->word, text[p->at++]);
	p->kind = TOKEN_WORD;
	if (p->at == p->start) {
		p->at++;
		fail(p, p->start, "'%s' has no meaning here",
		     (char[]){ isprint((unsigned char)text[p->start]) ? text[p->start] : '?', 0 });
	} else if (!strcasecmp(p->word.data, "and")) {
		p->kind = TOKEN_AND;
	} else if (!strcasecmp(p->word.data, "or")) {
		p->kind = TOKEN_OR;
	} else if (!strcasecmp(p->word.data, "not")) {
		p->kind = TOKEN_NOT;
	}
}

/* A value's text, which the caller frees; NULL if there is none. */
static char *take_value(struct parser *p)
{
	bool digits = p->kind == TOKEN_WORD &&
		      strspn(p->word.data, "0123456789.") == strlen(p->word.data);
	char *text;

	if (p->kind == TOKEN_ARGUMENT && p->argument) {
		text = xstrdup(p->argument);
	} else if (p->kind == TOKEN_WORD || p->kind == TOKEN_TEXT) {
		text = xstrdup(p->word.data);
	} else {
		fail(p, p->start, "%s",
		     p->kind == TOKEN_END ? "a value is missing at the end"
					  : "a value is missing here");
		return NULL;
	}
	expr_next_token(p);
	if (digits && p->kind == TOKEN_WORD && !filter_field_find(p->word.data) &&
	    !filter_row_find(p->word.data)) { /* 10 ms */
		char *both = xasprintf("%s%s", text, p->word.data);

		free(text);
		text = both;
		expr_next_token(p);
	}
	return text;
}

/* value ("," value)*, joined by commas if several make one value. */
static char *take_values(struct parser *p, bool several)
{
	char *text = take_value(p);

	while (text && several && p->kind == TOKEN_COMMA) {
		char *more, *both;

		expr_next_token(p);
		more = take_value(p);
		both = more ? xasprintf("%s,%s", text, more) : NULL;
		free(text);
		free(more);
		text = both;
	}
	return text;
}

/* Which comparisons make sense. */
static bool op_fits(const struct filter_field *f, enum filter_op op)
{
	switch (f->class) {
	case FIELD_ROW:
	case FIELD_STACK:
		return op <= OP_GE;
	case FIELD_BACKTRACE:
	case FIELD_MAP:
		return op == OP_EQ || op == OP_NE;
	case FIELD_FRAME:
	case FIELD_RESPONSIBLE:
	case FIELD_THREAD:
	case FIELD_CALL:
	case FIELD_ORIGIN:
		return op == OP_EQ || op == OP_NE || op == OP_MATCH || op == OP_NO_MATCH;
	case FIELD_FLAG:
		return op == OP_EQ || op == OP_NE;
	case FIELD_ALIVE:
		break;
	}
	return false;
}

/* A test; `value` is taken.  The negative operators become `not` of the positive ones, so that a
 * stack passes `function !~ x` only if none of its frames matches. */
static struct condition *make_test(struct parser *p, const struct filter_field *f,
				   enum filter_op op, char *value, size_t at)
{
	bool negative = op == OP_NO_MATCH || op == OP_NE;
	struct condition *c = condition_new(CONDITION_TEST), *outer;
	struct err err = { .text = "" };
	enum filter_arg type = f->type;

	c->field = f;
	c->op = op == OP_NO_MATCH ? OP_MATCH : op == OP_NE ? OP_EQ : op;
	if (f->class == FIELD_FLAG && value) {
		type = ARG_YES_NO;
	} else if (c->op == OP_MATCH) {
		type = ARG_REGEX;
		c->pattern = pattern_new(value, &err);
	}
	if (++*p->count > CONDITION_COUNT)
		fail(p, at, "%s", "that are too many conditions");
	else if (c->op == OP_MATCH && !c->pattern)
		fail(p, at, "%s", err.text);
	else if (value && value_parse(&c->value, type, value, &err))
		fail(p, at, "%s", err.text);
	free(value);
	if (p->failed)
		return condition_free(c);
	if (type == ARG_YES_NO && !c->value.number)
		negative = !negative;
	if (f->class == FIELD_FRAME && !p->in_frame) {
		outer = condition_new(CONDITION_FRAME);
		condition_add(outer, c);
		c = outer;
	}
	if (negative) {
		outer = condition_new(CONDITION_NOT);
		condition_add(outer, c);
		c = outer;
	}
	return c;
}

/* alive_at(a, b): all of them. */
static struct condition *parse_call(struct parser *p, const struct filter_field *f, size_t at)
{
	struct condition *all = condition_new(CONDITION_AND);

	do {
		char *value;

		expr_next_token(p);
		value = take_value(p);
		if (value) {
			struct condition *c = make_test(p, f, OP_EQ, value, at);

			if (c)
				condition_add(all, c);
		}
	} while (!p->failed && p->kind == TOKEN_COMMA);
	if (!p->failed && p->kind != TOKEN_CLOSE)
		fail(p, p->start, "%s", "')' is missing");
	expr_next_token(p);
	return p->failed ? condition_free(all) : all;
}

/* A row by its name: size_min(1k), size_min = 1k. */
static struct condition *parse_row(struct parser *p, const struct filter_row *row, size_t at)
{
	bool call = p->kind == TOKEN_OPEN;
	struct err err = { .text = "" };
	struct condition *c;
	char *value;

	if (!call && p->op != OP_EQ)
		return fail(p, p->start,
			    "'%s' is a filter with a value: = or parentheses follow it", row->name);
	expr_next_token(p);
	value = take_values(p, row->type == ARG_IDS);
	if (value && call) {
		if (p->kind == TOKEN_CLOSE)
			expr_next_token(p);
		else
			fail(p, p->start, "%s", "')' is missing");
	}
	c = value && !p->failed ? filter_row_condition(row, value, p->count, &err) : NULL;
	free(value);
	if (!c && !p->failed)
		fail(p, at, "%s", err.text);
	return c;
}

static bool is_frame_field(const struct filter_field *f)
{
	return f && f->class == FIELD_FRAME;
}

static bool has_choice(const struct filter_row *row, const char *word)
{
	auto_free char *key = xasprintf("%s: ", word);
	bool has = row && row->type == ARG_CHOICE && *word && strstr(row->meaning, key);

	return has;
}

static struct condition *parse_comparison(struct parser *p, const struct filter_field *f,
					  const struct filter_row *row, size_t at)
{
	enum filter_op op = p->op;
	size_t op_at = p->start, value_at;
	struct parser ahead = *p;
	bool choice;
	char *value;

	/* A row may share a field's name: lifetime = only_leaked. */
	ahead.word = (struct buf){ 0 };
	ahead.err = NULL;
	expr_next_token(&ahead);
	choice = op == OP_EQ && ahead.kind != TOKEN_END && has_choice(row, ahead.word.data);
	buf_release(&ahead.word);
	if (choice)
		return parse_row(p, row, at);
	if (!op_fits(f, op))
		return fail(p, op_at, "'%s' cannot be compared like this", f->name);
	expr_next_token(p);
	value_at = p->start;
	value = take_values(p, f->type == ARG_IDS);
	return value ? make_test(p, f, op, value, value_at) : NULL;
}

static struct condition *parse_frame(struct parser *p)
{
	struct condition *frame = condition_new(CONDITION_FRAME), *inner;

	expr_next_token(p);
	p->in_frame = true;
	inner = parse_or(p);
	p->in_frame = false;
	if (inner)
		condition_add(frame, inner);
	if (!p->failed && p->kind != TOKEN_CLOSE)
		fail(p, p->start, "%s", "')' is missing");
	expr_next_token(p);
	return p->failed ? condition_free(frame) : frame;
}

static struct condition *unknown(struct parser *p, const char *name, size_t at)
{
	const char *nearest = filter_nearest(name);
	char text[200];

	if (nearest)
		snprintf(text, sizeof(text), "there is no '%.60s'; did you mean '%s'?", name,
			 nearest);
	else
		snprintf(text, sizeof(text),
			 "there is no '%.60s'; memoir help filters lists what there is", name);
	return fail(p, at, "%s", text);
}

static struct condition *parse_name(struct parser *p)
{
	auto_free char *name = xstrdup(p->word.data);
	const struct filter_field *f = filter_field_find(name);
	const struct filter_row *row = filter_row_find(name);
	size_t at = p->start;

	expr_next_token(p);
	if (!strcmp(name, "frame") && p->kind == TOKEN_OPEN) {
		if (p->in_frame)
			return fail(p, at, "%s", "there is no frame() in a frame()");
		return parse_frame(p);
	}
	if (!f && !row)
		return unknown(p, name, at);
	if (p->in_frame && !is_frame_field(f))
		return fail(p, at, "'%s' is nothing that a frame has", name);
	if (f && f->class == FIELD_ALIVE && p->kind == TOKEN_OPEN)
		return parse_call(p, f, at);
	if (f && f->class != FIELD_ALIVE && p->kind == TOKEN_OP)
		return parse_comparison(p, f, row, at);
	if (f && f->type == ARG_NONE && p->kind != TOKEN_OPEN)
		return make_test(p, f, OP_EQ, NULL, at);
	if (row && (p->kind == TOKEN_OPEN || p->kind == TOKEN_OP))
		return parse_row(p, row, at);
	return fail(p, at, "'%s' needs a comparison, such as = or <", name);
}

static struct condition *parse_primary(struct parser *p)
{
	struct condition *c;

	if (p->kind == TOKEN_WORD)
		return parse_name(p);
	if (p->kind != TOKEN_OPEN)
		return fail(p, p->start, "%s",
			    p->kind == TOKEN_END ? "a condition is missing at the end"
						 : "a condition is missing here");
	expr_next_token(p);
	c = parse_or(p);
	if (!p->failed && p->kind != TOKEN_CLOSE)
		fail(p, p->start, "%s", "')' is missing");
	expr_next_token(p);
	return p->failed ? condition_free(c) : c;
}

static struct condition *parse_not(struct parser *p)
{
	struct condition *c, *inner;

	if (p->depth >= CONDITION_DEPTH)
		return fail(p, p->start, "%s", "nested too deeply");
	p->depth++;
	if (p->kind == TOKEN_NOT) {
		expr_next_token(p);
		c = condition_new(CONDITION_NOT);
		inner = parse_not(p);
		if (inner)
			condition_add(c, inner);
	} else {
		c = parse_primary(p);
	}
	p->depth--;
	return p->failed ? condition_free(c) : c;
}

static struct condition *parse_list(struct parser *p, enum token_kind between,
				    enum condition_kind kind,
				    struct condition *(*part)(struct parser *))
{
	struct condition *c = part(p), *list;

	if (p->failed || p->kind != between)
		return c;
	list = condition_new(kind);
	condition_add(list, c);
	while (!p->failed && p->kind == between) {
		expr_next_token(p);
		c = part(p);
		if (c)
			condition_add(list, c);
	}
	return p->failed ? condition_free(list) : list;
}

static struct condition *parse_and(struct parser *p)
{
	return parse_list(p, TOKEN_AND, CONDITION_AND, parse_not);
}

static struct condition *parse_or(struct parser *p)
{
	return parse_list(p, TOKEN_OR, CONDITION_OR, parse_and);
}

struct condition *expr_parse(const char *text, const char *argument, unsigned *count,
			     struct err *err)
{
	struct parser p = { .text = text, .argument = argument, .count = count, .err = err };
	struct condition *c = NULL;

	if (strlen(text) > EXPRESSION_MAX) {
		err_at(err, -E2BIG, 0, "an expression has at most %d bytes", EXPRESSION_MAX);
		return NULL;
	}
	expr_next_token(&p);
	if (p.kind == TOKEN_END)
		c = condition_new(CONDITION_TRUE);
	else
		c = parse_or(&p);
	if (!p.failed && p.kind != TOKEN_END)
		fail(&p, p.start, "%s",
		     p.kind == TOKEN_CLOSE ? "this ')' closes nothing"
					   : "'and' or 'or' is missing before this");
	buf_release(&p.word);
	return p.failed ? condition_free(c) : c;
}
