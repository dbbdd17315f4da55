/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Decompression with bounds.  See unpack.h. */
#include "symbols/unpack.h"

#include <libdeflate.h>
#include <lzma.h>
#include <zstd.h>

#include "base/buf.h"

#define XZ_MEMORY (96u << 20) /* as much as `xz -9` needs */
#define XZ_STEP (256u << 10)

bool unpack_zlib(const void *in, size_t in_size, void *out, size_t out_size)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool done;

	if (!d)
		return false;
	done = libdeflate_zlib_decompress(d, in, in_size, out, out_size, NULL) ==
	       LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(d);
	return done;
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
