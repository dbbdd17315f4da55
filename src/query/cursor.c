/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cursor in an expression.  See cursor.h.
 *
 * Expressions are read as query/expr.c reads them, but without an error: what does not fit is
 * passed over. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/xalloc.h"
#include "query/cursor.h"

struct token {
	size_t start, end;
	enum { WORD, TEXT, OPEN, CLOSE, COMMA, OPERATOR, JOIN, NOT } kind;
	bool unfinished; /* a text without its closing quote */
};

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.%:+-/@", c)) ||
	       (unsigned char)c >= 0x80;
}

static void read_quoted(const char *text, size_t size, struct token *t)
{
	char quote = text[t->start];
	size_t at = t->start + 1;

	while (at < size && text[at] != quote)
		at += text[at] == '\\' && at + 1 < size &&
				      (text[at + 1] == quote || text[at + 1] == '\\')
			      ? 2
			      : 1;
	t->kind = TEXT;
	t->unfinished = at >= size;
	t->end = at < size ? at + 1 : size;
}

static void read_word(const char *text, size_t size, struct token *t)
{
	size_t n;

	while (t->end < size && in_word(text[t->end]))
		t->end++;
	n = t->end - t->start;
	t->kind = WORD;
	if ((n == 3 && !strncasecmp(text + t->start, "and", 3)) ||
	    (n == 2 && !strncasecmp(text + t->start, "or", 2)))
		t->kind = JOIN;
	else if (n == 3 && !strncasecmp(text + t->start, "not", 3))
		t->kind = NOT;
}

static void read_sign(const char *text, size_t size, struct token *t)
{
	char c = text[t->start], next = t->start + 1 < size ? text[t->start + 1] : 0;
	bool two = (c == '&' && next == '&') || (c == '|' && next == '|') ||
		   (strchr("!<>=", c) && (next == '=' || next == '~' || (c == '<' && next == '>')));

	t->end = t->start + (two ? 2 : 1);
	t->kind = c == '('		 ? OPEN
		  : c == ')'		 ? CLOSE
		  : c == ','		 ? COMMA
		  : c == '&' || c == '|' ? JOIN
		  : c == '!' && !two	 ? NOT
					 : OPERATOR;
}

/* The next token before `size`; false: there is none. */
static bool next_token(const char *text, size_t size, size_t from, struct token *t)
{
	while (from < size && isspace((unsigned char)text[from]))
		from++;
	*t = (struct token){ .start = from, .end = from };
	if (from >= size)
		return false;
	if (text[from] == '"' || text[from] == '\'')
		read_quoted(text, size, t);
	else if (in_word(text[from]))
		read_word(text, size, t);
	else
		read_sign(text, size, t);
	return true;
}

static const struct filter_field *field_named(const char *text, const struct token *t)
{
	auto_free char *name = xmemdup0(text + t->start, t->end - t->start);

	return filter_field_find(name);
}

/* What comes behind a token. */
static void step(struct cursor *c, const char *text, const struct token *t)
{
	size_t n = t->end - t->start;

	switch (t->kind) {
	case JOIN:
	case NOT:
		c->kind = PLACE_CONDITION;
		return;
	case OPEN:
		c->depth++;
		if (c->kind == PLACE_OPERATOR)
			c->kind = c->field || n != 1 ? PLACE_VALUE : PLACE_CONDITION;
		return;
	case CLOSE:
		c->depth -= c->depth > 0;
		c->kind = PLACE_JOIN;
		return;
	case COMMA:
		c->kind = PLACE_VALUE;
		return;
	case OPERATOR:
		c->matches = memchr(text + t->start, '~', n) != NULL;
		c->kind = PLACE_VALUE;
		return;
	case WORD:
	case TEXT:
		if (c->kind == PLACE_CONDITION) {
			c->field = field_named(text, t);
			c->kind = c->field && c->field->type == ARG_NONE ? PLACE_JOIN
									 : PLACE_OPERATOR;
		} else {
			c->kind = PLACE_JOIN;
		}
		return;
	}
}

void cursor_find(struct cursor *c, const char *text, size_t at)
{
	struct token t;

	*c = (struct cursor){ .kind = PLACE_CONDITION, .from = at, .to = at, .typed = at };
	for (size_t from = 0; next_token(text, at, from, &t); from = t.end) {
		bool open_end = t.end == at &&
				(t.kind == WORD || t.kind == JOIN || t.kind == NOT || t.unfinished);

		if (open_end && !(t.kind == WORD && c->kind == PLACE_OPERATOR)) {
			/* Still being typed. */
			c->from = c->typed = t.start;
			if (t.kind == TEXT) {
				c->quote = text[t.start];
				c->typed++;
				while (text[c->to] && text[c->to] != c->quote)
					c->to++;
				c->to += text[c->to] == c->quote;
			} else {
				while (in_word(text[c->to]))
					c->to++;
			}
			return;
		}
		step(c, text, &t);
	}
}
