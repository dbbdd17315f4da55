/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A JSON array of numbers, written without printf: there may be as many as a recording has events.
 *
 *	NUMBERS_EACH(n, &j, "weight", i, i < count)
 *		numbers_add(&n, weights[i]);
 *
 * One thread: the exporter's. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"

struct numbers {
	struct json *j;
	struct buf *out;
	bool filled;
};

static inline struct numbers numbers_start(struct json *j, const char *key)
{
	json_array(j, key);
	return (struct numbers){ .j = j, .out = j->out };
}

static inline void numbers_end(struct numbers *n)
{
	json_end_array(n->j);
}

/* At least `digits` digits of a number. */
static inline void numbers_digits(struct buf *out, uint64_t value, unsigned digits)
{
	char text[20];
	unsigned at = sizeof(text);

	for (; at && (value || digits); digits -= digits > 0) {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	}
	buf_add(out, text + at, sizeof(text) - at);
}

static inline void numbers_next(struct numbers *n)
{
	if (n->filled)
		buf_char(n->out, ',');
	n->filled = true;
}

static inline void numbers_add(struct numbers *n, int64_t value)
{
	numbers_next(n);
	if (value < 0)
		buf_char(n->out, '-');
	numbers_digits(n->out, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

static inline void numbers_null(struct numbers *n)
{
	numbers_next(n);
	buf_add(n->out, "null", 4);
}

/* Nanoseconds as milliseconds, not one of them lost. */
static inline void numbers_ms(struct numbers *n, uint64_t ns)
{
	numbers_next(n);
	numbers_digits(n->out, ns / 1000000, 1);
	buf_char(n->out, '.');
	numbers_digits(n->out, ns % 1000000, 6);
}

/* The whole array, with what the statement adds for each i while `more` holds. */
#define NUMBERS_EACH(n, j, key, i, more)                                                           \
	for (struct numbers n = numbers_start(j, key), *once_ = &n; once_;                         \
	     numbers_end(&n), once_ = NULL)                                                        \
		for (size_t i = 0; more; i++)
