/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers of variable length: seven bits a byte, least significant first, the top bit set on all
 * but the last byte.  For everything in a recording that is not an event column (see codec.h). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10

static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Reads one number and advances *p; false at a truncated or overlong one, *p unchanged then. */
static inline bool varint_get(const uint8_t **p, const uint8_t *end, uint64_t *ret_value)
{
	const uint8_t *q = *p;
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && q < end; shift += 7, q++) {
		if (shift == 63 && *q > 1)
			return false;
		v |= (uint64_t)(*q & 0x7f) << shift;
		if (!(*q & 0x80)) {
			*p = q + 1;
			*ret_value = v;
			return true;
		}
	}
	return false;
}

static inline uint64_t zigzag(uint64_t difference)
{
	return (difference << 1) ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return (v >> 1) ^ (0 - (v & 1));
}
