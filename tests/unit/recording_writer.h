/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Recordings made by hand, for tests and for bench/gen_recording.c: header, chunks, sums, index.
 *
 * It has nothing in common with the collector's writer but wire/, so that each checks the other's
 * reading of docs/format.md.  Everything goes to `out`; with a descriptor it is flushed there now
 * and then. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "wire/codec.h"
#include "wire/format.h"

struct writer {
	struct buf out;
	int fd;		  /* -1: all stays in `out` */
	uint64_t written; /* bytes that are no longer in `out` */
	uint8_t codec;	  /* enum format_codec */
	uint64_t sequence;
	struct buf index;
	uint64_t last_offset; /* of the chunk before, for the index */
	struct codec_encoder encoder;
	void *scratch;
	uint8_t *payload;
};

void writer_init(struct writer *w, int fd);
void writer_release(struct writer *w);
void writer_header(struct writer *w, uint32_t version);
void writer_chunk(struct writer *w, enum format_chunk_type type, const void *payload, size_t size,
		  uint32_t events);
/* One key and value. */
void writer_info(struct writer *w, const char *key, const char *value, size_t size);
void writer_clock(struct writer *w, uint64_t stamp, uint64_t monotonic_ns, uint64_t realtime_ns);
void writer_module(struct writer *w, uint32_t index, uint64_t bias, uint64_t start, uint64_t end,
		   const void *build_id, size_t build_id_size, const char *path);
void writer_counter(struct writer *w, const char *name, uint64_t value);
void writer_thread(struct writer *w, uint64_t tid, const char *name);

struct writer_node {
	uint32_t parent;
	uint64_t address;
	uint32_t module, flags;
};
void writer_nodes(struct writer *w, uint32_t first, const struct writer_node *nodes,
		  uint32_t count);

/* Runs are added to the chunk that is being put together; a full one is written by itself. */
void writer_run(struct writer *w, uint32_t ring, const struct event *events, uint32_t count);
uint32_t writer_room(const struct writer *w);
void writer_events(struct writer *w, uint64_t horizon);
/* END, then (if wanted) INDEX and the trailer. */
void writer_end(struct writer *w, bool index);

/* One event. */
struct event make_event(enum event_op op, enum event_call call, uint64_t stamp, uint64_t address,
			uint64_t size, uint32_t stack);
struct event make_thread(uint64_t stamp, uint64_t tid, const char *name);
/* One piece of a marker; `name` is the whole name. */
struct event make_marker(uint64_t stamp, uint32_t value, const char *name, unsigned piece);
