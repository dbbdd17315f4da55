/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From resident to allocated.  See waterfall.h. */
#include "jemalloc/waterfall.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

#define NO_MUZZY_RESIDENT 50300 /* from this release on muzzy pages are not counted as resident */

const struct waterfall_row waterfall_rows[] = {
	[WATERFALL_DIRTY] = { "dirty", "dirty pages, kept for reuse" },
	[WATERFALL_MUZZY] = { "muzzy", "muzzy pages" },
	[WATERFALL_METADATA] = { "metadata", "jemalloc's own structures" },
	[WATERFALL_ROUNDING] = { "metadata_rounding", "the rest of their pages" },
	[WATERFALL_SLABS] = { "slabs", "free regions in slabs" },
	[WATERFALL_PADDING] = { "large_padding", "a page with each large block" },
	[WATERFALL_SAMPLED_PAGES] = { "sampled_pages", "pages of the heap profiler" },
	[WATERFALL_UNKNOWN] = { "unexplained", "not explained by this snapshot" },
	[WATERFALL_TCACHE] = { "tcache", "in the caches of threads" },
	[WATERFALL_STASHED] = { "tcache_stashed", "freed, kept back by guards" },
	[WATERFALL_INTERNAL] = { "internal", "jemalloc's own blocks" },
	[WATERFALL_SAMPLED] = { "sampled", "blocks of the heap profiler" },
};

ORDER(by_bytes, struct waterfall_bin, FALLING(bytes) ?: RISING(size))

static void take_bins(struct waterfall *w, const struct stats_arena *a)
{
	w->bin_count = 0;
	w->attributed = a->bins.count > 0;
	for (size_t i = 0; i < a->bins.count; i++) {
		const uint64_t *b = stats_row(&a->bins, i);
		struct waterfall_bin bin = { .size = stats_known(b[STATS_BIN_SIZE]),
					     .used = stats_known(b[STATS_BIN_CURREGS]),
					     .slabs = stats_known(b[STATS_BIN_CURSLABS]) };

		if (b[STATS_BIN_NREGS] >= STATS_NONE || b[STATS_BIN_CURSLABS] >= STATS_NONE)
			continue;
		bin.regions = b[STATS_BIN_NREGS] * bin.slabs;
		bin.bytes = (int64_t)((bin.regions - bin.used) * bin.size);
		w->step[WATERFALL_SLABS] =
			(int64_t)((uint64_t)w->step[WATERFALL_SLABS] + (uint64_t)bin.bytes);
		if (!bin.bytes)
			continue;
		*xpush(w->bins, w->bin_count, w->bin_room) = bin;
	}
	SORT(w->bins, w->bin_count, by_bytes);
}

/* Whether large blocks have a page more: as configured, or where that was not printed, if it is
 * exactly what is missing. */
static bool is_padded(const struct stats *s, uint64_t missing, uint64_t padding)
{
	const char *value = stats_setting(s, "opt.cache_oblivious");

	if (!value)
		value = stats_setting(s, "config.cache_oblivious");
	return value ? !strcmp(value, "true") : padding && missing == padding;
}

/* The differences may be of numbers from a file that makes no sense; they wrap, and still add up.
 */
static int64_t minus(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

static void take_active(struct waterfall *w, const struct stats *s, const struct stats_arena *a)
{
	uint64_t missing = w->active - w->allocated - (uint64_t)w->step[WATERFALL_SLABS];
	uint64_t padding;

	w->large_count = 0;
	for (size_t i = 0; i < a->large.count; i++)
		w->large_count += stats_known(stats_row(&a->large, i)[STATS_LARGE_COUNT]);
	padding = w->large_count * stats_known(s->shape[STATS_SHAPE_PAGE]);
	w->padded = is_padded(s, missing, padding);
	if (w->padded) {
		w->step[WATERFALL_PADDING] = (int64_t)padding;
		missing -= padding;
	}
	/* Samples in large blocks have some of their pages; others' are in no class. */
	sampled_make(&w->sampled, s, a, w->padded);
	w->step[WATERFALL_SAMPLED_PAGES] = (int64_t)w->sampled.pages;
	if (w->sampled.in == SAMPLED_PAGES)
		missing -= w->sampled.pages;
	else
		w->step[WATERFALL_PADDING] -= (int64_t)w->sampled.pages;
	w->step[WATERFALL_UNKNOWN] = (int64_t)missing;
	w->attributed |= !missing; /* text leaves out bins without slabs */
}

static void take_resident(struct waterfall *w, const struct stats *s, const struct stats_arena *a)
{
	uint64_t page = stats_known(s->shape[STATS_SHAPE_PAGE]);
	uint64_t dirty = stats_known(a->value[STATS_ARENA_PDIRTY]) * page;
	uint64_t muzzy = stats_known(a->value[STATS_ARENA_PMUZZY]) * page;
	uint64_t base = stats_known(a->value[STATS_ARENA_BASE]);
	int64_t left = minus(w->resident, w->active + dirty);

	w->step[WATERFALL_DIRTY] = (int64_t)dirty;
	if (muzzy && s->release && s->release < NO_MUZZY_RESIDENT &&
	    left >= (int64_t)(muzzy + base)) {
		w->step[WATERFALL_MUZZY] = (int64_t)muzzy;
		left = minus((uint64_t)left, muzzy);
	}
	w->step[WATERFALL_METADATA] = (int64_t)base;
	w->step[WATERFALL_ROUNDING] = minus((uint64_t)left, base);
}

static uint64_t either(uint64_t arena, uint64_t total, bool whole)
{
	return arena != STATS_NONE || !whole ? arena : total;
}

void waterfall_make(struct waterfall *w, const struct stats *s, const struct stats_arena *a)
{
	struct waterfall_bin *bins = w->bins;
	bool whole = a == stats_whole(s);
	size_t room = w->bin_room;

	*w = (struct waterfall){ .bins = bins, .bin_room = room };
	w->resident = either(a->value[STATS_ARENA_RESIDENT], s->total[STATS_TOTAL_RESIDENT], whole);
	w->active = either(a->value[STATS_ARENA_ACTIVE], s->total[STATS_TOTAL_ACTIVE], whole);
	w->allocated = either(a->value[STATS_ARENA_TOTAL_ALLOCATED],
			      s->total[STATS_TOTAL_ALLOCATED], whole);
	w->mapped = either(a->value[STATS_ARENA_MAPPED], s->total[STATS_TOTAL_MAPPED], whole);
	w->retained = either(a->value[STATS_ARENA_RETAINED], s->total[STATS_TOTAL_RETAINED], whole);
	w->program = w->allocated;
	take_bins(w, a);
	if (w->active < STATS_NONE && w->allocated < STATS_NONE)
		take_active(w, s, a);
	else
		w->step[WATERFALL_SLABS] = 0;
	if (w->resident < STATS_NONE && w->active < STATS_NONE)
		take_resident(w, s, a);
	if (w->allocated >= STATS_NONE)
		return;
	w->step[WATERFALL_TCACHE] = (int64_t)stats_known(a->value[STATS_ARENA_TCACHE_BYTES]);
	w->step[WATERFALL_STASHED] =
		(int64_t)stats_known(a->value[STATS_ARENA_TCACHE_STASHED_BYTES]);
	w->step[WATERFALL_INTERNAL] = (int64_t)stats_known(a->value[STATS_ARENA_INTERNAL]);
	w->step[WATERFALL_SAMPLED] = (int64_t)w->sampled.allocated;
	for (unsigned i = WATERFALL_TCACHE; i < WATERFALL_STEP_COUNT; i++) {
		if ((uint64_t)w->step[i] > w->program) /* read later than the sum */
			w->step[i] = (int64_t)w->program;
		w->program -= (uint64_t)w->step[i];
	}
}

void waterfall_release(struct waterfall *w)
{
	free(w->bins);
	*w = (struct waterfall){ 0 };
}
