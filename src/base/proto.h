/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Protocol buffers, as far as writing them goes: fields into a buf. */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum proto_wire { PROTO_VARINT = 0, PROTO_BYTES = 2 };

static inline void proto_varint(struct buf *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		buf_char(out, (char)(value | 128));
	buf_char(out, (char)value);
}

/* A number; 0 is what a reader assumes, and is left out. */
static inline void proto_number(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	proto_varint(out, field << 3 | PROTO_VARINT);
	proto_varint(out, value);
}

static inline void proto_bytes(struct buf *out, unsigned field, const void *bytes, size_t size)
{
	proto_varint(out, field << 3 | PROTO_BYTES);
	proto_varint(out, size);
	buf_add(out, bytes, size);
}

/* A message that was put together elsewhere, which is cleared for the next. */
static inline void proto_message(struct buf *out, unsigned field, struct buf *message)
{
	proto_bytes(out, field, message->data ? message->data : "", message->size);
	buf_clear(message);
}
