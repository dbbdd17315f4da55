/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Allocations that begin and end, in order of time, become packed row groups.
 *
 * Called by pair.c, on the thread that loads.  The last groups are open: what ends a block of
 * theirs is put beside its beginning.  A group that is no longer among them is packed by a thread
 * of the builder's; what ends one of its blocks afterwards is kept in a list, and put in its place
 * when all is known.  So memory is bounded by the open groups, and that list is in a file where it
 * is long. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pairing/columns.h"

struct row_builder;

/* `group_bits`: 1 << group_bits rows in a group. */
struct row_builder *row_builder_new(unsigned group_bits);
struct row_builder *row_builder_free(struct row_builder *b);
/* Packed groups go to this empty file from now on, from `start` on; before the first row. */
void row_builder_into(struct row_builder *b, int fd, uint64_t start);

/* The next allocation: returns its row.  `tags` as in columns.h. */
uint32_t row_builder_begin(struct row_builder *b, uint64_t at, uint64_t address, uint64_t size,
			   uint32_t slack, uint64_t tags, uint32_t stack);
/* The row that began last was made from an earlier one by realloc, which is in `chain`, or
 * NO_CHAIN: then one begins.  Returns the chain. */
uint32_t row_builder_link(struct row_builder *b, uint32_t row, uint32_t from, uint32_t chain);
/* It ends, after so long; or does not after all: a lifetime of 0. */
void row_builder_end(struct row_builder *b, uint32_t row, uint64_t lifetime, uint64_t tags,
		     uint32_t stack);
/* It will end soon. */
void row_builder_prefetch(const struct row_builder *b, uint32_t row);
uint32_t row_builder_count(const struct row_builder *b);
/* No more will come: gives everything to the columns, which are empty, and the chains (pages, of
 * *ret_room) to the caller. */
void row_builder_finish(struct row_builder *b, struct columns *c, struct chain **ret_chains,
			uint32_t *ret_count, uint32_t *ret_room);
