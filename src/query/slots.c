/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots.  See slots.h. */
#include "query/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "pairing/columns.h"

#define ROOM_FIRST 1024u

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
	scratch_release(&s->entries_memory);
	scratch_release(&s->next_memory);
	free(s->heads);
	memset(s, 0, sizeof(*s));
}

static uint32_t home(const struct slots *s, uint32_t row)
{
	return (uint32_t)(row * 0x9e3779b97f4a7c15ull >> 32) & (s->room - 1);
}

/* Where a row is, or the free place where it would be. */
static uint32_t find(const struct slots *s, uint32_t row)
{
	uint32_t i = home(s, row);

	while (s->entries[i].row != NO_ALLOCATION && s->entries[i].row != row)
		i = (i + 1) & (s->room - 1);
	return i;
}

static void grow(struct slots *s)
{
	struct slots_entry *old = s->entries;
	struct scratch old_memory = s->entries_memory;
	uint32_t old_room = s->room;

	s->room = old_room ? old_room * 2 : ROOM_FIRST;
	s->entries_memory = (struct scratch){ 0 };
	s->entries = scratch_resize(&s->entries_memory, s->room * sizeof(*s->entries));
	scratch_seal(&s->entries_memory);
	memset(s->entries, 0xff, s->room * sizeof(*s->entries));
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i].row != NO_ALLOCATION)
			s->entries[find(s, old[i].row)] = old[i];
	scratch_release(&old_memory);
}

static void add(struct slots *s, uint32_t row, uint32_t slot)
{
	uint32_t i;

	if (s->live >= s->room / 2)
		grow(s);
	i = find(s, row);
	s->live += s->entries[i].row == NO_ALLOCATION;
	s->entries[i] = (struct slots_entry){ .row = row, .slot = slot };
}

/* Takes a row out; what came behind it because the place was taken moves up. */
static uint32_t take(struct slots *s, uint32_t row)
{
	uint32_t i, slot, mask = s->room - 1;

	if (!s->room)
		return SLOT_NONE;
	i = find(s, row);
	if (s->entries[i].row == NO_ALLOCATION)
		return SLOT_NONE;
	slot = s->entries[i].slot;
	for (uint32_t k = (i + 1) & mask; s->entries[k].row != NO_ALLOCATION; k = (k + 1) & mask)
		if (((k - home(s, s->entries[k].row)) & mask) >= ((k - i) & mask)) {
			s->entries[i] = s->entries[k];
			i = k;
		}
	s->entries[i].row = NO_ALLOCATION;
	s->live--;
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
	add(s, row, slot);
	return slot;
}

uint32_t slots_move(struct slots *s, uint32_t old, uint32_t row)
{
	uint32_t slot = take(s, old);

	if (slot != SLOT_NONE)
		add(s, row, slot);
	return slot;
}

uint32_t slots_end(struct slots *s, uint32_t row, uint32_t pool)
{
	uint32_t slot = take(s, row);

	if (slot != SLOT_NONE)
		give(s, slot, pool);
	return slot;
}
