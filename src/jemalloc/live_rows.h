/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Arenas and size classes of a running process with how they grow, in the order that somebody
 * wants to see.  For memoir jemalloc watch. */
#include "jemalloc/growth.h"
#include "jemalloc/stats.h"

enum live_sort { LIVE_BY_SIZE, LIVE_BY_GROWTH, LIVE_BY_FREE, LIVE_SORT_COUNT };
extern const char *const live_sorts[]; /* their words */

struct live_row {
	uint64_t key; /* an arena's number, or a class's size */
	uint64_t bytes, active, free_bytes;
	uint64_t count; /* threads of an arena, blocks of a class */
	uint64_t dirty; /* of an arena */
	const struct growth_class *growth;
};

struct live_rows {
	struct live_row *list;
	size_t count, room;
};

/* `growth` of arenas, or of classes, after growth_rank(). */
void live_rows_arenas(struct live_rows *r, const struct stats *s, const struct growth *growth,
		      enum live_sort sort);
void live_rows_classes(struct live_rows *r, const struct stats_arena *whole,
		       const struct growth *growth, enum live_sort sort);
