/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A snapshot with what follows from it, as JSON: for memoir jemalloc stats --json and for the page.
 * docs/jemalloc.md says what the keys mean. */
#include "base/json.h"
#include "jemalloc/stats.h"
#include "jemalloc/waterfall.h"
#include "jemalloc/when.h"

struct stats_origin {
	const char *file;
	uint64_t offset; /* of the document in it */
	int64_t time_ns; /* since 1970, or WHEN_NONE */
};

/* One object; the sum of the arenas is made if it is missing. */
void stats_write(struct json *j, const char *key, struct stats *s, const struct stats_origin *from);
/* The fields that have a value. */
void stats_write_fields(struct json *j, const struct stats_field *fields, const uint64_t *values);
