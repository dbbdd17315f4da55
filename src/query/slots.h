/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Small numbers for blocks while they live, used again afterwards.
 *
 * There are as many as blocks are alive at once, not as ever were.  A slot goes back to the pool
 * that is named when its block ends, and the next one that begins in that pool gets it: with a pool
 * for each thread, no thread is handed what another one may still be busy with.  New slots are
 * given to pools in runs, so that those of two pools do not lie side by side.
 *
 * What is found by row is an array: rows that are alive are mostly the latest ones, which a table
 * of those alone would spread over all of it.  It is in a file when it is large (scratch.h).  One
 * thread at a time. */
#include <stddef.h>
#include <stdint.h>

#include "base/scratch.h"

#define SLOT_NONE UINT32_MAX

struct slots {
	uint32_t run;	/* slots that a pool gets at a time; a power of two */
	uint32_t count; /* given out altogether; all slots are below */
	uint32_t *of;	/* by row: plus one; 0 = none */
	size_t room;	/* rows */
	uint32_t live;
	uint32_t *next; /* by slot: the one behind it in its pool */
	size_t next_room;
	uint32_t *heads; /* by pool */
	uint32_t pools;
	struct scratch of_memory, next_memory; /* that these are in */
};

void slots_init(struct slots *s, uint32_t pools, uint32_t run);
void slots_release(struct slots *s);
uint32_t slots_begin(struct slots *s, uint32_t row, uint32_t pool);
/* Gives `row` the slot of `old`, which is no longer alive; SLOT_NONE if it was not. */
uint32_t slots_move(struct slots *s, uint32_t old, uint32_t row);
/* The slot of a row, which is free from now on; SLOT_NONE if there is none. */
uint32_t slots_end(struct slots *s, uint32_t row, uint32_t pool);
