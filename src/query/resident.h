/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where resident memory goes: the kernel's figure (RSS) as a sum of terms.
 *
 * At a sample of the memory maps, each region's resident pages are told apart by what is in them.
 * In the allocator's memory that is done page by page: what was asked for, what lies between and
 * beside blocks, pages that no block is in any more.  Everything else is a region's as a whole.
 * What nobody is known to have mapped, and has no blocks, is "unknown"; it is never shared out.
 *
 * Any thread; the result is its caller's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/map_history.h"
#include "query/view.h"

enum resident_term {
	RESIDENT_REQUESTED,
	RESIDENT_ROUNDING,
	RESIDENT_FREE_PARTS,
	RESIDENT_FREE_PAGES,
	RESIDENT_HUGE,
	RESIDENT_ALLOCATOR,
	RESIDENT_STACKS,
	RESIDENT_CODE,
	RESIDENT_DATA,
	RESIDENT_FILES,
	RESIDENT_ANONYMOUS,
	RESIDENT_MEMOIR,
	RESIDENT_UNKNOWN,
	RESIDENT_TERMS
};

struct resident_term_row {
	const char *name;  /* "free_pages" */
	const char *title; /* for people */
	const char *help;
};
extern const struct resident_term_row resident_terms[RESIDENT_TERMS];

/* Everything in bytes. */
struct resident_moment {
	uint64_t at; /* stamp of the sample */
	uint64_t rss, swap;
	uint64_t live; /* asked for and not freed, resident or not */
	uint64_t huge; /* in huge pages, whatever is in them: no term */
	uint64_t terms[RESIDENT_TERMS];
};

enum resident_part_kind {
	RESIDENT_PART_MAP,
	RESIDENT_PART_FILE,
	RESIDENT_PART_STACK,
	RESIDENT_PART_BLOCKS
};

/* What a term consists of: one file, all maps of one stack, one map, or all blocks of one stack. */
struct resident_part {
	uint8_t term, kind;
	uint8_t call;
	uint32_t name;	   /* in regions.names */
	uint32_t stack;	   /* that mapped or allocated it; STACK_NONE: not known */
	const char *owner; /* the allocator whose map it is (map_owner.h); NULL: nobody's known */
	uint64_t address;  /* of the map */
	uint64_t size;	   /* in all: of maps, or what blocks were asked for */
	uint64_t maps, blocks;
	uint64_t bytes;
};

struct resident {
	struct resident_moment moment;
	struct resident_part *parts; /* by term, most bytes first */
	size_t part_count;
};

/* At the last sample until a stamp, or at the first one; false if there is none. */
bool resident_init(struct resident *r, const struct view *v, uint64_t at);
void resident_release(struct resident *r);
/* At up to `count` samples, which are spread over the time; returns how many. */
size_t resident_series(const struct view *v, size_t count, struct resident_moment **ret_moments);
