/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a filter is given: sizes, durations, moments, counts, words; read from text once.
 *
 * Sizes: 512, 1.5k, 2M, 3G, 1T (and kB, MB …) count in thousands, as on the pages that people know;
 * 4Ki, 4KiB, 1Mi … in 1024s.  Durations: 10ms, 1.5s, 2m30s, 1h, 3d, 250us, 80ns; a bare number is
 * seconds.  Moments: a duration after the start of the program, N% of its run time, a date and
 * time, or milliseconds since 1970 (a bare number from 10^11 on).  A number may have decimals, and
 * must come out whole.  Any thread; a value is its caller's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum filter_arg {
	ARG_NONE, /* a flag that stands alone */
	ARG_SIZE,
	ARG_COUNT,
	ARG_COUNT_OR_PERCENT,
	ARG_DURATION,
	ARG_DURATION_OR_PERCENT,
	ARG_TIME,
	ARG_ADDRESS,
	ARG_NUMBER,
	ARG_REGEX,
	ARG_TEXT,
	ARG_IDS,    /* numbers with commas between */
	ARG_THREAD, /* a kernel id, or a name */
	ARG_YES_NO,
	ARG_CHOICE,
	ARG_EXPRESSION,
	ARG_COUNT_OF
};

enum value_kind {
	VALUE_NUMBER,  /* bytes, pieces, ns; a moment: ns after the start */
	VALUE_UNIX,    /* a moment: ns since 1970 */
	VALUE_PERCENT, /* in millionths of a percent */
	VALUE_TEXT,
	VALUE_IDS,
};

struct value {
	enum value_kind kind;
	uint64_t number;
	uint64_t width; /* it means [number, number + width): a second, a day, or just 1 */
	char *text;	/* as it was given */
	uint64_t *ids;
	size_t id_count;
};

/* 0, or -EINVAL with one line that says what is expected. */
int value_parse(struct value *ret_value, enum filter_arg type, const char *text, struct err *err);
void value_release(struct value *v);
/* "SIZE": the argument's name in a help text; NULL for ARG_NONE. */
const char *value_name(enum filter_arg type);
/* A line about how such a value is written. */
const char *value_help(enum filter_arg type);
