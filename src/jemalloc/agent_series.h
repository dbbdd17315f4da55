/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a running jemalloc said of itself, once a second: curves of the process and of each arena.
 *
 * Bounded, however long somebody looks and however many arenas there are: what is oldest goes.
 * Written by one thread; readers hold the lock of whoever has it (server/agent_session.c). */
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "jemalloc/stats.h"

#define AGENT_SERIES_POINTS 3600	/* an hour */
#define AGENT_SERIES_BYTES (8ull << 20) /* of arenas, in all points */

enum agent_curve {
	AGENT_SERIES_ALLOCATED,
	AGENT_SERIES_ACTIVE,
	AGENT_SERIES_METADATA,
	AGENT_SERIES_RESIDENT,
	AGENT_SERIES_MAPPED,
	AGENT_SERIES_RETAINED,
	AGENT_SERIES_DIRTY,
	AGENT_SERIES_MUZZY,
	AGENT_SERIES_CURVES
};

struct agent_arena {
	uint32_t id;
	uint64_t dirty, muzzy; /* bytes */
};

struct agent_point {
	uint64_t number; /* from 1 on */
	int64_t time_ms; /* since 1970 */
	uint64_t value[AGENT_SERIES_CURVES];
	struct agent_arena *arenas; /* by id */
	size_t arena_count;
};

struct agent_series {
	struct agent_point *points; /* the oldest first */
	size_t count, room, first;  /* first: where they begin */
	size_t bytes;		    /* of arenas */
	uint64_t number;	    /* of the last point */
};

void agent_series_release(struct agent_series *s);
/* Adds what was said at a moment; the point stays until the next one is added. */
const struct agent_point *agent_series_add(struct agent_series *s, const struct stats *said,
					   int64_t time_ms);
/* Points from a number on, as arrays. */
void agent_series_write(struct json *j, const struct agent_series *s, uint64_t from);
/* What was said last, with the numbers of its point: "version", "number", "stats", "arenas" … */
void agent_series_write_point(struct json *j, const struct agent_point *p, const struct stats *s);
