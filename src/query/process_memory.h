/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the process as a whole had, beside the blocks of its allocator: resident memory, as the
 * samples of its memory maps saw it, and what the program mapped by calls of its own.
 *
 * The recorder's own maps do not count.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/view.h"

/* Of all maps together at one moment. */
struct process_moment {
	uint64_t at;	     /* stamp */
	uint64_t rss;	     /* of everything */
	uint64_t unmapped;   /* anonymous and resident, and of no map that the program made: blocks,
			      * what the allocator has besides, stacks of threads, static data */
	uint64_t mapped;     /* bytes of maps that the program made */
	uint64_t mapped_rss; /* what of them was resident */
};

/* What the function that called mmap had mapped when the program had most.  It is not the
 * responsible one: a program that maps has an allocator of its own, and that is asked about. */
struct mapped_by {
	uint32_t stack; /* of the largest of its maps */
	uint64_t bytes, largest;
	uint32_t maps;
};

struct process_memory {
	bool sampled; /* at least once: otherwise nothing is known of what was resident */
	struct process_moment peak;   /* when most was resident, first */
	struct process_moment last;   /* at the last sample */
	struct process_moment most;   /* when the program had most mapped, first; 0: never any */
	uint64_t peak_mapped_rss;     /* most of `mapped_rss`, at whatever moment */
	struct mapped_by mapped_by;   /* the function that had most of `most` */
	uint32_t mapped_by_functions; /* that had any */
};

void process_memory_init(struct process_memory *p, const struct view *v);
/* Did the program make it for memory of its own: by a call that was seen, of no file, not shared,
 * and not for its allocator? */
struct map_row;
bool map_is_programs(const struct map_row *row);
/* The name of the function that called mmap: false if it is not known. */
struct buf;
bool process_memory_mapper(const struct view *v, uint32_t stack, struct buf *out);
