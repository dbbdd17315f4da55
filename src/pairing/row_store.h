/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Bytes that are only ever added to: in memory, or in a file that is mapped once all are there.
 *
 * Room in a file is taken before it is written to (scratch.h); where the disk has none left, what
 * is there goes back to memory.  Who adds holds a lock of his own. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct row_store {
	int fd;		/* -1: in memory */
	uint8_t *bytes; /* in memory: of `room` bytes.  In a file: NULL before row_store_map() */
	uint64_t start; /* where the first byte is in the file */
	uint64_t size, room;
};

void row_store_init(struct row_store *s);
/* From now on in an empty file, from `start` on; the descriptor is the store's. */
void row_store_into(struct row_store *s, int fd, uint64_t start);
/* Returns where they are. */
uint64_t row_store_add(struct row_store *s, const void *bytes, size_t size);
/* All of it, to be read; nothing is added any more.  `ret_size`: of the mapping. */
const uint8_t *row_store_map(struct row_store *s, size_t *ret_size);
/* Out of its file, for who cannot map that: the bytes. */
const uint8_t *row_store_back(struct row_store *s);
void row_store_release(struct row_store *s);
