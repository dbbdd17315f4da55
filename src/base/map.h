/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers to numbers: open addressing, grows by doubling, nothing is ever removed.
 *
 * A zeroed one is empty.  One that may grow with a recording is set to spill, and then is in a file
 * when it is large (scratch.h). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scratch.h"

struct map_entry {
	uint64_t key;
	uint64_t value; /* plus one; 0 = free */
};

struct map {
	struct map_entry *entries;
	size_t count, room;
	bool spill;	       /* to be set while it is empty */
	struct scratch memory; /* that the entries are in then */
};

void map_release(struct map *m);
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
/* Adds or replaces; value < UINT64_MAX. */
void map_set(struct map *m, uint64_t key, uint64_t value);
/* The number of a key, for maps in which keys are numbered from 0 on as they come.  True: it is
 * new, and so is the row of that number. */
bool map_number(struct map *m, uint64_t key, uint64_t *ret_number);
