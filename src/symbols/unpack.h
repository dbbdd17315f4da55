/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Compressed pieces of ELF files.  What comes out is as large as was said, or nothing does. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Fill exactly `out_size` bytes. */
bool unpack_zlib(const void *in, size_t in_size, void *out, size_t out_size);
bool unpack_zstd(const void *in, size_t in_size, void *out, size_t out_size);
/* Adds at most `limit` bytes to `out`; false if there would be more, or it is not xz. */
bool unpack_xz(const void *in, size_t in_size, struct buf *out, size_t limit);
