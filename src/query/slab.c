/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slabs of jemalloc.  See slab.h. */
#include "query/slab.h"

#include "base/order.h"

#define PAGE (1u << SLAB_PAGE_SHIFT)
#define QUANTUM 16u
#define STEPS_SHIFT 2 /* four steps to a doubling */

static bool is_class(uint64_t usable)
{
	unsigned log;

	if (usable <= 4 * QUANTUM)
		return usable && (usable == QUANTUM / 2 || usable % QUANTUM == 0);
	log = 63 - (unsigned)__builtin_clzll(usable - 1); /* 2^log < usable <= 2^(log+1) */
	return usable % (1ull << (log - STEPS_SHIFT)) == 0;
}

/* What turns an odd number into 1, for numbers of up to 16 bits: each step doubles the bits that
 * are right, and of an odd number three are to begin with. */
static uint32_t inverse(uint32_t odd)
{
	uint32_t x = odd;

	for (unsigned bits = 3; bits < 16; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

bool slab_find(uint64_t address, uint64_t usable, struct slab *ret_slab)
{
	uint32_t size = (uint32_t)usable, common, offset = (uint32_t)(address % PAGE), before;

	if (usable > SLAB_SMALL_MAX || !is_class(usable))
		return false;
	common = MIN(size & -size, PAGE); /* of the size and of a page, the greatest divisor */
	if (offset % common)
		return false;
	/* How many blocks are in front of it: before * size = offset, modulo a page. */
	before = offset / common * inverse(size / common) % (PAGE / common);
	*ret_slab = (struct slab){ address - (uint64_t)before * size, size / common };
	return address >= (uint64_t)before * size;
}
