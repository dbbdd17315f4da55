/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a running jemalloc said of itself, once a second: curves of the process and of each arena.
 *
 * Bounded, however long somebody looks and however many arenas there are: what is oldest goes.
 * Written by one thread; readers hold the lock of whoever has it (watch.c). */
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "jemalloc/stats.h"

#define WATCH_POINTS 3600	 /* an hour */
#define WATCH_BYTES (8ull << 20) /* of arenas, in all points */

enum watch_curve {
	WATCH_ALLOCATED,
	WATCH_ACTIVE,
	WATCH_METADATA,
	WATCH_RESIDENT,
	WATCH_MAPPED,
	WATCH_RETAINED,
	WATCH_DIRTY,
	WATCH_MUZZY,
	WATCH_CURVES
};

extern const char *const watch_curves[]; /* their names */

struct watch_arena {
	uint32_t id;
	uint64_t dirty, muzzy; /* bytes */
};

struct watch_point {
	uint64_t number; /* from 1 on */
	int64_t time_ms; /* since 1970 */
	uint64_t value[WATCH_CURVES];
	struct watch_arena *arenas; /* by id */
	size_t arena_count;
};

struct watch_series {
	struct watch_point *points; /* the oldest first */
	size_t count, room, first;  /* first: where they begin */
	size_t bytes;		    /* of arenas */
	uint64_t number;	    /* of the last point */
};

void watch_series_release(struct watch_series *s);
/* Adds what was said at a moment; the point stays until the next one is added. */
const struct watch_point *watch_series_add(struct watch_series *s, const struct stats *said,
					   int64_t time_ms);
/* Points from a number on, as arrays. */
void watch_series_write(struct json *j, const struct watch_series *s, uint64_t from);
