/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The map.  See map.h. */
#include "base/map.h"

#include <string.h>

#include "base/xalloc.h"

static size_t slot_of(const struct map *m, uint64_t key)
{
	uint64_t h = (key ^ key >> 32) * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(h >> 20) & (m->room - 1);

	while (m->entries[i].value && m->entries[i].key != key)
		i = (i + 1) & (m->room - 1);
	return i;
}

static void release_entries(struct map *m)
{
	if (m->spill)
		scratch_release(&m->memory);
	else
		free(m->entries);
}

void map_release(struct map *m)
{
	release_entries(m);
	memset(m, 0, sizeof(*m));
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	size_t i;

	if (!m->count)
		return false;
	i = slot_of(m, key);
	if (!m->entries[i].value)
		return false;
	*ret_value = m->entries[i].value - 1;
	return true;
}

static void map_grow(struct map *m)
{
	struct map larger = { .room = m->room ? m->room * 2 : 64,
			      .count = m->count,
			      .spill = m->spill };

	if (m->spill)
		larger.entries =
			scratch_resize(&larger.memory, larger.room * sizeof(*larger.entries));
	else
		larger.entries = xcalloc(larger.room, sizeof(*larger.entries));
	for (size_t i = 0; i < m->room; i++)
		if (m->entries[i].value)
			larger.entries[slot_of(&larger, m->entries[i].key)] = m->entries[i];
	scratch_seal(&larger.memory);
	release_entries(m);
	*m = larger;
}

void map_set(struct map *m, uint64_t key, uint64_t value)
{
	size_t i;

	if (m->count * 2 >= m->room)
		map_grow(m);
	i = slot_of(m, key);
	m->count += !m->entries[i].value;
	m->entries[i] = (struct map_entry){ .key = key, .value = value + 1 };
}

bool map_number(struct map *m, uint64_t key, uint64_t *ret_number)
{
	if (map_get(m, key, ret_number))
		return false;
	*ret_number = m->count;
	map_set(m, key, *ret_number);
	return true;
}
