/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording as a sequence of chunks: see wire/format.h and docs/format.md.
 *
 * Nothing in here believes the file: a length is compared with what is left before anything is
 * allocated or read.  The file is read, never mapped, since one that shrinks under a mapping kills
 * the reader.  One thread at a time; unpacking may happen on others. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/format.h"

struct reader {
	int fd;		       /* -1: from memory */
	const uint8_t *memory; /* borrowed */
	uint64_t size;	       /* of the file when it was last looked at */
	uint64_t offset;       /* of the next chunk */
	uint64_t sequence;     /* of the next chunk */
	uint64_t index_offset; /* of CHUNK_INDEX, 0 before it was met */
	struct format_header header;
	bool ended;   /* CHUNK_END was met: the collector finished in order */
	bool trailer; /* the file ends with a trailer: whatever is wrong with it, it was not cut */
};

enum reader_status {
	READER_CHUNK, /* here is one */
	READER_END,   /* that was all */
	READER_CUT,   /* the file stops in the middle, as when its writer was killed or writes on */
	READER_DAMAGED, /* what follows cannot be understood */
};

/* A chunk as it is stored, then unpacked.  Reused from one to the next; a zeroed one is empty. */
struct chunk {
	uint64_t offset;
	struct format_chunk head;
	uint8_t *stored, *raw;
	size_t stored_room, raw_room;
	struct ZSTD_DCtx_s *zstd;
	const uint8_t
		*payload; /* after chunk_unpack(): CODEC_PAD more bytes are readable behind it */
	size_t payload_size;
	uint64_t beyond; /* bytes of the payload that follow and were left out: see cache.h */
};

/* Opens and checks the header: 0 or -errno, with err filled. */
int reader_open(struct reader *r, const char *path, struct err *err);
int reader_open_memory(struct reader *r, const void *data, size_t size, struct err *err);
void reader_release(struct reader *r);
/* Looks at the file's size again. */
void reader_refresh(struct reader *r);
/* Does somebody hold the writer's lock? */
bool reader_is_being_written(const struct reader *r);

/* The next chunk, still packed.  err says what is wrong unless it is READER_CHUNK or READER_END;
 * the reader stays where it is then, and may be asked again when the file has grown. */
enum reader_status reader_next(struct reader *r, struct chunk *c, struct err *err);
/* The chunk at an offset that reader_next() gave before. */
bool reader_again(const struct reader *r, uint64_t offset, struct chunk *c, struct err *err);

/* How many events there are, as the index says before any is read; 0 where there is none. */
uint64_t reader_events(const struct reader *r);

/* Checks the sum and decompresses; any thread. */
bool chunk_unpack(struct chunk *c, struct err *err);
void chunk_release(struct chunk *c);
