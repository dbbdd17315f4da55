/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* json.h for loops over millions of rows: the same values, with keys that are literals.
 *
 * A key's length is known when this is compiled, nothing in it has to be escaped, and room is made
 * once for key and value.  What is not compact goes the other way. */
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"

#define JSON_QUICK static inline __attribute__((always_inline))
#define JSON_QUICK_VALUE 40 /* bytes that a number or its like takes at most */

/* Writes the key; returns where the value goes. */
JSON_QUICK char *json_quick_key(struct json *j, const char *key)
{
	struct buf *out = j->out;
	size_t size = strlen(key);
	char *p;

	if (out->room - out->size < size + JSON_QUICK_VALUE)
		buf_reserve(out, size + JSON_QUICK_VALUE);
	p = out->data + out->size;
	*p = ',';
	p += j->filled;
	*p++ = '"';
	memcpy(p, key, size);
	p += size;
	*p++ = '"';
	*p++ = ':';
	j->filled = true;
	return p;
}

JSON_QUICK void json_quick_end(struct json *j, char *end)
{
	*end = 0;
	j->out->size = (size_t)(end - j->out->data);
}

JSON_QUICK void json_quick_object(struct json *j, const char *key)
{
	char *p;

	if (!j->compact) {
		json_object(j, key);
		return;
	}
	p = json_quick_key(j, key);
	*p++ = '{';
	json_quick_end(j, p);
	j->depth++;
	j->filled = false;
}

/* Of an object within something else. */
JSON_QUICK void json_quick_end_object(struct json *j)
{
	if (!j->compact || j->depth < 2) {
		json_end_object(j);
		return;
	}
	buf_char(j->out, '}');
	j->depth--;
	j->filled = true;
}

/* `digits` digits, with zeros before it; two at a time. */
JSON_QUICK char *json_quick_digits(char *p, uint64_t value, unsigned digits)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	unsigned i = digits;

	for (; i > 1; value /= 100) {
		i -= 2;
		memcpy(p + i, pairs + 2 * (value % 100), 2);
	}
	if (i)
		p[0] = (char)('0' + value % 10);
	return p + digits;
}

JSON_QUICK char *json_quick_decimal(char *p, uint64_t value)
{
	static const uint64_t powers[] = {
		0,
		10,
		100,
		1000,
		10000,
		100000,
		1000000,
		10000000,
		100000000,
		1000000000,
		10000000000,
		100000000000,
		1000000000000,
		10000000000000,
		100000000000000,
		1000000000000000,
		10000000000000000,
		100000000000000000,
		1000000000000000000,
		10000000000000000000u,
	};
	/* 1233 / 4096 is a little more than log10(2). */
	unsigned digits = (unsigned)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;

	return json_quick_digits(p, value, digits + (value >= powers[digits]));
}

JSON_QUICK void json_quick_number(struct json *j, const char *key, uint64_t value)
{
	if (!j->compact)
		json_number(j, key, value);
	else
		json_quick_end(j, json_quick_decimal(json_quick_key(j, key), value));
}

JSON_QUICK void json_quick_bool(struct json *j, const char *key, bool value)
{
	char *p;

	if (!j->compact) {
		json_bool(j, key, value);
		return;
	}
	p = json_quick_key(j, key);
	memcpy(p, value ? "true\0" : "false", 5);
	json_quick_end(j, p + (value ? 4 : 5));
}

/* 16 digits, in quotes. */
JSON_QUICK void json_quick_hex(struct json *j, const char *key, uint64_t value)
{
	char text[17];

	for (unsigned i = 0; i < 16; i++)
		text[i] = "0123456789ABCDEF"[value >> (60 - 4 * i) & 15];
	text[16] = 0;
	if (!j->compact) {
		json_text(j, key, text);
	} else {
		char *p = json_quick_key(j, key);

		*p++ = '"';
		memcpy(p, text, 16);
		p[16] = '"';
		json_quick_end(j, p + 17);
	}
}

/* A part of one, with nine digits. */
JSON_QUICK void json_quick_part(struct json *j, const char *key, double value)
{
	uint64_t scaled;
	char *p;

	if (!j->compact || !(value >= 0 && value <= 1e6)) {
		json_real(j, key, value, 9);
		return;
	}
	scaled = (uint64_t)(value * 1e9 + 0.5);
	p = json_quick_decimal(json_quick_key(j, key), scaled / 1000000000);
	*p++ = '.';
	json_quick_end(j, json_quick_digits(p, scaled % 1000000000, 9));
}

/* Short ones that need no escapes are copied. */
JSON_QUICK void json_quick_text(struct json *j, const char *key, const char *text)
{
	char *p;
	size_t i;

	if (j->compact) {
		for (i = 0; i < JSON_QUICK_VALUE - 4 && text[i] >= 0x20 && text[i] < 0x7f &&
			    text[i] != '"' && text[i] != '\\';)
			i++;
		if (!text[i]) {
			p = json_quick_key(j, key);
			*p++ = '"';
			memcpy(p, text, i);
			p[i] = '"';
			json_quick_end(j, p + i + 1);
			return;
		}
	}
	json_text(j, key, text);
}
