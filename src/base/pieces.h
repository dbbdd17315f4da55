/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A file compressed in pieces, each a zstd frame of its own, so that single ones can be taken over
 * as they are.  `zstd -d` makes the content of it.
 *
 * Behind the frames stands one that decompressors skip: the stored size of each piece (u32), then
 * struct pieces_end.  A file without it is not complete.  Used by the collector, which makes and
 * copies such files, and by the model, which reads them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define PIECE_SIZE (256u << 10) /* before compression; the last one may be smaller */
#define PIECES_MAGIC "MEMOIRpc"

struct pieces_end {
	uint64_t total; /* bytes before compression */
	uint32_t count;
	uint32_t piece_size;
	char magic[8];
};

/* A file that is read. */
struct pieces {
	int fd; /* borrowed */
	uint64_t total;
	uint32_t count;
	uint32_t *sizes;   /* stored */
	uint64_t *offsets; /* in the file */
};

/* False if it is not such a file, or not complete. */
bool pieces_open(struct pieces *p, int fd);
void pieces_release(struct pieces *p);
/* The raw size of a piece. */
size_t pieces_raw_size(const struct pieces *p, uint32_t piece);
/* One piece as it is stored, instead of what is in `out`. */
bool pieces_stored(const struct pieces *p, uint32_t piece, struct buf *out);
/* Everything, decompressed; false if it is damaged or larger than `limit`. */
bool pieces_unpack(const struct pieces *p, uint64_t limit, struct buf *out);

/* A file that is written.  Zeroed, but for fd; `error` is 0 or -errno and stays. */
struct pieces_writer {
	int fd;
	int error;
	uint64_t at, total;
	uint32_t *sizes;
	size_t count, room;
};

/* Appends a frame that holds `raw_size` bytes. */
void pieces_add(struct pieces_writer *w, const void *frame, size_t size, size_t raw_size);
/* The end; 0 or -errno.  The descriptor stays open. */
int pieces_finish(struct pieces_writer *w);
void pieces_writer_release(struct pieces_writer *w);
