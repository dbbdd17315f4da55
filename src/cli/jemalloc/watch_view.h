/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir jemalloc watch shows: the state of one process and how it changes, as one screen. */
#include "base/term.h"
#include "jemalloc/live_rows.h"

struct buf;

struct watch_view {
	const char *source;
	struct stats *stats; /* the last snapshot, or NULL before the first */
	int64_t time_ns;
	struct growth *classes, *arenas;
	enum live_sort sort;
	bool paused;
	const char *wrong; /* what went wrong last, or NULL */
	uint64_t interval_ns;
	uint64_t snapshots;
};

/* At most `height` lines of at most `width` columns, each but the last with a newline; colours as
 * `t` says.  0 for no limit on the lines. */
void watch_view_draw(struct buf *out, const struct watch_view *v, const struct term *t,
		     unsigned width, unsigned height);
