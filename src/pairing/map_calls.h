/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The calls that mapped and unmapped memory, as a recording's events have them.
 *
 * Filled by pair.c as events come.  Unlike allocations they are ordered by their stamps alone
 * (recorder/maps.c says why): map_calls_sort() once all are there. */
#include <stddef.h>
#include <stdint.h>

struct map_call {
	uint64_t at; /* stamp */
	uint64_t address, length;
	uint32_t stack, thread; /* thread: row */
	uint32_t given;		/* flags that mmap or mremap was told */
	uint8_t call;		/* enum event_call */
	uint8_t flags;		/* enum map_flags; 0 for mremap, which leaves them as they were */
	uint16_t unmaps;	/* 1: OP_UNMAP */
};

struct map_calls {
	struct map_call *rows;
	size_t count, room;
};

void map_calls_add(struct map_calls *c, const struct map_call *call);
/* By stamp; those with one stamp stay in their order. */
void map_calls_sort(struct map_calls *c);
void map_calls_release(struct map_calls *c);
