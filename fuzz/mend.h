/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Makes any bytes a recording whose sums are right, so that a fuzzer gets behind them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "wire/format.h"

/* Puts magic, sequence and sum right wherever a chunk would be looked for. */
static inline void mend_recording(uint8_t *data, size_t size)
{
	struct format_header h;
	struct format_chunk c;
	uint64_t sequence = 0;
	size_t at;

	if (size < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	memcpy(h.magic, FORMAT_MAGIC, sizeof(h.magic));
	h.version = FORMAT_VERSION;
	h.size = sizeof(h);
	memcpy(data, &h, sizeof(h));
	for (at = sizeof(h); size - at >= sizeof(c); at += sizeof(c) + c.stored_size) {
		memcpy(&c, data + at, sizeof(c));
		if (c.stored_size > size - at - sizeof(c))
			c.stored_size = (uint32_t)(size - at - sizeof(c));
		if (c.codec == CODEC_RAW)
			c.raw_size = c.stored_size;
		c.magic = FORMAT_CHUNK_MAGIC;
		c.sequence = sequence++;
		c.checksum = XXH3_64bits_withSeed(
			data + at + sizeof(c), c.stored_size,
			XXH3_64bits(&c, offsetof(struct format_chunk, checksum)));
		memcpy(data + at, &c, sizeof(c));
	}
}
