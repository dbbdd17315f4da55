/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rhai's tokens: names, keywords, signs, numbers, texts.  See rhai_tree.h.
 *
 * There is always one token, the current one.  `…` is read in parts, as what stands between ${ and
 * } is code: the parser reads that, and asks for the next part when it is at the }. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "script/rhai.h"
#include "script/rhai_tree.h"

#define MEMORY_BLOCK 16384

struct rhai_memory {
	struct rhai_memory *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

/* Longer ones first where one begins another. */
static const char *const signs[] = {
	"++", "--", "..=", "<<=", ">>=", "**=", "..", "**", "==", "!=", "<=", ">=", "&&",
	"||", "<<", ">>",  "+=",  "-=",	 "*=",	"/=", "%=", "&=", "|=", "^=", "=>", "??",
	"?.", "?[", "::",  "#{",  "+",	 "-",	"*",  "/",  "%",  "&",	"|",  "^",  "<",
	">",  "=",  "!",   "(",	  ")",	 "[",	"]",  "{",  "}",  ",",	";",  ":",  ".",
};

/* What is no name; docs/scripting.md says which of these are supported. */
static const char *const keywords[] = {
	"let",	   "const",   "fn",	 "if",	      "else",	    "while",  "loop",	"do",
	"until",   "for",     "in",	 "break",     "continue",   "return", "switch", "true",
	"false",   "throw",   "private", "global",    "import",	    "export", "as",	"try",
	"catch",   "this",    "eval",	 "is_shared", "is_def_var", "static", "var",	"goto",
	"match",   "case",    "public",	 "protected", "new",	    "use",    "with",	"module",
	"package", "super",   "spawn",	 "thread",    "go",	    "sync",   "async",	"await",
	"yield",   "default", "void",	 "null",      "nil",
};

void *rhai_alloc(struct rhai *r, size_t size)
{
	struct rhai_memory *m = r->memory;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!m || m->size - m->used < size) {
		size_t room = size > MEMORY_BLOCK ? size : MEMORY_BLOCK;

		m = xcalloc(1, sizeof(*m) + room);
		m->size = room;
		m->next = r->memory;
		r->memory = m;
	}
	p = m->bytes + m->used;
	m->used += size;
	return p;
}

void rhai_release(struct rhai *r)
{
	for (struct rhai_memory *m = r->memory, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	r->memory = NULL;
}

void rhai_fail(struct rhai *r, size_t at, const char *format, ...)
{
	char text[200];
	va_list args;

	if (!r->failed) {
		va_start(args, format);
		vsnprintf(text, sizeof(text), format, args);
		va_end(args);
		err_at(r->err, -EINVAL, at, "%s", text);
	}
	r->failed = true;
	r->token = (struct rhai_token){ .kind = RHAI_TOKEN_END, .at = at, .end = at };
	r->at = r->size;
}

bool rhai_text_is(struct rhai_text text, const char *word)
{
	return text.size == strlen(word) && !memcmp(text.data, word, text.size);
}

static char peek(const struct rhai *r, size_t ahead)
{
	return ahead < r->size - r->at ? r->text[r->at + ahead] : 0;
}

static bool starts(const struct rhai *r, const char *what)
{
	size_t n = strlen(what);

	return n <= r->size - r->at && !memcmp(r->text + r->at, what, n);
}

static bool name_begins(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void step(struct rhai *r)
{
	if (r->text[r->at++] == '\n')
		r->line++;
}

/* Comments nest. */
static void skip_comment(struct rhai *r)
{
	size_t start = r->at;
	unsigned depth = 0;

	do {
		if (r->at >= r->size) {
			rhai_fail(r, start, "this comment is never closed");
			return;
		}
		if (starts(r, "/*")) {
			depth++;
			r->at += 2;
		} else if (starts(r, "*/")) {
			depth--;
			r->at += 2;
		} else {
			step(r);
		}
	} while (depth);
}

static void skip_blanks(struct rhai *r)
{
	while (r->at < r->size) {
		if (isspace((unsigned char)r->text[r->at]))
			step(r);
		else if (starts(r, "/*"))
			skip_comment(r);
		else if (starts(r, "//") || (!r->at && starts(r, "#!")))
			while (r->at < r->size && r->text[r->at] != '\n')
				r->at++;
		else
			break;
	}
}

static struct rhai_text text_keep(struct rhai *r, struct buf *b)
{
	char *copy = rhai_alloc(r, b->size + 1);
	struct rhai_text text = { copy, b->size };

	if (b->size)
		memcpy(copy, b->data, b->size);
	buf_release(b);
	return text;
}

static void add_code_point(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_char(out, (char)c);
	} else if (c < 0x800) {
		buf_char(out, (char)(0xc0 | c >> 6));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_char(out, (char)(0xe0 | c >> 12));
		buf_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_char(out, (char)(0xf0 | c >> 18));
		buf_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

/* \x41, \u2764, \U0001f600: `digits` of them. */
static void lex_code_point(struct rhai *r, unsigned digits, struct buf *out)
{
	size_t start = r->at - 2;
	uint32_t c = 0;

	for (unsigned i = 0; i < digits; i++) {
		char d = peek(r, 0);

		if (!isxdigit((unsigned char)d)) {
			rhai_fail(r, start, "this escape needs %u hexadecimal digits", digits);
			return;
		}
		c = c << 4 | (uint32_t)(isdigit((unsigned char)d) ? d - '0' : (d | 32) - 'a' + 10);
		r->at++;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		rhai_fail(r, start, "this escape is not a character");
	else
		add_code_point(out, c);
}

/* A backslash and what it means; a line that ends with one goes on behind the next one's indent,
 * up to the column at which the text began. */
static void lex_escape(struct rhai *r, struct buf *out, size_t column)
{
	static const char names[] = "tnr\\\"'`", means[] = "\t\n\r\\\"'`";
	size_t start = r->at++;
	char c = peek(r, 0);
	const char *found = c ? strchr(names, c) : NULL;

	if (c == '\n') {
		step(r);
		for (size_t i = 0; i <= column && (peek(r, 0) == ' ' || peek(r, 0) == '\t'); i++)
			r->at++;
		return;
	}
	r->at += r->at < r->size;
	if (found)
		buf_char(out, means[found - names]);
	else if (c == 'x')
		lex_code_point(r, 2, out);
	else if (c == 'u')
		lex_code_point(r, 4, out);
	else if (c == 'U')
		lex_code_point(r, 8, out);
	else
		rhai_fail(r, start,
			  "this escape is unknown: \\t \\n \\r \\\\ \\\" \\' \\x \\u \\U");
}

/* "…" or '…' */
static void lex_quoted(struct rhai *r, char quote)
{
	size_t start = r->at, column = 0;
	struct buf out = { 0 };

	while (column < start && r->text[start - column - 1] != '\n')
		column++;
	r->at++;
	while (!r->failed && peek(r, 0) != quote) {
		if (r->at >= r->size || r->text[r->at] == '\n')
			rhai_fail(r, start, "the quote %c is not closed on its line", quote);
		else if (r->text[r->at] == '\\')
			lex_escape(r, &out, column);
		else
			buf_char(&out, r->text[r->at++]);
	}
	r->at += !r->failed;
	if (quote == '\'' && !r->failed &&
	    (!out.size || utf8_sequence((const unsigned char *)out.data, out.size) != out.size))
		rhai_fail(r, start, "'…' is one character; texts are in double quotes");
	if (!r->failed)
		r->token.kind = quote == '"' ? RHAI_TOKEN_STRING : RHAI_TOKEN_CHAR;
	r->token.text = text_keep(r, &out);
}

/* #"…"#, with as many # at the end as at the beginning. */
static void lex_raw(struct rhai *r, size_t hashes)
{
	size_t start = r->at, begin = start + hashes + 1;

	for (r->at = begin; r->at < r->size; step(r)) {
		size_t n = 0;

		while (r->text[r->at] == '"' && n < hashes && peek(r, n + 1) == '#')
			n++;
		if (n != hashes)
			continue;
		r->token.kind = RHAI_TOKEN_STRING;
		r->token.text = (struct rhai_text){ r->text + begin, r->at - begin };
		r->at += hashes + 1;
		return;
	}
	rhai_fail(r, start, "this raw text is never closed");
}

static void lex_literal(struct rhai *r, size_t start)
{
	size_t begin = r->at;

	while (r->at < r->size && r->text[r->at] != '`' && !starts(r, "${"))
		step(r);
	if (r->at >= r->size) {
		rhai_fail(r, start, "the quote ` is never closed");
		return;
	}
	r->token.kind = RHAI_TOKEN_LITERAL;
	r->token.text = (struct rhai_text){ r->text + begin, r->at - begin };
	r->token.more = r->text[r->at] == '$';
	r->at += r->token.more ? 2 : 1;
}

static int digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isalpha((unsigned char)c) ? (c | 32) - 'a' + 10 : 99;
}

/* 0xff, 0o17, 0b11: 64 bits, whatever the sign then is. */
static void lex_radix(struct rhai *r, int radix)
{
	size_t start = r->at, digits = 0;
	uint64_t value = 0;
	bool over = false;

	for (r->at += 2; in_name(peek(r, 0)); r->at++) {
		int d = digit_value(peek(r, 0));

		if (peek(r, 0) == '_')
			continue;
		if (d >= radix) {
			rhai_fail(r, r->at, "this is not a digit of the number");
			return;
		}
		over |= __builtin_mul_overflow(value, (uint64_t)radix, &value);
		value += (uint64_t)d;
		digits++;
	}
	if (!digits || over)
		rhai_fail(r, start,
			  digits ? "the number has more than 64 bits" : "the number has no digits");
	r->token.kind = RHAI_TOKEN_INT;
	r->token.number = (int64_t)value;
}

static void take_digits(struct rhai *r, struct buf *out)
{
	for (; isdigit((unsigned char)peek(r, 0)) || peek(r, 0) == '_'; r->at++)
		if (peek(r, 0) != '_')
			buf_char(out, peek(r, 0));
}

/* Is the dot here a part of the number?  Not in 0..9 and 5.max(x). */
static bool dot_of_number(const struct rhai *r)
{
	return peek(r, 0) == '.' && peek(r, 1) != '.' && !name_begins(peek(r, 1));
}

static bool exponent_begins(const struct rhai *r)
{
	size_t sign = peek(r, 1) == '+' || peek(r, 1) == '-';

	return (peek(r, 0) | 32) == 'e' && isdigit((unsigned char)peek(r, 1 + sign));
}

static void lex_number(struct rhai *r)
{
	static const struct {
		char letter;
		int radix;
	} radixes[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
	struct buf out = { 0 };
	size_t start = r->at;
	bool real = false;
	int64_t value = 0;

	for (size_t i = 0; i < sizeof(radixes) / sizeof(*radixes); i++)
		if (peek(r, 0) == '0' && (peek(r, 1) | 32) == radixes[i].letter) {
			lex_radix(r, radixes[i].radix);
			return;
		}
	take_digits(r, &out);
	if (dot_of_number(r)) {
		real = true;
		buf_char(&out, '.');
		r->at++;
		take_digits(r, &out);
	}
	if (exponent_begins(r)) {
		real = true;
		buf_char(&out, 'e');
		r->at++;
		if (!isdigit((unsigned char)peek(r, 0)))
			buf_char(&out, r->text[r->at++]);
		take_digits(r, &out);
	}
	if (name_begins(peek(r, 0))) {
		rhai_fail(r, start, "a number ends with a letter here");
	} else if (real) {
		r->token.kind = RHAI_TOKEN_FLOAT;
		r->token.real = strtod(out.data, NULL);
	} else {
		for (size_t i = 0; i < out.size; i++)
			if (__builtin_mul_overflow(value, 10, &value) ||
			    __builtin_add_overflow(value, out.data[i] - '0', &value)) {
				rhai_fail(r, start, "the number has more than 64 bits");
				break;
			}
		if (!r->failed)
			r->token.kind = RHAI_TOKEN_INT;
		r->token.number = value;
	}
	buf_release(&out);
}

static void lex_name(struct rhai *r)
{
	size_t start = r->at;

	while (in_name(peek(r, 0)))
		r->at++;
	r->token.kind = RHAI_TOKEN_NAME;
	r->token.text = (struct rhai_text){ r->text + start, r->at - start };
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (rhai_text_is(r->token.text, keywords[i])) {
			r->token.kind = RHAI_TOKEN_KEYWORD;
			r->token.word = keywords[i];
		}
}

static void lex_sign(struct rhai *r)
{
	size_t hashes = 0;

	while (peek(r, hashes) == '#')
		hashes++;
	if (hashes && peek(r, hashes) == '"') {
		lex_raw(r, hashes);
		return;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (starts(r, signs[i])) {
			r->token.kind = RHAI_TOKEN_SIGN;
			r->token.word = signs[i];
			r->at += strlen(signs[i]);
			return;
		}
	rhai_fail(r, r->at, "'%c' has no meaning here",
		  isprint((unsigned char)peek(r, 0)) ? peek(r, 0) : '?');
}

void rhai_next(struct rhai *r)
{
	char c;

	if (!r->failed)
		skip_blanks(r);
	r->token = (struct rhai_token){ .kind = RHAI_TOKEN_END, .at = r->at, .line = r->line };
	r->token.end = r->at;
	if (r->failed || r->at >= r->size)
		return;
	c = peek(r, 0);
	if (isdigit((unsigned char)c)) {
		lex_number(r);
	} else if (name_begins(c)) {
		lex_name(r);
	} else if (c == '"' || c == '\'') {
		lex_quoted(r, c);
	} else if (c == '`') {
		r->at++;
		if (peek(r, 0) == '\n') /* the text begins on the next line */
			step(r);
		else if (peek(r, 0) == '\r' && peek(r, 1) == '\n')
			r->at++, step(r);
		lex_literal(r, r->token.at);
	} else {
		lex_sign(r);
	}
	r->token.end = r->at;
	if (r->failed)
		r->token.kind = RHAI_TOKEN_END;
}

void rhai_next_literal(struct rhai *r)
{
	if (r->failed)
		return;
	r->token = (struct rhai_token){ .at = r->at, .line = r->line };
	lex_literal(r, r->at);
	r->token.end = r->at;
}

void rhai_position(const char *text, size_t size, size_t offset, unsigned *ret_line,
		   unsigned *ret_column)
{
	*ret_line = 1;
	*ret_column = 1;
	for (size_t i = 0; i < offset && i < size; i++) {
		if (text[i] == '\n') {
			++*ret_line;
			*ret_column = 1;
		} else if ((text[i] & 0xc0) != 0x80) {
			++*ret_column;
		}
	}
}
