/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Resident stretches of the address space.  See residency.h. */
#include "query/residency.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

static void add_run(void *context, uint64_t start, uint64_t end)
{
	struct residency *r = context;
	struct residency_run *last = r->run_count ? &r->runs[r->run_count - 1] : NULL;

	/* Stretches come by address; what a damaged file says twice counts once. */
	start = MAX(start, last ? last->end : 0);
	if (start >= end)
		return;
	if (last && last->end == start && last->present == RESIDENCY_PAGE)
		last->end = end;
	else
		*xpush(r->runs, r->run_count, r->run_room) = (struct residency_run){
			.start = start, .end = end, .present = RESIDENCY_PAGE
		};
}

static void add_region(struct residency *r, const struct seen_regions *seen,
		       const struct seen_region *region)
{
	uint64_t size = region->end - region->start;

	*xpush(r->maps, r->map_count, r->map_room) =
		(struct residency_run){ .start = region->start, .end = region->end };
	if (!region->usage.rss || seen_regions_resident(seen, region, add_run, r))
		return;
	/* How much, but not which pages: each counts for its part of that. */
	*xpush(r->runs, r->run_count, r->run_room) = (struct residency_run){
		.start = region->start,
		.end = region->end,
		.present = (uint32_t)((double)RESIDENCY_PAGE * (double)region->usage.rss /
				      (double)size),
	};
}

static uint64_t bytes_of(const struct residency_run *run, uint64_t start, uint64_t end)
{
	return (end - start) / RESIDENCY_PAGE * run->present;
}

void residency_init(struct residency *r, const struct seen_regions *seen)
{
	uint64_t sum = 0;

	*r = (struct residency){ .at = seen->at };
	for (size_t i = 0; i < seen->count; i++)
		add_region(r, seen, &seen->list[i]);
	for (size_t i = 0; i < r->run_count; i++) {
		r->runs[i].before = sum;
		sum += bytes_of(&r->runs[i], r->runs[i].start, r->runs[i].end);
	}
}

void residency_release(struct residency *r)
{
	free(r->maps);
	free(r->runs);
	*r = (struct residency){ 0 };
}

size_t residency_map(const struct residency *r, uint64_t address)
{
	size_t next = FIRST_WHERE(i, r->map_count, r->maps[i].start > address);

	return next && r->maps[next - 1].end > address ? next - 1 : SIZE_MAX;
}

/* Resident bytes below an address. */
static uint64_t below(const struct residency *r, uint64_t address)
{
	size_t next = FIRST_WHERE(i, r->run_count, r->runs[i].start > address);
	const struct residency_run *run = next ? &r->runs[next - 1] : NULL;

	return run ? run->before + bytes_of(run, run->start, MIN(address, run->end)) : 0;
}

uint64_t residency_in(const struct residency *r, uint64_t start, uint64_t end)
{
	return below(r, end) - below(r, start);
}
