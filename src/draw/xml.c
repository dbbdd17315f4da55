/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text inside XML and HTML.  See xml.h. */
#include "draw/xml.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/utf8.h"

/* Bytes of the character at s, at least one. */
static size_t character_size(const unsigned char *s, size_t left)
{
	size_t n = utf8_sequence(s, left);

	return n ? n : 1;
}

/* U+FFFE and U+FFFF, which XML forbids. */
static int is_forbidden(const unsigned char *s, size_t n)
{
	return n == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
}

static void put_character(struct buf *out, const unsigned char *s, size_t left)
{
	size_t n = utf8_sequence(s, left);

	if (!n || is_forbidden(s, n))
		buf_text(out, "\xef\xbf\xbd");
	else if (*s < 0x20)
		buf_printf(out, "\xe2\x90%c", 0x80 + *s);
	else if (*s == 0x7f)
		buf_text(out, "\xe2\x90\xa1");
	else if (*s == '<')
		buf_text(out, "&lt;");
	else if (*s == '>')
		buf_text(out, "&gt;");
	else if (*s == '&')
		buf_text(out, "&amp;");
	else if (*s == '"')
		buf_text(out, "&quot;");
	else
		buf_add(out, s, n);
}

/* Columns of a character: what is beyond the letters of the West may be wide. */
static size_t width(size_t bytes)
{
	return bytes > 2 ? 2 : 1;
}

static size_t columns_of(const unsigned char *s, size_t size)
{
	size_t columns = 0;

	for (size_t i = 0, n; i < size; i += n) {
		n = character_size(s + i, size - i);
		columns += width(n);
	}
	return columns;
}

/* Leaves out the columns from `from` to `to`, for which a dot leader stands. */
static void put_parts(struct buf *out, const char *text, size_t from, size_t to)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size = strlen(text), column = 0;
	int said = 0;

	for (size_t i = 0, n; i < size; i += n) {
		n = character_size(s + i, size - i);
		if (column + width(n) <= from || column >= to)
			put_character(out, s + i, size - i);
		else if (!said++)
			buf_text(out, "\xe2\x80\xa6");
		column += width(n);
	}
}

void xml_text(struct buf *out, const char *text, size_t columns)
{
	size_t all = columns_of((const unsigned char *)text, strlen(text));
	size_t head = columns / 2;

	if (all <= columns)
		put_parts(out, text, all, all);
	else
		put_parts(out, text, head, all - (columns - 1 - head));
}

void xml_text_cut(struct buf *out, const char *text, size_t columns)
{
	size_t all = columns_of((const unsigned char *)text, strlen(text));

	if (all <= columns)
		put_parts(out, text, all, all);
	else
		put_parts(out, text, columns - 1, all);
}

void xml_json(struct buf *out, const struct buf *json)
{
	const unsigned char *s = (const unsigned char *)json->data;

	/* In JSON all of these are in strings only. */
	for (size_t i = 0; i < json->size; i++)
		if (s[i] == '<' || s[i] == '>' || s[i] == '&')
			buf_printf(out, "\\u%04x", s[i]);
		else if (s[i] == 0xef && json->size - i >= 3 && is_forbidden(s + i, 3))
			buf_printf(out, "\\uff%02x", s[i += 2] + 0x40);
		else
			buf_char(out, (char)s[i]);
}
