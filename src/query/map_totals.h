/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the program's memory maps came to at the last sample, read on as samples come: for who
 * follows a recording, or needs no more than the last figures.  map_series.h has all of them.  The
 * recorder's own maps are left out.  One thread at a time. */
#include <stdint.h>

#include "base/map.h"
#include "model/regions.h"

struct map_totals {
	struct map by_number; /* to a row, plus one */
	struct map_total {
		uint64_t length, rss;
		uint32_t own;
	} * rows;
	size_t count, room;
	size_t samples; /* that were taken in */
	uint64_t address_space, rss, peak_rss;
};

void map_totals_read_on(struct map_totals *t, const struct regions *r);
void map_totals_release(struct map_totals *t);
