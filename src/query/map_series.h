/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What all maps of a list together had over time; the recorder's own count only if they are in it.
 * Any thread. */
#include "query/map_list.h"

struct map_point {
	uint64_t at; /* stamp */
	uint64_t address_space, rss, anonymous, dirty, clean, swap;
	uint64_t mapped; /* by the program itself, for memory of its own */
};
/* At most `count` points between the first and the last change, or all changes if there are no more
 * than that; the caller frees *ret_points.  0: all of them. */
size_t map_series(const struct map_list *l, size_t count, struct map_point **ret_points);
