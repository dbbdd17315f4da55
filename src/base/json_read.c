/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* JSON in small bites.  See json_read.h. */
#include "base/json_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"

#define DEPTH_MAX 64

void json_reader_init(struct json_reader *r, const void *bytes, size_t size, struct err *err)
{
	/* No arithmetic on NULL: an empty file may have no bytes at all. */
	const char *begin = size ? bytes : "";

	*r = (struct json_reader){ .begin = begin, .at = begin, .end = begin + size, .err = err };
}

bool json_wrong(struct json_reader *r, const char *format, ...)
{
	char text[160];
	va_list args;

	if (r->failed)
		return false;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err_at(r->err, -EBADMSG, (uint64_t)(r->at - r->begin), "%s", text);
	r->failed = true;
	return false;
}

/* The next byte that is no blank; 0 at the end, and for a NUL, which is nowhere right. */
static char peek(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
	return r->failed || r->at == r->end ? 0 : *r->at;
}

static bool expect(struct json_reader *r, char c, const char *what)
{
	if (peek(r) != c)
		return json_wrong(
			r, r->at == r->end ? "it ends where %s should be" : "%s is expected here",
			what);
	r->at++;
	return true;
}

static bool open_with(struct json_reader *r, char c, const char *what)
{
	if (!expect(r, c, what))
		return false;
	if (++r->depth > DEPTH_MAX)
		return json_wrong(r, "nested too deeply");
	r->fresh = true;
	return true;
}

bool json_read_object(struct json_reader *r)
{
	return open_with(r, '{', "an object");
}

bool json_read_array(struct json_reader *r)
{
	return open_with(r, '[', "an array");
}

/* Another one of the innermost; false at its end, which is taken. */
static bool another(struct json_reader *r, char end)
{
	if (peek(r) == end) {
		r->at++;
		r->depth--;
		r->fresh = false;
		return false;
	}
	if (!r->fresh && !expect(r, ',', "a comma"))
		return false;
	r->fresh = false;
	return !r->failed;
}

bool json_read_key(struct json_reader *r, struct buf *key)
{
	return another(r, '}') && json_read_text(r, key) && expect(r, ':', "a colon");
}

bool json_read_element(struct json_reader *r)
{
	return another(r, ']') && (peek(r) || json_wrong(r, "it ends inside an array"));
}

bool json_read_number(struct json_reader *r, uint64_t *ret)
{
	uint64_t value = 0;
	const char *from;

	peek(r);
	if (r->failed)
		return false;
	from = r->at;
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value))
			return json_wrong(r, "this number is too large");
	if (r->at == from || (r->at < r->end && (*r->at == '.' || (*r->at | 32) == 'e')))
		return json_wrong(r, "a whole number is expected here");
	*ret = value;
	return true;
}

static bool word(struct json_reader *r, const char *text)
{
	size_t size = strlen(text);

	peek(r);
	if (r->failed || (size_t)(r->end - r->at) < size || memcmp(r->at, text, size))
		return false;
	r->at += size;
	return true;
}

bool json_read_bool(struct json_reader *r, bool *ret)
{
	bool yes = word(r, "true");

	if (!yes && !word(r, "false"))
		return json_wrong(r, "true or false is expected here");
	*ret = yes;
	return true;
}

static bool four_digits(struct json_reader *r, unsigned *ret)
{
	unsigned value = 0;

	for (unsigned i = 0; i < 4; i++, r->at++) {
		unsigned c = r->at < r->end ? (unsigned char)*r->at : 0, letter = (c | 32) - 'a';

		if (c - '0' < 10)
			value = value << 4 | (c - '0');
		else if (letter < 6)
			value = value << 4 | (letter + 10);
		else
			return json_wrong(r, "\\u has four hexadecimal digits");
	}
	*ret = value;
	return true;
}

static void add_utf8(struct buf *out, unsigned code)
{
	if (code < 0x80) {
		buf_char(out, (char)code);
		return;
	}
	if (code < 0x800) {
		buf_char(out, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			buf_char(out, (char)(0xe0 | code >> 12));
		} else {
			buf_char(out, (char)(0xf0 | code >> 18));
			buf_char(out, (char)(0x80 | (code >> 12 & 63)));
		}
		buf_char(out, (char)(0x80 | (code >> 6 & 63)));
	}
	buf_char(out, (char)(0x80 | (code & 63)));
}

/* Behind "\u"; a half of a pair that is alone becomes U+FFFD. */
static bool escaped_code(struct json_reader *r, struct buf *out)
{
	unsigned code, low;

	if (!four_digits(r, &code))
		return false;
	if (!code)
		return json_wrong(r, "a text with a NUL in it");
	if (code >= 0xd800 && code < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' &&
	    r->at[1] == 'u') {
		r->at += 2;
		if (!four_digits(r, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		} else {
			add_utf8(out, 0xfffd);
			code = low;
		}
	}
	if (!code)
		return json_wrong(r, "a text with a NUL in it");
	add_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
	return true;
}

static bool escape(struct json_reader *r, struct buf *out)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = r->at < r->end ? *r->at : 0;
	const char *found = c ? strchr(letters, c) : NULL;

	if (c == 'u') {
		r->at++;
		return escaped_code(r, out);
	}
	if (!found)
		return json_wrong(r, "unknown escape sequence");
	buf_char(out, meant[found - letters]);
	r->at++;
	return true;
}

bool json_read_text(struct json_reader *r, struct buf *text)
{
	buf_clear(text);
	if (!expect(r, '"', "a text"))
		return false;
	while (r->at < r->end) {
		const char *from = r->at;

		while (r->at < r->end && *r->at != '"' && *r->at != '\\' &&
		       (unsigned char)*r->at >= ' ')
			r->at++;
		buf_add(text, from, (size_t)(r->at - from));
		if (r->at == r->end)
			break;
		if (*r->at == '"') {
			r->at++;
			return true;
		}
		if (*r->at != '\\')
			return json_wrong(r, "a text with a control character in it");
		r->at++;
		if (!escape(r, text))
			return false;
	}
	return json_wrong(r, "it ends inside a text");
}

/* A number of any kind; who skips it does not care. */
static bool skip_number(struct json_reader *r)
{
	const char *from = r->at;

	while (r->at < r->end && *r->at && strchr("+-.0123456789eE", *r->at))
		r->at++;
	return r->at > from || json_wrong(r, "a value is expected here");
}

bool json_skip(struct json_reader *r)
{
	auto_buf struct buf text = { 0 };
	char c = peek(r);

	/* Calls itself as deep as values may be. */
	if (c == '{') {
		json_read_object(r);
		while (json_read_key(r, &text) && json_skip(r))
			;
	} else if (c == '[') {
		json_read_array(r);
		while (json_read_element(r) && json_skip(r))
			;
	} else if (c == '"') {
		json_read_text(r, &text);
	} else if (!word(r, "true") && !word(r, "false") && !word(r, "null")) {
		skip_number(r);
	}
	return !r->failed;
}

bool json_read_end(struct json_reader *r)
{
	peek(r);
	if (r->failed)
		return false;
	return (!r->depth && r->at == r->end) || json_wrong(r, "the end is expected here");
}
