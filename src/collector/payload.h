/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A chunk's payload while it is put together.  The memory belongs to the collector and is used
 * again for every chunk; callers check payload_fits() before a record, so that a chunk always
 * ends between two records. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/varint.h"

struct payload {
	uint8_t *data;
	size_t used, room;
};

static inline bool payload_fits(const struct payload *p, size_t bytes)
{
	return p->room - p->used >= bytes;
}

static inline void payload_number(struct payload *p, uint64_t v)
{
	p->used = (size_t)(varint_put(p->data + p->used, v) - p->data);
}

static inline void payload_bytes(struct payload *p, const void *bytes, size_t n)
{
	memcpy(p->data + p->used, bytes, n);
	p->used += n;
}

static inline void payload_counted(struct payload *p, const void *bytes, size_t n)
{
	payload_number(p, n);
	payload_bytes(p, bytes, n);
}

static inline void payload_text(struct payload *p, const char *text)
{
	payload_counted(p, text, strlen(text));
}
