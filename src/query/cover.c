/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages and the blocks in them.  See cover.h. */
#include "query/cover.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

#define CHUNK_SIZE (1ull << COVER_CHUNK_SHIFT)

enum covering { COVER_REQUESTED, COVER_USED };

static struct cover_chunk *chunk_at(struct cover *c, uint64_t key)
{
	uint64_t place;

	if (c->last_key == key + 1)
		return &c->chunks[c->last];
	if (!map_get(&c->positions, key, &place)) {
		place = c->count;
		*xpush(c->chunks, c->count, c->room) = (struct cover_chunk){ 0 };
		map_set(&c->positions, key, place);
	}
	c->last_key = key + 1;
	c->last = place;
	return &c->chunks[place];
}

static const struct cover_chunk *chunk_known(const struct cover *c, uint64_t key)
{
	uint64_t place;

	return map_get(&c->positions, key, &place) ? &c->chunks[place] : NULL;
}

static struct cover_detail *detail_of(struct cover_chunk *chunk)
{
	if (!chunk->detail)
		chunk->detail = xcalloc(1, sizeof(*chunk->detail));
	return chunk->detail;
}

/* A range inside one chunk, but not all of it. */
static void cover_pages(struct cover_detail *d, uint64_t start, uint64_t end, enum covering what,
			bool is_end)
{
	uint16_t *bytes = what == COVER_USED ? d->used : d->requested;

	for (uint64_t from = start, to; from < end; from = to) {
		unsigned page = (from >> COVER_PAGE_SHIFT) % COVER_PAGES;
		uint16_t part;

		to = MIN(end, (from | (COVER_PAGE - 1)) + 1);
		part = (uint16_t)(to - from);
		bytes[page] = (uint16_t)(is_end ? bytes[page] - part : bytes[page] + part);
		if (what == COVER_USED)
			d->ever[page] = 1;
	}
}

static void cover_range(struct cover *c, uint64_t start, uint64_t end, enum covering what,
			bool is_end)
{
	for (uint64_t from = start, to; from < end; from = to) {
		struct cover_chunk *chunk = chunk_at(c, from >> COVER_CHUNK_SHIFT);
		uint32_t *whole = what == COVER_USED ? &chunk->whole_used : &chunk->whole_requested;

		to = MIN(end, (from | (CHUNK_SIZE - 1)) + 1);
		if (to - from < CHUNK_SIZE) {
			cover_pages(detail_of(chunk), from, to, what, is_end);
			continue;
		}
		*whole += is_end ? -1u : 1;
		chunk->ever |= what == COVER_USED;
	}
}

void cover_block(struct cover *c, uint64_t address, uint64_t size, uint64_t slack, unsigned head,
		 bool is_end)
{
	cover_range(c, address, address + size, COVER_REQUESTED, is_end);
	cover_range(c, address, address + size + slack, COVER_USED, is_end);
	if (head && address >= head) {
		struct cover_detail *d =
			detail_of(chunk_at(c, (address - head) >> COVER_CHUNK_SHIFT));
		unsigned page = ((address - head) >> COVER_PAGE_SHIFT) % COVER_PAGES;

		d->heads[page] = (uint16_t)(is_end ? d->heads[page] - head : d->heads[page] + head);
	}
}

void cover_forget(struct cover *c, uint64_t start, uint64_t end)
{
	for (uint64_t from = start, to; from < end; from = to) {
		uint64_t place, first = (from >> COVER_PAGE_SHIFT) % COVER_PAGES;
		struct cover_chunk *chunk;

		to = MIN(end, (from | (CHUNK_SIZE - 1)) + 1);
		if (!map_get(&c->positions, from >> COVER_CHUNK_SHIFT, &place))
			continue;
		chunk = &c->chunks[place];
		chunk->ever &= to - from < CHUNK_SIZE;
		if (chunk->detail)
			memset(chunk->detail->ever + first, 0,
			       (to - from + COVER_PAGE - 1) >> COVER_PAGE_SHIFT);
	}
}

struct cover_page cover_at(const struct cover *c, uint64_t address)
{
	const struct cover_chunk *chunk = chunk_known(c, address >> COVER_CHUNK_SHIFT);
	unsigned page = (address >> COVER_PAGE_SHIFT) % COVER_PAGES;
	struct cover_page found = { 0 };

	if (!chunk)
		return found;
	found.ever = chunk->ever;
	if (chunk->detail) {
		found.requested = chunk->detail->requested[page];
		found.used = chunk->detail->used[page];
		found.heads = chunk->detail->heads[page];
		found.ever |= chunk->detail->ever[page];
	}
	if (chunk->whole_used)
		found.used = COVER_PAGE;
	if (chunk->whole_requested)
		found.requested = COVER_PAGE;
	/* Blocks that overlap are a recording's fault (a free that was lost). */
	found.used = MIN(found.used, COVER_PAGE);
	found.requested = MIN(found.requested, found.used);
	found.heads = MIN(found.heads, COVER_PAGE - found.used);
	return found;
}

bool cover_ever(const struct cover *c, uint64_t start, uint64_t end)
{
	for (uint64_t from = start, to; from < end; from = to) {
		const struct cover_chunk *chunk = chunk_known(c, from >> COVER_CHUNK_SHIFT);
		unsigned page = (from >> COVER_PAGE_SHIFT) % COVER_PAGES, pages;

		to = MIN(end, (from | (CHUNK_SIZE - 1)) + 1);
		pages = (unsigned)((to - from + COVER_PAGE - 1) >> COVER_PAGE_SHIFT);
		if (chunk && (chunk->ever || chunk->whole_used))
			return true;
		if (chunk && chunk->detail && memchr(chunk->detail->ever + page, 1, pages))
			return true;
	}
	return false;
}

void cover_release(struct cover *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->chunks[i].detail);
	free(c->chunks);
	map_release(&c->positions);
	*c = (struct cover){ 0 };
}
