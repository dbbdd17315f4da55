/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gzip with stored blocks.  See gzip.h.  Only the agent's thread is here. */
#include "agent/gzip.h"

#include <stdint.h>

#define BLOCK_MAX 65535u

static uint32_t crc32_of(const uint8_t *p, size_t size)
{
	static uint32_t table[256];
	uint32_t crc = 0xffffffff;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
			table[i] = c;
		}
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ p[i]) & 255] ^ crc >> 8;
	return ~crc;
}

static void little(struct text *out, uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		text_char(out, (char)(v >> 8 * i));
}

void gzip_store(struct text *out, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	size_t at = 0;

	text_add(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	do {
		size_t n = size - at < BLOCK_MAX ? size - at : BLOCK_MAX;

		little(out, at + n == size, 1);
		little(out, (uint32_t)n, 2);
		little(out, (uint32_t)~n & 0xffff, 2);
		text_add(out, p + at, n);
		at += n;
	} while (at < size);
	little(out, crc32_of(p, size), 4);
	little(out, (uint32_t)size, 4);
}
