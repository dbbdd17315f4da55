/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recording on disk.  docs/format.md is the specification in words.
 *
 * A file header, then chunks.  Each chunk carries its own length and checksum, so a file that was
 * cut anywhere is good up to its last whole chunk.  Everything is little-endian. */
#include <stdint.h>

#define FORMAT_MAGIC "MEMOIR\x1a\n"
#define FORMAT_VERSION 3u /* 2: memory maps; 3: what changes them (OP_CHANGE) */

struct format_header {
	char magic[8];
	uint32_t version; /* readers refuse a greater one */
	uint32_t size;	  /* of this header; chunks start there */
	uint8_t id[16];	  /* random; the recording's name in caches and URLs */
};

#define FORMAT_CHUNK_MAGIC 0x6b68434du /* "MChk" */
/* A chunk holds at most this much before compression: a reader may refuse more unread. */
#define FORMAT_CHUNK_RAW_MAX (16u << 20)

enum format_chunk_type {
	CHUNK_INFO = 1, /* pairs: varint length, key, varint length, value; later ones win */
	CHUNK_CLOCK,	/* u64 stamp, u64 CLOCK_MONOTONIC ns, u64 CLOCK_REALTIME ns */
	CHUNK_MODULES,
	CHUNK_NODES,
	CHUNK_EVENTS,	  /* see codec.h */
	CHUNK_THREADS,	  /* repeated: varint tid, varint length, name; later ones win */
	CHUNK_FILE,	  /* a piece of an embedded file */
	CHUNK_COUNTERS,	  /* repeated: varint length, name, varint value; later ones win */
	CHUNK_END,	  /* the collector finished in order; empty */
	CHUNK_INDEX,	  /* where each chunk starts; then struct format_trailer ends the file */
	CHUNK_STATISTICS, /* what was taken out and still counts: see statistics.h */
	CHUNK_SYMBOLS,	  /* names that were looked up already: see symbols.h */
	CHUNK_REGIONS, /* what one sample of the program's memory maps has found: see regions.h */
	CHUNK_SHARED_FILE, /* an embedded file that is beside the recording, for several of them */
	CHUNK_PAGES,	   /* which pages of maps are resident: see pages.h */
};
/* A reader skips a chunk whose type it does not know. */

/* Where a SHARED_FILE is, from the recording's folder: FOLDER/KEY.SUFFIX, see base/pieces.h. */
#define FORMAT_SHARED_FOLDER "memoir-binaries"
#define FORMAT_SHARED_SUFFIX ".elf.zst"
#define FORMAT_SHARED_KEY_MAX 96 /* of [0-9a-z-] */

enum format_codec { CODEC_RAW = 0, CODEC_ZSTD = 1, CODEC_LZ4 = 2 };

struct format_chunk {
	uint32_t magic;
	uint8_t type;
	uint8_t codec;
	uint16_t reserved;
	uint32_t stored_size; /* bytes that follow this header */
	uint32_t raw_size;    /* after decompression */
	uint64_t sequence;    /* counts chunks from 0 */
	uint64_t checksum; /* XXH3 of the 24 bytes above, then as the seed of XXH3 of the payload */
};

struct format_trailer {
	uint64_t index_offset; /* of the CHUNK_INDEX header */
	char magic[8];	       /* FORMAT_TRAILER_MAGIC */
};
#define FORMAT_TRAILER_MAGIC "MEMOIRix"

/* CHUNK_MODULES, repeated: varint index, bias, start, end, stamp; varint length, build id;
 * varint length, path.  Index 0 is never used: it means "in no module".
 *
 * CHUNK_NODES: varint first id, varint count; then `count` times: varint (id - parent), zigzag
 * varint (address - the previous node's address), varint module, varint flags.  Ids may come again
 * or late; the last one wins.  parent < id always.
 *
 * CHUNK_FILE: varint file number, varint total size, varint offset of this piece, varint length,
 * build id, varint length, path, then the bytes up to the end of the chunk.
 *
 * CHUNK_SHARED_FILE: varint file number, varint total size, varint length, build id, varint length,
 * path, varint length, key.
 *
 * CHUNK_INDEX: repeated: varint type, varint offset of the chunk minus that of the one before,
 * varint events in it. */

_Static_assert(sizeof(struct format_header) == 32, "on disk");
_Static_assert(sizeof(struct format_chunk) == 32, "on disk");
_Static_assert(sizeof(struct format_trailer) == 16, "on disk");
