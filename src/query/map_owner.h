/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which allocator made a map: told by the module that called mmap, and by whether one of the
 * recorder's hooks for allocations is further out on the stack.  Any thread. */
#include "model/model.h"
#include "pairing/map_calls.h"

struct map_owner {
	const struct model *model;
	const char *underneath; /* the allocator in use: "jemalloc", "glibc" */
	uint32_t our_module;
};

void map_owner_init(struct map_owner *o, const struct model *m);
/* "jemalloc", "tcmalloc", "mimalloc", "glibc", "allocator" if its name is not known; NULL: it is
 * no allocator's. */
const char *map_owner_of(const struct map_owner *o, const struct map_call *call);
