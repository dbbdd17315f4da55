/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Texts and their numbers.  See strings.h. */
#include "base/strings.h"

#include <string.h>

#include "base/xalloc.h"

#define CHUNK_SIZE (64u << 10)
#define BLOCK_MASK ((1u << STRINGS_BLOCK_BITS) - 1)
#define COUNT_MAX (STRINGS_BLOCKS << STRINGS_BLOCK_BITS)

static uint32_t hash_of(const char *text, size_t size)
{
	uint64_t h = size * 0x9e3779b97f4a7c15ull, word;

	for (; size >= 8; size -= 8, text += 8) {
		memcpy(&word, text, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, text, size);
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	return (uint32_t)(h >> 32);
}

static const char *strings_copy(struct strings *s, const char *text, size_t size)
{
	char *at;

	if (size >= CHUNK_SIZE / 4 || size >= s->chunk_left) {
		size_t room = size >= CHUNK_SIZE / 4 ? size + 1 : CHUNK_SIZE;

		s->chunks = xgrow(s->chunks, s->chunk_count, &s->chunk_room, sizeof(*s->chunks));
		at = s->chunks[s->chunk_count++] = xmalloc(room);
		if (room != CHUNK_SIZE) {
			memcpy(at, text, size + 1);
			return at;
		}
		s->chunk = at;
		s->chunk_left = CHUNK_SIZE;
	}
	at = s->chunk;
	memcpy(at, text, size + 1);
	s->chunk += size + 1;
	s->chunk_left -= size + 1;
	return at;
}

static void strings_grow(struct strings *s)
{
	uint32_t count = s->slot_count ? s->slot_count * 2 : 1024;
	uint32_t *slots = xcalloc(count, sizeof(*slots)), *hashes = xcalloc(count, sizeof(*hashes));

	for (uint32_t i = 0; i < s->slot_count; i++) {
		uint32_t at = s->hashes[i] & (count - 1);

		if (!s->slots[i])
			continue;
		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = s->slots[i];
		hashes[at] = s->hashes[i];
	}
	free(s->slots);
	free(s->hashes);
	s->slots = slots;
	s->hashes = hashes;
	s->slot_count = count;
}

void strings_init(struct strings *s)
{
	memset(s, 0, sizeof(*s));
	s->blocks = xcalloc(STRINGS_BLOCKS, sizeof(*s->blocks));
	strings_add(s, "");
}

void strings_release(struct strings *s)
{
	for (unsigned i = 0; s->blocks && i < STRINGS_BLOCKS && s->blocks[i]; i++)
		free(s->blocks[i]);
	for (size_t i = 0; i < s->chunk_count; i++)
		free(s->chunks[i]);
	free(s->chunks);
	free(s->blocks);
	free(s->slots);
	free(s->hashes);
	memset(s, 0, sizeof(*s));
}

uint32_t strings_add(struct strings *s, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	uint32_t hash, at, id = s->count;
	const char ***block;

	if (!text)
		return 0;
	if (s->count >= s->slot_count / 2)
		strings_grow(s);
	hash = hash_of(text, size);
	for (at = hash & (s->slot_count - 1); s->slots[at]; at = (at + 1) & (s->slot_count - 1))
		if (s->hashes[at] == hash && !strcmp(strings_at(s, s->slots[at] - 1), text))
			return s->slots[at] - 1;
	if (id >= COUNT_MAX)
		return 0;
	block = &s->blocks[id >> STRINGS_BLOCK_BITS];
	if (!*block)
		*block = xcalloc(BLOCK_MASK + 1, sizeof(**block));
	(*block)[id & BLOCK_MASK] = strings_copy(s, text, size);
	s->slots[at] = id + 1;
	s->hashes[at] = hash;
	__atomic_store_n(&s->count, id + 1, __ATOMIC_RELEASE);
	return id;
}

uint32_t strings_count(const struct strings *s)
{
	return __atomic_load_n(&s->count, __ATOMIC_ACQUIRE);
}
