/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Products of two 64-bit numbers, whole: the compiler's own where it has numbers of 128 bits, else
 * in two words. */
#include <stdint.h>

struct wide {
	uint64_t high, low;
};

static inline struct wide wide_product(uint64_t a, uint64_t b)
{
	uint64_t low = (uint64_t)(uint32_t)a * (uint32_t)b;
	uint64_t one = (a >> 32) * (uint32_t)b + (low >> 32);
	uint64_t two = (uint32_t)a * (b >> 32) + (uint32_t)one;

	return (struct wide){ (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32),
			      two << 32 | (uint32_t)low };
}

/* a * b / c; what does not fit is cut off. */
static inline uint64_t wide_scale_in_halves(uint64_t a, uint64_t b, uint64_t c)
{
	struct wide p = wide_product(a, b);
	uint64_t rest = p.high % c, result = 0;

	for (unsigned i = 64; i-- > 0;) {
		uint64_t over = rest >> 63;

		rest = rest << 1 | (p.low >> i & 1);
		result <<= 1;
		if (over || rest >= c) {
			rest -= c;
			result |= 1;
		}
	}
	return result;
}

/* -1, 0 or 1, as a * b is less than c * d, equal, or more. */
static inline int wide_compare_in_halves(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct wide left = wide_product(a, b), right = wide_product(c, d);

	if (left.high != right.high)
		return left.high < right.high ? -1 : 1;
	return left.low < right.low ? -1 : left.low > right.low;
}

#ifdef __SIZEOF_INT128__

static inline uint64_t wide_scale(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)((unsigned __int128)a * b / c);
}

static inline int wide_compare(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	unsigned __int128 left = (unsigned __int128)a * b, right = (unsigned __int128)c * d;

	return left < right ? -1 : left > right;
}

#else

static inline uint64_t wide_scale(uint64_t a, uint64_t b, uint64_t c)
{
	return wide_scale_in_halves(a, b, c);
}

static inline int wide_compare(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return wide_compare_in_halves(a, b, c, d);
}

#endif
