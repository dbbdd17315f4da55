/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The JSON writer.  See json.h. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/utf8.h"

#define INDENT_MAX 40 /* levels; a deep tree would be mostly blanks */

static void new_line(struct json *j)
{
	if (j->compact)
		return;
	buf_char(j->out, '\n');
	buf_repeat(j->out, ' ', (size_t)2 * (j->depth < INDENT_MAX ? j->depth : INDENT_MAX));
}

static void quoted(struct buf *out, const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + size;

	buf_char(out, '"');
	while (s < end) {
		const unsigned char *plain = s;
		size_t n;

		while (s < end && *s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\')
			s++;
		if (s > plain)
			buf_add(out, plain, (size_t)(s - plain));
		if (s == end)
			break;
		n = utf8_sequence(s, (size_t)(end - s));
		if (!n)
			buf_text(out, "\xef\xbf\xbd");
		else if (*s == '"' || *s == '\\')
			buf_printf(out, "\\%c", *s);
		else if (*s == '\n')
			buf_text(out, "\\n");
		else if (*s == '\t')
			buf_text(out, "\\t");
		else if (*s < 0x20 || *s == 0x7f)
			buf_printf(out, "\\u%04x", *s);
		else if (*s == 0xc2 && s[1] < 0xa0) /* terminals take U+0080 to U+009F for orders */
			buf_printf(out, "\\u%04x", s[1]);
		else
			buf_add(out, s, n);
		s += n ? n : 1;
	}
	buf_char(out, '"');
}

static void json_start_value(struct json *j, const char *key)
{
	if (j->filled)
		buf_char(j->out, ',');
	if (j->depth)
		new_line(j);
	j->filled = true;
	if (key) {
		quoted(j->out, key, strlen(key));
		buf_text(j->out, j->compact ? ":" : ": ");
	}
}

static void open_level(struct json *j, const char *key, char bracket)
{
	json_start_value(j, key);
	buf_char(j->out, bracket);
	j->depth++;
	j->filled = false;
}

static void close_level(struct json *j, char bracket)
{
	j->depth--;
	if (j->filled)
		new_line(j);
	buf_char(j->out, bracket);
	j->filled = true;
	if (!j->depth)
		buf_char(j->out, '\n');
}

void json_object(struct json *j, const char *key)
{
	open_level(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	open_level(j, key, '[');
}

void json_end_object(struct json *j)
{
	close_level(j, '}');
}

void json_end_array(struct json *j)
{
	close_level(j, ']');
}

void json_text(struct json *j, const char *key, const char *text)
{
	if (!text) {
		json_null(j, key);
		return;
	}
	json_bytes(j, key, text, strlen(text));
}

void json_bytes(struct json *j, const char *key, const char *text, size_t size)
{
	json_start_value(j, key);
	quoted(j->out, text, size);
}

void json_number(struct json *j, const char *key, uint64_t value)
{
	json_start_value(j, key);
	buf_decimal(j->out, value);
}

void json_signed(struct json *j, const char *key, int64_t value)
{
	json_start_value(j, key);
	if (value < 0)
		buf_char(j->out, '-');
	buf_decimal(j->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_real(struct json *j, const char *key, double value, unsigned digits)
{
	uint64_t scale = 1, scaled;

	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	json_start_value(j, key);
	if (value < 0 || value > 1e6 || digits > 9) {
		buf_printf(j->out, "%.*f", (int)digits, value);
		return;
	}
	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	scaled = (uint64_t)(value * (double)scale + 0.5);
	buf_decimal(j->out, scaled / scale);
	if (!digits)
		return;
	buf_char(j->out, '.');
	for (scaled %= scale; (scale /= 10) > 0; scaled %= scale)
		buf_char(j->out, (char)('0' + scaled / scale));
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_start_value(j, key);
	buf_text(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_start_value(j, key);
	buf_text(j->out, "null");
}

void json_written(struct json *j, const char *key, const char *text, size_t size)
{
	json_start_value(j, key);
	buf_add(j->out, text, size);
}

bool json_row(struct json *j, size_t row, bool more)
{
	if (row)
		json_end_object(j);
	if (more)
		json_object(j, NULL);
	else
		json_end_array(j);
	return more;
}

void json_number_if(struct json *j, const char *key, bool known, uint64_t value)
{
	if (known)
		json_number(j, key, value);
	else
		json_null(j, key);
}

void json_real_if(struct json *j, const char *key, bool known, double value, unsigned digits)
{
	if (known)
		json_real(j, key, value, digits);
	else
		json_null(j, key);
}
