/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which bytes of the address space were resident at one sample of the memory maps: stretches by
 * address, to be asked about any range.  Made on one thread, read by any. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/seen_regions.h"

#define RESIDENCY_SHIFT 12 /* a page is 4 KiB, whatever the system's are */
#define RESIDENCY_PAGE (1u << RESIDENCY_SHIFT)

/* A map, or a stretch of resident pages. */
struct residency_run {
	uint64_t start, end;
	uint64_t before;  /* resident bytes below it; of maps nothing */
	uint32_t present; /* of each page so many bytes: all of them, or on average */
};

struct residency {
	uint64_t at; /* stamp */
	struct residency_run *maps, *runs;
	size_t map_count, map_room, run_count, run_room;
};

/* As the regions are now. */
void residency_init(struct residency *r, const struct seen_regions *seen);
void residency_release(struct residency *r);
/* The map that an address is in; SIZE_MAX: none. */
size_t residency_map(const struct residency *r, uint64_t address);
/* Resident bytes of [start, end), whose bounds are those of pages. */
uint64_t residency_in(const struct residency *r, uint64_t start, uint64_t end);
