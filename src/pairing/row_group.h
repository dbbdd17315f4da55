/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A row group: some thousand allocations that follow each other, each column packed on its own.
 *
 * A column of a group is bits of one width: a value minus the smallest, without the low bits that
 * are zero in all of them.  So any row can be read by itself, without what stands before it.  What
 * is too large for that width, because only few are, stands beside it in a list.  Columns that
 * have few different values (`made` and `ended`) are places in a dictionary.
 *
 * Columns that are known when a group is full are its head; what ends a block may come much later,
 * so the rest is its tail, which can be packed again and be somewhere else.  Written by
 * row_builder.c, read by anybody, on any thread: nothing here is ever changed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PACKED_ROWS_MAX 4096u
#define PACKED_BITS_MAX 12u
#define PACKED_PADDING 8u /* bytes that can be read behind the last one */

/* X(id, type, member): how rows stand before they are packed.
 * lifetime: 0 is that of what was never freed.  previous: how many rows before; 0 is none.
 * made: thread : 22, call : 7, flags : 3; ended: the same of the end.  chain: plus one. */
#define PACKED_HEAD(X)                                                                             \
	X(ALLOCATED_AT, uint64_t, allocated_at)                                                    \
	X(ADDRESS, uint64_t, address)                                                              \
	X(SIZE, uint64_t, size)                                                                    \
	X(SLACK, uint32_t, slack)                                                                  \
	X(MADE, uint32_t, made)                                                                    \
	X(STACK, uint32_t, stack)                                                                  \
	X(PREVIOUS, uint32_t, previous)                                                            \
	X(POSITION, uint32_t, position)
#define PACKED_TAIL(X)                                                                             \
	X(LIFETIME, uint64_t, lifetime)                                                            \
	X(FREE_STACK, uint32_t, free_stack)                                                        \
	X(ENDED, uint32_t, ended)                                                                  \
	X(CHAIN, uint32_t, chain)

#define X(id, type, member) PACKED_##id,
enum packed_column { PACKED_HEAD(X) PACKED_TAIL(X) PACKED_COLUMNS };
#undef X
#define PACKED_TAIL_FIRST PACKED_LIFETIME

struct group_rows {
#define X(id, type, member) type member[PACKED_ROWS_MAX];
	PACKED_HEAD(X)
	PACKED_TAIL(X)
#undef X
};

struct packed_piece {
	uint64_t base;
	uint64_t low, high; /* the smallest and the largest value: a filter may skip the group */
	uint64_t offset;    /* of its bits */
	uint32_t beside;    /* behind them: what is in the list, or the dictionary */
	uint16_t count;	    /* how much of that there is */
	uint8_t bits, shift;
};

struct row_group {
	struct packed_piece pieces[PACKED_COLUMNS];
	uint64_t freed_low, freed_high; /* of those that were freed; low > high: none was */
	uint32_t alive;			/* at the end */
	uint32_t rows, tail_size;
};

/* All groups of a recording: what columns.h looks into. */
struct row_groups {
	const uint8_t *bytes; /* that offsets are into */
	const struct row_group *groups;
	uint32_t count;
	unsigned bits; /* a group has 1 << bits rows, the last one perhaps fewer */
};

/* Bytes that packing `rows` takes at most, padding included. */
size_t packed_bound(uint32_t rows);
/* Packs the head, or the tail, to `out`, whose first byte is at `offset`; returns how many bytes
 * that took. */
size_t packed_pack_head(struct row_group *g, const struct group_rows *rows, uint8_t *out,
			uint64_t offset);
size_t packed_pack_tail(struct row_group *g, const struct group_rows *rows, uint8_t *out,
			uint64_t offset);
/* What the tail is made of again, and what it depends on (allocated_at). */
void packed_unpack_tail(const struct row_group *g, const uint8_t *head, const uint8_t *tail,
			struct group_rows *ret_rows);
/* Does it stay within `size` bytes and mean something?  For what comes out of a file. */
bool packed_is_good(const struct row_group *g, uint64_t size, uint32_t rows_most);

static inline uint64_t packed_mask(unsigned bits)
{
	return ((1ull << (bits & 63)) - 1) | -(uint64_t)(bits >> 6);
}

static inline uint64_t packed_raw(const uint8_t *bits, const struct packed_piece *p, uint32_t i)
{
	uint32_t at = i * p->bits;
	uint64_t word;

	memcpy(&word, bits + at / 8, sizeof(word));
	return word >> (at % 8) & packed_mask(p->bits);
}

/* Of a row that is in the list. */
uint64_t packed_rare(const uint8_t *bits, const struct packed_piece *p, uint32_t i);

static inline uint64_t packed_number(const uint8_t *bytes, const struct packed_piece *p, uint32_t i)
{
	uint64_t raw = packed_raw(bytes + p->offset, p, i);

	if (__builtin_expect(p->count && raw == packed_mask(p->bits), 0))
		return packed_rare(bytes + p->offset, p, i);
	return p->base + (raw << p->shift);
}

static inline uint32_t packed_word(const uint8_t *bytes, const struct packed_piece *p, uint32_t i)
{
	uint64_t raw = packed_raw(bytes + p->offset, p, i);
	uint32_t word;

	if (!p->count)
		return (uint32_t)p->base;
	memcpy(&word, bytes + p->offset + p->beside + raw * sizeof(word), sizeof(word));
	return word;
}

/* Values of rows [from, from + count) of a column that is no dictionary, and of one that is. */
void packed_numbers(const uint8_t *bytes, const struct packed_piece *p, uint32_t from,
		    uint32_t count, uint64_t *out);
void packed_numbers32(const uint8_t *bytes, const struct packed_piece *p, uint32_t from,
		      uint32_t count, uint32_t *out);
void packed_words(const uint8_t *bytes, const struct packed_piece *p, uint32_t from, uint32_t count,
		  uint32_t *out);
