/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where and when some memory maps were: was an allocation in one of them?  Any thread; once made it
 * is only read. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct map_ranges;

/* Of the maps with these numbers; those that are none are passed over. */
struct map_ranges *map_ranges_new(const struct model *m, const uint64_t *ids, size_t count);
struct map_ranges *map_ranges_free(struct map_ranges *p);
/* Was a part of them there, at a time from `begun` to before `ended`, at any of these addresses? */
bool map_ranges_overlap(const struct map_ranges *p, uint64_t address, uint64_t size, uint64_t begun,
			uint64_t ended);
