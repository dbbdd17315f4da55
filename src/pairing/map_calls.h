/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The calls that mapped and unmapped memory, and those that change what there is (brk, madvise,
 * mallopt, …), as a recording's events have them.
 *
 * Filled by pair.c as events come.  Unlike allocations they are ordered by their stamps alone
 * (recorder/maps.c says why): map_calls_sort() once all are there. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_STACK_GIVEN 0x20000u /* MAP_STACK: what libc maps stacks of threads with */

enum map_call_kind { MAP_CALL_MAPS, MAP_CALL_UNMAPS, MAP_CALL_CHANGES /* OP_CHANGE */ };

struct map_call {
	uint64_t at; /* stamp */
	uint64_t address, length;
	uint32_t stack, thread; /* thread: row */
	uint32_t given;		/* flags that mmap or mremap was told; an event's slack */
	uint8_t call;		/* enum event_call */
	uint8_t flags;		/* enum map_flags; 0 for mremap, which leaves them as they were.  Of
				 * brk: enum change_flags */
	uint16_t kind;		/* enum map_call_kind */
};

struct map_calls {
	struct map_call *rows;
	size_t count, room;
};

static inline bool map_call_maps(const struct map_call *c)
{
	return c->kind == MAP_CALL_MAPS;
}

/* Does it give pages back in the range that it names, and is the range there, or free? */
bool map_call_gives_back(const struct map_call *c);

void map_calls_add(struct map_calls *c, const struct map_call *call);
/* By stamp; those with one stamp stay in their order. */
void map_calls_sort(struct map_calls *c);
void map_calls_release(struct map_calls *c);
