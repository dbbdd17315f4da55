/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Slabs of jemalloc: where the one begins that a block is in.
 *
 * A size class has four steps to a doubling (8, 16, 32, 48, 64, 80 …); those up to 14 KiB are
 * small, and a slab of one is the fewest pages of 4 KiB that its blocks fill without a rest. Blocks
 * lie in it one behind the other from its first byte, which is a page's; so exactly one page in
 * front of a block can be it. */
#include <stdbool.h>
#include <stdint.h>

#define SLAB_PAGE_SHIFT 12
#define SLAB_SMALL_MAX (14u << 10)

struct slab {
	uint64_t start;
	uint32_t pages;
};

/* False: a block of this address and usable size is in none. */
bool slab_find(uint64_t address, uint64_t usable, struct slab *ret_slab);
