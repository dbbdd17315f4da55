/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What blocks cover of each page, followed through time: requested bytes, usable bytes, heads.
 *
 * Kept by chunks of 2 MiB, since most of an address space has no blocks; a chunk that one block
 * covers whole costs a few bytes.  A page is 4 KiB, whatever the system's pages are.  One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define COVER_PAGE_SHIFT 12
#define COVER_PAGE (1u << COVER_PAGE_SHIFT)
#define COVER_CHUNK_SHIFT 21
#define COVER_PAGES (1u << (COVER_CHUNK_SHIFT - COVER_PAGE_SHIFT))

struct cover_detail {
	uint16_t requested[COVER_PAGES], used[COVER_PAGES], heads[COVER_PAGES];
	uint8_t ever[COVER_PAGES]; /* a block was there at some time */
};

struct cover_chunk {
	uint32_t whole_requested, whole_used; /* blocks that cover all of it */
	bool ever;			      /* one of those was there */
	struct cover_detail *detail;	      /* NULL: nothing of single pages */
};

struct cover {
	struct map positions; /* by address of the chunk */
	struct cover_chunk *chunks;
	size_t count, room;
	uint64_t last_key; /* of the chunk that was found last, plus one; 0: none */
	size_t last;
};

struct cover_page {
	uint32_t requested, used, heads; /* bytes, at most those of the page */
	bool ever;
};

/* A block begins, or goes: `head` bytes in front of it are the allocator's. */
void cover_block(struct cover *c, uint64_t address, uint64_t size, uint64_t slack, unsigned head,
		 bool is_end);
/* Nothing was ever in these pages: they are new. */
void cover_forget(struct cover *c, uint64_t start, uint64_t end);
struct cover_page cover_at(const struct cover *c, uint64_t address);
/* Is a block in this range, or was one? */
bool cover_ever(const struct cover *c, uint64_t start, uint64_t end);
void cover_release(struct cover *c);
