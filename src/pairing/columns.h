/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Every allocation of a recording, one array per field.
 *
 * A recording's rows are packed while it is loaded (row_builder.h, row_group.h).  Where they are
 * followed while they change they are plain, 60 bytes each.  Who reads asks columns_NAME() and need
 * not know.
 *
 * Plain ones begin in anonymous memory.  Where there are many, they are moved into a file and go on
 * in it, so that the kernel can write them out instead of running out of memory; that file is what
 * the cache keeps (cache.h), and a cached one is mapped the same way, not to be written to.
 *
 * Row i is the i-th allocation in time, so allocated_at is sorted.  Times are stamps (ticks),
 * mended so that no two events of a recording share one: an allocation is alive at t exactly when
 * allocated_at <= t < freed_at. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "pairing/row_group.h"

#define NEVER UINT64_MAX	 /* freed_at of what is alive at the end */
#define NO_ALLOCATION UINT32_MAX /* previous of what is not from realloc */
#define NO_CHAIN UINT32_MAX	 /* chain of what was never part of a realloc */
#define COLUMNS_MAX 0x7ffffffeu	 /* rows */

/* X(type, name) */
#define COLUMNS(X)                                                                                 \
	X(uint64_t, allocated_at)                                                                  \
	X(uint64_t, freed_at)                                                                      \
	X(uint64_t, address)                                                                       \
	X(uint64_t, sizes) /* requested : 48, slack : 16 */                                        \
	X(uint64_t, tags)  /* see below */                                                         \
	X(uint32_t, stack)                                                                         \
	X(uint32_t, free_stack) /* of the free, or of the realloc that ended it */                 \
	X(uint32_t, previous)	/* the row that realloc made this one from */                      \
	X(uint32_t, chain)	/* of reallocs, or NO_CHAIN: see chains.h */                       \
	X(uint32_t, position)	/* in its chain, from 0 */

/* Rows in a file: groups of them, each with a piece of every column, one behind the other in the
 * order above.  A file that is not complete is never mapped by anybody else. */
#define COLUMNS_GROUPS 64
#define COLUMNS_UNIT 16384u	  /* a group has a multiple of this many rows … */
#define COLUMNS_ALIGN (64u << 10) /* … so that each piece starts at a multiple of this */

struct columns_group {
	uint64_t offset;
	uint32_t first, count; /* rows */
};

struct columns_file {
	int fd;
	uint64_t end; /* what is taken of the file */
	struct columns_group groups[COLUMNS_GROUPS];
	uint32_t group_count;
	uint64_t memory;  /* that there is: beyond a part of it rows are written behind */
	uint32_t written; /* rows whose pages are on their way to the disk, or there */
	uint32_t ahead;	  /* rows whose pages are there to be stored to */
};

/* Only who fills rows touches these; everybody else asks columns_NAME(c, row). */
struct columns_plain {
#define X(type, name) type *name;
	COLUMNS(X)
#undef X
};

/* Where packed rows are in a file: the bytes of groups, and their table. */
struct columns_place {
	uint64_t offset, used, table_offset;
	uint32_t group_count, group_bits;
};

/* Rows that are packed, and what they lie in. */
struct columns_packed {
	struct row_groups groups;
	uint64_t used;			/* bytes of what groups.bytes points to */
	size_t bytes_size, groups_size; /* of the mappings */
};

/* The rows of a realloc chain: see model/chains.h. */
struct chain {
	uint32_t first, last;
	uint32_t length;
};

struct columns {
	struct columns_plain plain; /* where `packed` is NULL */
	struct columns_packed *packed;
	uint32_t count, room;
	struct map large_slacks;   /* by row: what has no room in `sizes` */
	struct columns_file *file; /* NULL: in anonymous memory */
	/* Asked once, when `room` has reached spill_at: a descriptor of an empty file (which
	 * becomes the columns'), or -1 to stay in memory.  NULL: stay in memory. */
	int (*spill)(void *context);
	void *spill_context;
	uint32_t spill_at;
};

/* One of a row that is packed.  Loops over many rows unpack them first: columns_window.h.  Pure, so
 * that loops over plain rows are none the worse for the call that they never make. */
#define X(type, name)                                                                              \
	__attribute__((pure, cold))                                                                \
	type columns_packed_##name(const struct columns *c, uint32_t row);
COLUMNS(X)
#undef X

#define X(type, name)                                                                              \
	static inline type columns_##name(const struct columns *c, uint32_t row)                   \
	{                                                                                          \
		if (__builtin_expect(c->packed != NULL, 0))                                        \
			return columns_packed_##name(c, row);                                      \
		return c->plain.name[row];                                                         \
	}                                                                                          \
	/* Without a condition, which gcc would take for a reason to leave it out; where rows      \
	 * are packed it asks for an address that nobody has, which does nothing. */               \
	static inline void columns_prefetch_##name(const struct columns *c, uint32_t row)          \
	{                                                                                          \
		uintptr_t at = (uintptr_t)c->plain.name + row * sizeof(type);                      \
                                                                                                   \
		__builtin_prefetch((const void *)at);                                              \
	}
COLUMNS(X)
#undef X

#define SLACK_LARGE 0xffffu

static inline uint64_t columns_size(const struct columns *c, uint32_t row)
{
	return columns_sizes(c, row) & 0xffffffffffffull;
}

/* Usable size minus requested size. */
uint32_t columns_slack(const struct columns *c, uint32_t row);
/* The same, for loops. */
static inline uint32_t columns_slack_of(const struct columns *c, uint32_t row)
{
	uint32_t slack = (uint32_t)(columns_sizes(c, row) >> 48);

	return slack != SLACK_LARGE ? slack : columns_slack(c, row);
}
void columns_set_size(struct columns *c, uint32_t row, uint64_t size, uint32_t slack);

/* Tags: thread : 22, free thread : 22, call : 7, free call : 7, flags : 6.  Threads are positions
 * in the model's table; the kernel has no more than 2^22 of them. */
#define TAG_THREAD_MAX 0x3fffffu

enum tag_flags {
	TAG_MMAPPED = 1, /* the first three as in enum event_flags */
	TAG_NON_MAIN_ARENA = 2,
	TAG_INSIDE = TAG_MMAPPED | TAG_NON_MAIN_ARENA, /* both: EVENT_INSIDE */
	TAG_ZEROED = 4,
	TAG_TEMPORARY = 8,    /* freed by its thread's next event */
	TAG_REALLOCATED = 16, /* ended by a realloc that made another of it */
	TAG_FREE_LOST = 32,   /* its address was given out again: it must have been freed before */
};

static inline uint64_t tags_make(uint32_t thread, unsigned call, unsigned flags)
{
	return (uint64_t)thread | (uint64_t)(call & 127) << 44 | (uint64_t)(flags & 7) << 58;
}

static inline uint64_t tags_freed(uint64_t tags, uint32_t thread, unsigned call, unsigned flags)
{
	return (tags & ~((uint64_t)TAG_THREAD_MAX << 22 | (uint64_t)127 << 51)) |
	       (uint64_t)thread << 22 | (uint64_t)(call & 127) << 51 | (uint64_t)flags << 58;
}

/* A half each, as row groups have them: who made it, and who ended it. */
static inline uint32_t tags_made(uint64_t tags)
{
	return ((uint32_t)tags & TAG_THREAD_MAX) | (uint32_t)(tags >> 44 & 127) << 22 |
	       (uint32_t)(tags >> 58 & 7) << 29;
}

static inline uint32_t tags_ended(uint64_t tags)
{
	return ((uint32_t)(tags >> 22) & TAG_THREAD_MAX) | (uint32_t)(tags >> 51 & 127) << 22 |
	       (uint32_t)(tags >> 61) << 29;
}

static inline uint64_t tags_join(uint32_t made, uint32_t ended)
{
	return (made & TAG_THREAD_MAX) | (uint64_t)(ended & TAG_THREAD_MAX) << 22 |
	       (uint64_t)(made >> 22 & 127) << 44 | (uint64_t)(ended >> 22 & 127) << 51 |
	       (uint64_t)(made >> 29) << 58 | (uint64_t)(ended >> 29) << 61;
}

static inline uint32_t tags_thread(uint64_t tags)
{
	return (uint32_t)tags & TAG_THREAD_MAX;
}

static inline uint32_t tags_free_thread(uint64_t tags)
{
	return (uint32_t)(tags >> 22) & TAG_THREAD_MAX;
}

static inline unsigned tags_call(uint64_t tags)
{
	return (unsigned)(tags >> 44) & 127;
}

static inline unsigned tags_free_call(uint64_t tags)
{
	return (unsigned)(tags >> 51) & 127;
}

static inline unsigned tags_flags(uint64_t tags)
{
	return (unsigned)(tags >> 58);
}

/* Makes room for one row more. */
void columns_grow(struct columns *c);
void columns_release(struct columns *c);
/* Bytes of one row. */
size_t columns_row_size(void);

/* Moves what is in anonymous memory into an empty file, COLUMNS_ALIGN bytes behind its start: 0 or
 * -errno, then everything is as it was and the descriptor is still the caller's. */
int columns_to_file(struct columns *c, int fd);
/* Takes `size` more bytes at the end of the columns' file: 0 or -errno. */
int columns_reserve(struct columns *c, uint64_t size);
/* The same, and maps them: their offset and address, or NULL. */
void *columns_section(struct columns *c, uint64_t size, uint64_t *ret_offset);
/* Maps `count` rows of a complete file (the groups are checked against its size): 0 or -errno, then
 * the descriptor is still the caller's. */
int columns_map(struct columns *c, int fd, uint64_t file_size, const struct columns_group *groups,
		uint32_t group_count, uint32_t count);
/* The same of packed rows.  Every group is checked. */
int columns_map_packed(struct columns *c, int fd, uint64_t file_size,
		       const struct columns_place *place, uint32_t count);
/* Writes packed rows into a file that is empty so far, and keeps them there: 0 or -errno. */
int columns_write_packed(struct columns *c, int fd);
/* While rows are added: where they are more than fit into memory, sends those that were added some
 * time ago to the disk, so that the kernel need not wait for it when it needs their pages. */
void columns_write_behind(struct columns *c);
/* While rows are added, now and then: pre-faults the pages of the next rows. */
void columns_write_ahead(struct columns *c);
/* Packed rows are in this file, which ends there. */
void columns_keep_file(struct columns *c, int fd, uint64_t end);
/* No more will be added: gives back the room that the last group has beyond `count`. */
void columns_trim(struct columns *c);
