/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers to numbers: open addressing, grows by doubling, nothing is ever removed.
 *
 * A zeroed one is empty. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	uint64_t value; /* plus one; 0 = free */
};

struct map {
	struct map_entry *entries;
	size_t count, room;
};

void map_release(struct map *m);
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
/* Adds or replaces; value < UINT64_MAX. */
void map_set(struct map *m, uint64_t key, uint64_t value);
