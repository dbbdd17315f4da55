/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The memory maps of a recorded program: who made each, what became of its parts, how much of it
 * was used when.
 *
 * Made of two things when it is first asked for.  The calls that the recorder saw (mmap, munmap,
 * mremap) say exactly which map begins and ends where, when and by whom.  The samples that the
 * collector took from outside say what was resident, and show maps that nobody was seen to make:
 * the heap, the first stack, what the loader maps.  Those begin and end at a sample.
 *
 * A map consists of regions.  A call that unmaps, or maps over, part of a region ends the region;
 * what is left of it goes on as new ones.  What a sample shows to have other permissions does the
 * same.  Times are stamps; bytes are bytes. */
#include <stdbool.h>
#include <stdint.h>

#include "model/regions.h"
#include "pairing/map_calls.h"

#define NO_CALL UINT32_MAX

/* A part of a region was ended by a call. */
struct map_source {
	uint64_t address, length;
	uint32_t call; /* in maps.calls */
};

struct map_region {
	uint32_t map;
	uint32_t first_source,
		source_count; /* in maps.sources: what ended it; none: it was just gone */
	uint8_t flags;	      /* enum map_flags */
	uint64_t address, length;
	uint64_t begun, ended; /* NEVER: not ended */
	uint64_t offset, inode;
	uint32_t major, minor;
	uint32_t name; /* as the kernel has it: regions_name() */
};

/* What a map had from a time on. */
struct map_usage {
	uint32_t map;
	uint64_t at;
	uint64_t address_space;
	struct region_usage bytes;
};

struct map_row {
	uint64_t address, size; /* of its first region; the most that it had */
	uint64_t begun, ended;	/* NEVER: not ended */
	uint32_t call;		/* that made it, or NO_CALL */
	uint32_t end_call;	/* that ended the last of it, or NO_CALL */
	uint8_t flags;		/* of its last region; permissions of all that it had at last */
	uint32_t name;		/* the same */
	uint64_t peak_rss;
	uint32_t first_region, region_count; /* in order of time */
	uint32_t first_usage, usage_count;   /* the same */
};

struct map_history {
	struct map_row *rows; /* in the order in which they began */
	uint32_t count;
	struct map_region *regions;
	uint32_t region_count;
	struct map_source *sources;
	uint32_t source_count;
	struct map_usage *usages; /* by map */
	uint32_t usage_count;
	uint32_t *usage_order; /* the same in order of time */
	uint32_t *growths;     /* calls of brk that made the heap larger, in order of time */
	uint32_t growth_count;
	struct map_calls calls;
	const struct regions *seen; /* the model's */
	bool jemalloc;		    /* the allocator in use is jemalloc */
};

struct model;
const struct map_history *model_maps(const struct model *m);
struct map_history *map_history_new(const struct map_calls *calls, const struct regions *seen);
struct map_history *map_history_free(struct map_history *m);
/* The call that made a map; of the heap, that made it larger first, or NO_CALL. */
uint32_t map_history_maker(const struct map_history *m, const struct map_row *row);
/* What a map had at a moment: its last usage until then, or NULL. */
const struct map_usage *map_history_usage(const struct map_history *m, const struct map_row *row,
					  uint64_t at);
/* From `from` on, the first of `growths` that made this map larger, or NO_CALL: it is no heap, or
 * there are no more. */
uint32_t map_history_growth(const struct map_history *m, const struct map_row *row, uint32_t from);
/* "[anon:mmap]", "[anon:glibc]" (libc made it for itself), "[heap]", "/usr/lib/libc.so": what to
 * call a map, or one of its regions. */
const char *map_history_name(const struct map_history *m, const struct map_row *row);
const char *map_history_region_name(const struct map_history *m, const struct map_region *region);
