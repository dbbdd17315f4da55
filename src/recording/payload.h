/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A chunk's payload while it is read: numbers, and texts behind their lengths.  Each function is
 * false where the bytes end before. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/varint.h"

struct payload_reader {
	const uint8_t *p, *end;
};

static inline bool payload_get(struct payload_reader *r, uint64_t *ret_value)
{
	return varint_get(&r->p, r->end, ret_value);
}

/* A length and that many bytes. */
static inline bool payload_get_counted(struct payload_reader *r, const void **ret_bytes,
				       size_t *ret_size)
{
	uint64_t n;

	if (!payload_get(r, &n) || n > (uint64_t)(r->end - r->p))
		return false;
	*ret_bytes = r->p;
	*ret_size = (size_t)n;
	r->p += n;
	return true;
}
