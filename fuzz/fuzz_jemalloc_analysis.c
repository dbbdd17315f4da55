/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is made of snapshots, whose numbers may be any: the sum of the arenas, the steps from
 * resident to allocated, advice, growth, JSON and metrics.  The steps add up. */
#include <stdlib.h>

#include "base/buf_type.h"
#include "fuzz.h"
#include "jemalloc/growth.h"
#include "jemalloc/merge.h"
#include "jemalloc/metrics.h"
#include "jemalloc/snapshots.h"
#include "jemalloc/stats_write.h"

static void check(const struct stats *s, const struct stats_arena *a)
{
	struct waterfall w = { 0 };
	uint64_t at;

	waterfall_make(&w, s, a);
	at = w.resident;
	for (unsigned i = 0; i < WATERFALL_SLABS; i++)
		at -= (uint64_t)w.step[i];
	if (w.resident < STATS_NONE && w.active < STATS_NONE && at != w.active)
		abort();
	at = w.active;
	for (unsigned i = WATERFALL_SLABS; i < WATERFALL_TCACHE; i++)
		at -= (uint64_t)w.step[i];
	if (w.active < STATS_NONE && w.allocated < STATS_NONE && at != w.allocated)
		abort();
	waterfall_release(&w);
}

FUZZ(jemalloc_analysis, data, size)
{
	struct err err = { .text = "" };
	struct growth growth = { .limit = 4, .moving = size & 1 };
	struct growth arenas = { .limit = 4 };
	struct buf out = { 0 };
	struct snapshots r;
	struct json j = { .out = &out };
	int n;

	json_array(&j, NULL);
	snapshots_memory(&r, data, size);
	while ((n = snapshots_next(&r, &err))) {
		const struct stats_arena *whole;

		if (n < 0)
			continue;
		whole = stats_merge(&r.stats);
		if (whole)
			check(&r.stats, whole);
		growth_add(&growth, &r.stats, whole, r.time_ns);
		growth_add_arenas(&arenas, &r.stats, r.time_ns);
		stats_write(&j, NULL, &r.stats,
			    &(struct stats_origin){ "x", r.document, r.time_ns });
		buf_clear(&out);
		metrics_write(&out, &r.stats);
		buf_clear(&out);
	}
	growth_write(&j, NULL, &growth);
	growth_write(&j, NULL, &arenas);
	growth_release(&growth);
	growth_release(&arenas);
	snapshots_close(&r);
	buf_release(&out);
	return 0;
}
