/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text at the end of growing bytes.  See buf_text.h. */
#include "base/buf_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/harmless.h"

void buf_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
	if (b->size + 2 > b->room)
		buf_reserve(b, 1);
	b->data[b->size++] = c;
	b->data[b->size] = 0;
}

void buf_repeat(struct buf *b, char c, size_t count)
{
	buf_reserve(b, count);
	memset(b->data + b->size, c, count);
	b->size += count;
	b->data[b->size] = 0;
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n > 0) {
		buf_reserve(b, (size_t)n);
		vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
		b->size += (size_t)n;
	}
	va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_decimal(struct buf *b, uint64_t value)
{
	char text[20];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + value % 10);
	while (value /= 10);
	buf_add(b, text + at, sizeof(text) - at);
}

void buf_hexadecimal(struct buf *b, uint64_t value)
{
	char text[16];
	size_t at = sizeof(text);

	do
		text[--at] = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	buf_add(b, text + at, sizeof(text) - at);
}

void buf_hex(struct buf *b, const void *bytes, size_t size)
{
	buf_text(b, "");
	for (size_t i = 0; i < size; i++)
		buf_printf(b, "%02x", ((const uint8_t *)bytes)[i]);
}

void buf_base64(struct buf *b, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = bytes;

	buf_reserve(b, size / 3 * 4 + 4);
	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		unsigned bits = (unsigned)in[i] << 16 | (n > 1 ? (unsigned)in[i + 1] << 8 : 0) |
				(n > 2 ? in[i + 2] : 0);
		char four[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
				 n > 1 ? digits[bits >> 6 & 63] : '=',
				 n > 2 ? digits[bits & 63] : '=' };

		buf_add(b, four, sizeof(four));
	}
}

void buf_printable(struct buf *b, const char *text, size_t size)
{
	buf_reserve(b, size);
	for (size_t i = 0, n; i < size; i += n) {
		bool control;

		n = harmless_next(text + i, size - i, &control);
		if (control)
			buf_char(b, '?');
		else
			buf_add(b, text + i, n);
	}
}

size_t text_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void text_column(struct buf *out, size_t start, size_t column)
{
	size_t used = text_columns(out->data + start);

	if (used + 2 > column) {
		buf_char(out, '\n');
		used = 0;
	}
	buf_repeat(out, ' ', column - used);
}

void text_wrap(struct buf *out, const char *text, size_t column, size_t width)
{
	size_t at = column;

	while (*text) {
		size_t n = strcspn(text, " "), start = out->size;

		if (at > column)
			buf_char(out, ' ');
		buf_add(out, text, n);
		buf_char(out, 0);
		out->size--;
		at += text_columns(out->data + start);
		if (at > width && start > 0 && out->data[start] == ' ') {
			out->size = start;
			buf_char(out, '\n');
			buf_repeat(out, ' ', column);
			start = out->size;
			buf_add(out, text, n);
			buf_char(out, 0);
			out->size--;
			at = column + text_columns(out->data + start);
		}
		text += n + strspn(text + n, " ");
	}
	buf_char(out, '\n');
}
