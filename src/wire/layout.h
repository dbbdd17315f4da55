/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the two sides of the shared memory must agree on, as one number, and how a library tells it.
 *
 * A libmemoir.so that was built with other structs would write where nobody looks, and both sides
 * would wait.  So SHM_MAGIC follows from the layout: each side compares it before anything else.
 * The library has it in an ELF note as well, which `memoir run` reads before it starts anything. */
#include <stddef.h>
#include <stdint.h>

#include "wire/shm.h"

enum {
	/* A row that came, went or moved; lines of options.def are the rows' numbers. */
	OPTIONS_SHAPE = (int)((0u
#define OPTION(field, type, env, flag, initial, help)                                              \
	+((unsigned)offsetof(struct options, field) * 31u + OPTION_##type) * (unsigned)__LINE__
#include "wire/options.def"
#undef OPTION
			       ) &
			      0x7fffffffu),
};

#define LAYOUT_PART(number, value) ((uint64_t)(value) * (2 * (number) + 1) * 0x9e3779b97f4a7c15ull)
#define SHM_LAYOUT                                                                                 \
	(LAYOUT_PART(1, OPTIONS_SHAPE) ^ LAYOUT_PART(2, sizeof(struct options)) ^                  \
	 LAYOUT_PART(3, sizeof(struct shm_control)) ^ LAYOUT_PART(4, sizeof(struct shm_family)) ^  \
	 LAYOUT_PART(5, sizeof(struct shm_plan)) ^ LAYOUT_PART(6, sizeof(struct shm_site)) ^       \
	 LAYOUT_PART(7, COUNTER_COUNT) ^ LAYOUT_PART(8, offsetof(struct shm_control, counters)) ^  \
	 LAYOUT_PART(9, offsetof(struct shm_control, allocator)) ^                                 \
	 LAYOUT_PART(10, offsetof(struct shm_control, options)) ^                                  \
	 LAYOUT_PART(11, offsetof(struct shm_control, family)) ^                                   \
	 LAYOUT_PART(12, offsetof(struct shm_control, plan)) ^                                     \
	 LAYOUT_PART(13, offsetof(struct shm_control, own)) ^                                      \
	 LAYOUT_PART(14, offsetof(struct shm_control, ring_offset)) ^                              \
	 LAYOUT_PART(15, offsetof(struct shm_family, session)) ^                                   \
	 LAYOUT_PART(16, SHM_NODES_PER_SEGMENT) ^ LAYOUT_PART(17, SHM_MODULES_PER_SEGMENT))
#define SHM_MAGIC (SHM_MAGIC_BASE + SHM_LAYOUT)

/* Whatever else moves: a side that is of another version says so here. */
_Static_assert(!offsetof(struct shm_control, magic) && offsetof(struct shm_control, state) == 8 &&
		       offsetof(struct shm_control, error) == 16,
	       "the first fields stay where they are");

#define LAYOUT_NOTE_NAME "Memoir"
#define LAYOUT_NOTE_TYPE 1

/* In the library: the head of an ELF note, its name, what it says. */
struct layout_note {
	uint32_t name_size, size, type;
	char name[8];
	struct layout_said {
		uint32_t magic[2]; /* the lower half, the upper */
		char version[24];
	} said;
};
