/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Address ranges of memory maps.  See map_ranges.h.  Regions by address, and for each how far any
 * of those before it reaches: so a look back ends where nothing can come any more. */
#include "query/map_ranges.h"

#include "base/order.h"
#include "base/xalloc.h"
#include "model/model.h"

struct map_range {
	uint64_t start, end, begun, ended;
	uint64_t reach; /* the furthest end up to here */
};

struct map_ranges {
	struct map_range *list;
	size_t count, room;
};

ORDER(by_start, struct map_range, RISING(start))

struct map_ranges *map_ranges_new(const struct model *m, const uint64_t *ids, size_t count)
{
	const struct map_history *h = model_maps(m);
	struct map_ranges *p = xcalloc(1, sizeof(*p));
	uint64_t reach = 0;

	for (size_t i = 0; i < count; i++) {
		const struct map_row *row = ids[i] < h->count ? &h->rows[ids[i]] : NULL;

		for (uint32_t k = 0; row && k < row->region_count; k++) {
			const struct map_region *r = &h->regions[row->first_region + k];

			*xpush(p->list, p->count, p->room) =
				(struct map_range){ r->address, r->address + r->length, r->begun,
						    r->ended, 0 };
		}
	}
	SORT(p->list, p->count, by_start);
	for (size_t i = 0; i < p->count; i++) {
		reach = MAX(reach, p->list[i].end);
		p->list[i].reach = reach;
	}
	return p;
}

struct map_ranges *map_ranges_free(struct map_ranges *p)
{
	if (!p)
		return NULL;
	free(p->list);
	free(p);
	return NULL;
}

bool map_ranges_overlap(const struct map_ranges *p, uint64_t address, uint64_t size, uint64_t begun,
			uint64_t ended)
{
	uint64_t end = address + (size ? size : 1);
	size_t low = FIRST_WHERE(i, p->count, p->list[i].start >= end);

	while (low-- && p->list[low].reach > address)
		if (p->list[low].end > address && p->list[low].begun < ended &&
		    p->list[low].ended > begun)
			return true;
	return false;
}
