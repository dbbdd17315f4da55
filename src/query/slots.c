/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots.  See slots.h. */
#include "query/slots.h"

#include <string.h>

#include "base/xalloc.h"

#define ROOM_FIRST ((size_t)1024)

void slots_init(struct slots *s, uint32_t pools, uint32_t run)
{
	memset(s, 0, sizeof(*s));
	s->run = run;
	s->pools = pools;
	s->heads = xreallocarray(NULL, pools, sizeof(*s->heads));
	memset(s->heads, 0xff, pools * sizeof(*s->heads));
}

void slots_release(struct slots *s)
{
	scratch_release(&s->of_memory);
	scratch_release(&s->next_memory);
	free(s->heads);
	memset(s, 0, sizeof(*s));
}

static void slots_add(struct slots *s, uint32_t row, uint32_t slot)
{
	if (row >= s->room) {
		s->room = s->room ? s->room : ROOM_FIRST;
		while (row >= s->room)
			s->room *= 2;
		s->of = scratch_resize(&s->of_memory, s->room * sizeof(*s->of));
	}
	s->live++;
	s->of[row] = slot + 1;
}

static uint32_t slots_take(struct slots *s, uint32_t row)
{
	uint32_t slot;

	if (row >= s->room || !s->of[row])
		return SLOT_NONE;
	slot = s->of[row] - 1;
	s->live--;
	s->of[row] = 0;
	return slot;
}

static void give(struct slots *s, uint32_t slot, uint32_t pool)
{
	s->next[slot] = s->heads[pool];
	s->heads[pool] = slot;
}

static void more(struct slots *s, uint32_t pool)
{
	if (s->count + s->run > s->next_room) {
		s->next_room = s->next_room ? s->next_room * 2 : ROOM_FIRST;
		s->next = scratch_resize(&s->next_memory, s->next_room * sizeof(*s->next));
	}
	/* The lowest is to be used first. */
	for (uint32_t i = s->run; i-- > 0;)
		give(s, s->count + i, pool);
	s->count += s->run;
}

uint32_t slots_begin(struct slots *s, uint32_t row, uint32_t pool)
{
	uint32_t slot;

	if (s->heads[pool] == SLOT_NONE)
		more(s, pool);
	slot = s->heads[pool];
	s->heads[pool] = s->next[slot];
	slots_add(s, row, slot);
	return slot;
}

uint32_t slots_move(struct slots *s, uint32_t old, uint32_t row)
{
	uint32_t slot = slots_take(s, old);

	if (slot != SLOT_NONE)
		slots_add(s, row, slot);
	return slot;
}

uint32_t slots_end(struct slots *s, uint32_t row, uint32_t pool)
{
	uint32_t slot = slots_take(s, row);

	if (slot != SLOT_NONE)
		give(s, slot, pool);
	return slot;
}
