/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One event as it stands in a ring: four words.
 *
 * Written by the recorder, read by the collector's drain, and what the recording's decoder hands
 * back to the loader.  An event on a block is stamped inside the block's lifetime: an allocation
 * after the real call returned, a deallocation before the real call is made, and it is published
 * before that call too.  So no address can be seen in use again by an event that was published
 * earlier than the deallocation that freed it. */
#include <stdbool.h>
#include <stdint.h>

struct event {
	uint64_t stamp; /* ticks: see shm_control.clock */
	uint64_t word1; /* address : 56, op : 8 */
	uint64_t word2; /* size : 48, call : 8, flags : 8 */
	uint64_t word3; /* stack : 32, slack : 32 */
};

enum event_op {
	OP_ALLOC = 1,	  /* address, size, slack, flags, stack */
	OP_FREE,	  /* address, stack; size only from free_sized and its like */
	OP_REALLOC_FROM,  /* the block at address is given to realloc; ends with TO, FREED or FAILED
			   */
	OP_REALLOC_TO,	  /* the same thread's innermost open FROM became this block */
	OP_REALLOC_FREED, /* realloc(p, 0) freed it */
	OP_REALLOC_FAILED, /* the old block is still alive */
	/* From here on an event is about no block, and carried whole. */
	OP_THREAD, /* from here on the ring belongs to thread `address`; word2, word3: its name */
	OP_MARKER, /* address: value : 32, piece : 8; word2, word3: 16 bytes of its name */
	OP_MAP,	  /* memory was mapped: size is its length, flags is enum map_flags, slack what mmap
		   * or   mremap was told as flags */
	OP_UNMAP, /* munmap, or mremap for where it was before; stamped before the call */
	OP_CHANGE, /* a call that maps nothing, and changes what there is: see enum change_flags */
	OP_COUNT
};

/* Is it about no block, so that a block that its ring's next event frees is still temporary? */
static inline bool event_op_aside(enum event_op op)
{
	return op >= OP_MARKER;
}

/* Flags of OP_MAP. */
enum map_flags {
	MAP_CAN_READ = 1,
	MAP_CAN_WRITE = 2,
	MAP_CAN_EXECUTE = 4,
	MAP_IS_SHARED = 8,
	MAP_IS_ANONYMOUS = 16,
	MAP_BY_ALLOCATOR = 32, /* the caller is the allocator, where that is not libc's */
	MAP_IS_OWN = 64,       /* the recorder's own; not in events */
	MAP_BY_LIBC = 128,     /* the caller is libc or the loader, for itself */
};

/* Of OP_CHANGE, by its call:
 *
 * brk         address and size are what the heap has gained, or (CHANGE_SHRINKS) has lost
 * mprotect    address and size; flags are enum map_flags
 * madvise     address and size; slack is the advice
 * mallopt     address is the option, size its value, slack what mallopt returned; all have 32 bits
 * malloc_trim size is the padding, slack what malloc_trim returned
 *
 * Calls that failed are only there of the last two.  All but mprotect's have MAP_BY_ALLOCATOR and
 * MAP_BY_LIBC as flags. */
enum change_flags { CHANGE_SHRINKS = 1 };

/* A marker's name comes in pieces of 16 bytes, one event each, numbered from 0; NULs fill the last
 * one up.  They follow each other in the ring. */
#define MARKER_PIECE 16u
#define MARKER_NAME_MAX 255u

/* A key of INFO: EVENT_INSIDE is used.  Older recordings leave open which allocator a block is of.
 */
#define INFO_MARKS_INSIDE "marks_inside"

/* A key of INFO: are libc's own calls seen that map memory?  Else its value says why not; missing:
 * they were not asked for, or the file is older. */
#define INFO_LIBC_MAPS "libc_maps"
#define INFO_LIBC_MAPS_SEEN "seen"

enum event_flags {
	EVENT_MMAPPED = 1,	  /* glibc: the block is a mapping of its own */
	EVENT_NON_MAIN_ARENA = 2, /* glibc */
	/* Both: of an allocator inside one of the program's files, that is hooked where it is,
	 * beside libc's.  glibc never has both. */
	EVENT_INSIDE = EVENT_MMAPPED | EVENT_NON_MAIN_ARENA,
	EVENT_ZEROED = 4,    /* calloc and MALLOCX_ZERO */
	EVENT_INHERITED = 8, /* from before a fork: the parent allocated it */
};

enum event_call {
#define HOOK(name, class) CALL_##name,
#include "wire/hooks.def"
#undef HOOK
	CALL_COUNT
};

#define EVENT_ADDRESS_MASK 0x00ffffffffffffffull
#define EVENT_SIZE_MASK 0x0000ffffffffffffull
#define STACK_NONE 0u /* no stack was taken: the root of the trie */

static inline enum event_op event_op(const struct event *e)
{
	return (enum event_op)(e->word1 >> 56);
}

static inline uint64_t event_address(const struct event *e)
{
	return e->word1 & EVENT_ADDRESS_MASK;
}

static inline uint32_t event_marker(const struct event *e)
{
	return (uint32_t)e->word1;
}

static inline unsigned event_piece(const struct event *e)
{
	return (uint8_t)(e->word1 >> 32);
}

static inline uint64_t event_size(const struct event *e)
{
	return e->word2 & EVENT_SIZE_MASK;
}

static inline unsigned event_call(const struct event *e)
{
	return (uint8_t)(e->word2 >> 48);
}

static inline unsigned event_flags(const struct event *e)
{
	return (uint8_t)(e->word2 >> 56);
}

static inline uint32_t event_stack(const struct event *e)
{
	return (uint32_t)e->word3;
}

static inline uint32_t event_slack(const struct event *e)
{
	return (uint32_t)(e->word3 >> 32);
}
