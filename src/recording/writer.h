/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The file being written: see wire/format.h.
 *
 * Every chunk is compressed, checksummed and appended with one writev.  After a write that failed
 * the file is cut back to its last whole chunk and nothing more is written; `error` stays. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/format.h"

#define RECORDING_PATH_SIZE 4200

/* How hard to compress; what was measured is in writer.c. */
enum recording_effort {
	EFFORT_HASTE,  /* columns of events that come fast: LZ4 */
	EFFORT_EVENTS, /* columns of events */
	EFFORT_REST,   /* anything else */
	EFFORT_COUNT
};

/* What compresses payloads for one thread at a time. */
struct recording_packer {
	struct ZSTD_CCtx_s *compressors[EFFORT_COUNT]; /* made when first needed */
	void *lz4;
	uint8_t *stored; /* a compressed payload */
	size_t stored_room;
};

/* A payload as it will be stored: its own bytes, or what a packer has made of them. */
struct recording_packed {
	const void *stored;
	size_t stored_size, raw_size;
	uint8_t codec;
};

struct recording_entry {
	uint64_t offset;
	uint32_t events;
	uint8_t type;
};

struct recording {
	int fd;
	int error;     /* errno of the write that failed, or 0 */
	uint64_t size; /* bytes of whole chunks in the file */
	uint64_t sequence;
	struct recording_packer packer;
	struct recording_entry *index;
	size_t index_count, index_room;
	uint64_t raw_bytes, event_count;
	uint64_t blocked_ns; /* that writing took beyond the processor's time */
	uint8_t id[16];
	/* When the first of the recordings began that this one belongs to: a file that was written
	 * since then is not overwritten.  0: it is alone. */
	uint64_t family_ns;
	char path[RECORDING_PATH_SIZE]; /* absolute */
	bool nameless;			/* there is no file for anybody to find */
	bool one_codec;			/* whatever the effort: the next two */
	uint8_t codec;
	int level;
};

/* Names the file from a pattern (see file_name.h), creates it and writes its header.  Zeroed
 * before, but for family_ns.  0 or -errno; path is set either way.  `payload_room` is the largest
 * payload that will be written. */
int recording_open(struct recording *r, const char *pattern, pid_t pid, const char *program,
		   size_t payload_room);
/* The same for a file without a name, which is gone when it is closed; path leads to it as long as
 * this process has it open. */
int recording_open_nameless(struct recording *r, size_t payload_room);
/* The same for a name as it is, of a file that must not be there yet. */
int recording_create(struct recording *r, const char *path, size_t payload_room);
/* Stores every payload with this codec, whatever its effort; `level` is zstd's. */
void recording_use_codec(struct recording *r, enum format_codec codec, int level);
/* Appends a chunk; `events` of them are in it, for the index.  False once anything failed. */
bool recording_write(struct recording *r, enum format_chunk_type type, enum recording_effort effort,
		     const void *payload, size_t size, uint32_t events);
/* The two halves of that: the first may run on any thread that has a packer of its own, the second
 * one on one thread at a time.  `payload` has to stay until then. */
struct recording_packed recording_pack(const struct recording *r, struct recording_packer *p,
				       enum recording_effort effort, const void *payload,
				       size_t size);
bool recording_write_stored(struct recording *r, enum format_chunk_type type,
			    const struct recording_packed *packed, uint32_t events);
/* 0 or -ENOMEM; to be released in either case.  A zeroed one may be released, too. */
int recording_packer_init(struct recording_packer *p, size_t payload_room);
void recording_packer_release(struct recording_packer *p);
/* The same for a payload whose rest is compressed already: `frame` is a zstd frame that holds
 * raw_size bytes. */
bool recording_write_packed(struct recording *r, enum format_chunk_type type, const void *head,
			    size_t head_size, const void *frame, size_t frame_size,
			    size_t raw_size);
/* END, INDEX and trailer, then closes. */
bool recording_finish(struct recording *r);
/* Closes, with or without an end.  Accepts one that was never opened; path and sizes stay. */
void recording_release(struct recording *r);
/* Takes the file away, if it is one: not a pipe or a device. */
void recording_remove(const struct recording *r);
