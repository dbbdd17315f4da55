/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What may be read and set by name: a list with the type of each.
 *
 * What is not on it is refused, so that nobody resets an arena, swaps its hooks or asks for an
 * address from outside.  A value of another type is refused before jemalloc sees it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/text.h"

enum ctl_type { CTL_BOOL, CTL_U32, CTL_U64, CTL_I64, CTL_SIZE, CTL_SSIZE, CTL_TEXT, CTL_ACTION };

struct ctl_row {
	const char *name; /* # is a number, @ a word */
	enum ctl_type type;
	enum { CTL_READ = 1, CTL_WRITE = 2, CTL_BOTH = 3 } access;
};

union ctl_value {
	bool flag;
	uint32_t u32;
	uint64_t u64;
	int64_t i64;
	size_t size;
	ssize_t ssize;
	const char *text;
};

/* The row of a name, or NULL: it is not to be had. */
const struct ctl_row *ctl_find(const char *name);
const char *ctl_type_name(enum ctl_type type);
/* The value as JSON; 0 or jemalloc's errno. */
int ctl_print(const struct ctl_row *row, const char *name, struct text *out);
/* A value of the row's type from text (which it may point to); its size, or 0: it is none. */
size_t ctl_parse(const struct ctl_row *row, const char *text, union ctl_value *ret);
