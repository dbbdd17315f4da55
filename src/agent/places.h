/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The addresses of a profile, each once, with names: what profiles for others and pictures are
 * written from.  Addresses are those of calls: a return address is behind its call, and may be
 * another function's. */
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
	unsigned id; /* for who writes it; 0 at first */
};

struct places {
	struct text mappings; /* struct mapping: those with code of files, in order */
	size_t mapping_count;
	struct text list; /* struct object_name, by address */
	size_t count;
	struct text names;
	struct objects objects;
	bool failed;
};

void places_init(struct places *p, const struct profile *profile);
void places_release(struct places *p);

static inline struct object_name *places_at(const struct places *p, size_t place)
{
	return (struct object_name *)p->list.data + place;
}

/* The place of an address of the profile's stacks. */
size_t places_find(const struct places *p, uint64_t pc);
/* The mapping that an address is in, or NULL. */
struct mapping *places_mapping(const struct places *p, uint64_t address);
/* The same number for all places of one function, another for each that has no name. */
uint32_t places_function(const struct places *p, size_t place);
/* "main", "[libx.so+0x12]", "0x12": in `small`, or in the names. */
const char *places_name(const struct places *p, size_t place, char *small, size_t room);
/* Is it a function that allocates for its caller? */
bool places_allocates(const struct places *p, size_t place);
