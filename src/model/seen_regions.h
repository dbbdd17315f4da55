/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The regions that samples of memory maps have shown, as they were at one sample after the other.
 * For resident.h.  One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "model/regions.h"

struct seen_region {
	uint64_t number, start, end;
	const struct region_found *found;
	struct region_usage usage; /* bytes */
	uint64_t huge;		   /* bytes in huge pages */
	bool gone;
	bool first; /* the first sample has it */
};

struct seen_regions {
	const struct regions *from;
	size_t samples, pages; /* that were taken */
	struct map by_number;  /* in `all` */
	struct map runs;       /* by number and stretch: in from->pages */
	struct seen_region *all;
	size_t all_count, all_room;
	struct seen_region *list; /* that there are now, by address */
	size_t count, room;
	uint64_t at; /* stamp of the last sample that was taken */
};

void seen_regions_init(struct seen_regions *s, const struct regions *from);
void seen_regions_release(struct seen_regions *s);
/* Takes samples up to and with this one. */
void seen_regions_advance(struct seen_regions *s, size_t sample);

/* Walks over what is known of single pages of a region that is resident in part: calls `run` for
 * stretches of bytes, which is_resident holds for; false if nothing is known. */
typedef void seen_run(void *context, uint64_t start, uint64_t end);
bool seen_regions_resident(const struct seen_regions *s, const struct seen_region *r, seen_run *run,
			   void *context);
