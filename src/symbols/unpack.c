/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Decompression with bounds.  See unpack.h. */
#include "symbols/unpack.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#define PIECE (1u << 30)      /* zlib counts in unsigned int */
#define XZ_MEMORY (96u << 20) /* as much as `xz -9` needs */
#define XZ_STEP (256u << 10)

bool unpack_zlib(const void *in, size_t in_size, void *out, size_t out_size)
{
	z_stream z = { .next_in = (void *)in, .next_out = out };
	size_t in_left = in_size, out_left = out_size;
	int status = Z_OK;

	if (inflateInit(&z) != Z_OK)
		return false;
	while (status == Z_OK) {
		size_t in_piece = in_left < PIECE ? in_left : PIECE;
		size_t out_piece = out_left < PIECE ? out_left : PIECE;

		z.avail_in = (unsigned)in_piece;
		z.avail_out = (unsigned)out_piece;
		status = inflate(&z, Z_NO_FLUSH);
		in_left -= in_piece - z.avail_in;
		out_left -= out_piece - z.avail_out;
		if (z.avail_in == in_piece && z.avail_out == out_piece)
			break;
	}
	inflateEnd(&z);
	return status == Z_STREAM_END && !out_left;
}

bool unpack_zstd(const void *in, size_t in_size, void *out, size_t out_size)
{
	return ZSTD_decompress(out, out_size, in, in_size) == out_size;
}

bool unpack_xz(const void *in, size_t in_size, struct buf *out, size_t limit)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&z, XZ_MEMORY, 0);
	size_t before = out->size;

	z.next_in = in;
	z.avail_in = in_size;
	while (status == LZMA_OK && out->size - before <= limit) {
		buf_reserve(out, XZ_STEP);
		z.next_out = (uint8_t *)out->data + out->size;
		z.avail_out = XZ_STEP;
		status = lzma_code(&z, LZMA_FINISH);
		out->size += XZ_STEP - z.avail_out;
	}
	lzma_end(&z);
	return status == LZMA_STREAM_END && out->size - before <= limit;
}
