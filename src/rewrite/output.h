/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording that is made of another one.
 *
 * The chunks are written by recording/writer.c, the one writer there is.  The file has a
 * temporary name beside its own until output_finish(), so that nobody ever sees half of it, and
 * whatever stood under its name before stays until then.  A failed write is kept: callers may go
 * on and look at the end. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"
#include "recording/reader.h"
#include "recording/writer.h"
#include "wire/codec.h"

struct buf;

/* NULL where one is asked for: as the collector does it. */
struct output_codec {
	enum format_codec codec;
	int level; /* zstd's */
};

struct output {
	struct recording file;
	char *path;	 /* where it is to be */
	char *temporary; /* where it is; NULL when there is none */
	struct codec_encoder encoder;
	void *scratch;
	uint8_t *payload;
	uint64_t horizon; /* of the events that wait in the encoder */
};

/* Makes the file; 0 or -errno.  Refuses to take the place of `input`, or of anything that is no
 * file. */
int output_open(struct output **ret_output, const char *path, const struct reader *input,
		const struct output_codec *codec, struct err *err);
void output_chunk(struct output *o, enum format_chunk_type type, const void *payload, size_t size);
/* Runs of events are collected until a chunk is full or output_flush().  Between two calls of
 * output_horizon() at most CODEC_CHUNK_EVENTS are added; what is before the horizon is complete
 * with what was added so far. */
void output_room(struct output *o, uint32_t events);
void output_run(struct output *o, uint32_t ring, const struct event *events, uint32_t n);
void output_horizon(struct output *o, uint64_t horizon);
void output_flush(struct output *o);

/* One key and its value. */
void output_info(struct output *o, const char *key, const void *value, size_t size);
void output_info_number(struct output *o, const char *key, uint64_t value);
/* What was lost of the recording that this one is made of: see model_loss(). */
void output_loss(struct output *o, const struct loss *loss);

/* True once a write failed: there is no point in going on. */
bool output_failed(const struct output *o);
/* Ends the file and gives it its name; 0 or -errno.  *ret_size (may be NULL) is its size. */
int output_finish(struct output *o, uint64_t *ret_size, struct err *err);
/* Frees, and takes away what was not finished. */
struct output *output_free(struct output *o);

/* Parts of a payload. */
void put_number(struct buf *b, uint64_t v);
void put_counted(struct buf *b, const void *bytes, size_t size);
