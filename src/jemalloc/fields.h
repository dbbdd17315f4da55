/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One number of a snapshot by its name, for series:
 *
 *   active, small_nmalloc, total …   of an arena (total is total_allocated)
 *   stats.resident …                 of the process
 *   bin.4096.curregs …               of a bin of an arena, by its size
 *   large.16384.allocated …          of a large class of an arena
 */
#include "base/err.h"
#include "jemalloc/stats.h"

enum fields_kind { FIELDS_ARENA, FIELDS_TOTAL, FIELDS_BIN, FIELDS_LARGE };

struct fields_name {
	enum fields_kind kind;
	int field;
	uint64_t size; /* of the class */
	bool bytes;    /* it is a number of bytes */
	char text[64];
};

/* 0, or -EINVAL with err. */
int fields_parse(struct fields_name *f, const char *text, size_t size, struct err *err);
/* STATS_NONE: not said.  A class that an arena has no row of, beside others that it has, is 0. */
uint64_t fields_value(const struct fields_name *f, const struct stats *s,
		      const struct stats_arena *a);
/* Whether a number of this name is bytes. */
bool fields_bytes(const char *name);
