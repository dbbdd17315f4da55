/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The addresses of a profile, each once, with names: what profiles are written from.  Addresses are
 * those of calls: a return address is behind its call, and may be another function's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/objects.h"
#include "agent/profile.h"
#include "agent/text.h"

struct mapping {
	uint64_t start, end, offset;
	const char *path; /* in the dump */
	size_t path_size;
	unsigned id; /* for the writer; 0 at first */
};

struct locations {
	struct text mappings; /* struct mapping: those with code of files, in order */
	size_t mapping_count;
	struct text list; /* struct object_name, by address */
	size_t count;
	struct text names;
	struct objects objects;
	bool failed;
};

void locations_init(struct locations *p, const struct profile *profile);
void locations_release(struct locations *p);

static inline struct object_name *locations_at(const struct locations *p, size_t location)
{
	return (struct object_name *)p->list.data + location;
}

/* The location of an address of the profile's stacks. */
size_t locations_find(const struct locations *p, uint64_t pc);
/* The mapping that an address is in, or NULL. */
struct mapping *locations_mapping(const struct locations *p, uint64_t address);
/* "main", "[libx.so+0x12]", "0x12": in `small`, or in the names. */
const char *locations_name(const struct locations *p, size_t location, char *small, size_t room);
/* Is it a function that allocates for its caller? */
bool locations_allocates(const struct locations *p, size_t location);
