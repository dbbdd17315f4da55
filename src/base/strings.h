/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Texts that are kept once each and named by small numbers.
 *
 * Number 0 is the empty text.  Nothing is ever moved or removed: one thread at a time adds, while
 * others read what they were given the number of. */
#include <stddef.h>
#include <stdint.h>

#define STRINGS_BLOCK_BITS 12
#define STRINGS_BLOCKS (1u << 16) /* so 2^28 texts */

struct strings {
	const char ***blocks; /* of 2^STRINGS_BLOCK_BITS pointers each */
	uint32_t count;
	uint32_t *slots; /* number plus one, by hash; 0 = free */
	uint32_t *hashes;
	uint32_t slot_count;
	char *chunk; /* where texts are put */
	size_t chunk_left;
	char **chunks;
	size_t chunk_count, chunk_room;
};

void strings_init(struct strings *s);
void strings_release(struct strings *s);
/* The number of a text, which is copied if it is new; NULL is the empty one. */
uint32_t strings_add(struct strings *s, const char *text);
/* How many there are; all numbers are below. */
uint32_t strings_count(const struct strings *s);

static inline const char *strings_at(const struct strings *s, uint32_t id)
{
	return s->blocks[id >> STRINGS_BLOCK_BITS][id & ((1u << STRINGS_BLOCK_BITS) - 1)];
}
