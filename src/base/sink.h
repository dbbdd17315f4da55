/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where a long output goes: a file, standard output, or a function; compressed or not.
 *
 * Writers fill `buf` and call sink_turn() now and then, so that memory stays flat however long the
 * output is.  The first error is kept, and everything after it is thrown away.
 *
 * A file has no name, or one beside its final one, until it is complete: what is found under the
 * final name is whole, or what was there before. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "base/err.h"

struct rope;

enum sink_codec { SINK_PLAIN, SINK_GZIP, SINK_ZSTD };

/* Takes all of it: 0 or -errno. */
typedef int (*sink_write)(void *context, const void *bytes, size_t size);

struct sink {
	struct buf buf;	  /* what is to be written next */
	int error;	  /* -errno of what went wrong first */
	uint64_t written; /* bytes, after compression */
	sink_write write;
	void *context;
	enum sink_codec codec;
	void *compressor;
	struct buf packed;
	int fd;
	char *path, *temporary; /* of a file that is to be renamed */
	bool unnamed;		/* it has no name before it is complete */
};

/* By the end of a name: .gz, .zst. */
enum sink_codec sink_codec_of(const char *path);

void sink_to_function(struct sink *s, sink_write write, void *context, enum sink_codec codec);
/* Behind what is in a buf, and into another sink. */
void sink_to_buf(struct sink *s, struct buf *out, enum sink_codec codec);
void sink_to_sink(struct sink *s, struct sink *out, enum sink_codec codec);
void sink_to_fd(struct sink *s, int fd, enum sink_codec codec);
/* 0, or -errno with err. */
int sink_to_file(struct sink *s, const char *path, enum sink_codec codec, struct err *err);

/* To a function: perhaps to somebody who takes long. */
static inline bool sink_is_handed_on(const struct sink *s)
{
	return s->fd < 0;
}

#define SINK_BLOCK 65536u
int sink_flush(struct sink *s);
/* Writes when enough has gathered; 0, or the error. */
static inline int sink_turn(struct sink *s)
{
	return s->buf.size < SINK_BLOCK ? s->error : sink_flush(s);
}

/* Writes the buffer and then a rope, which is empty afterwards; 0, or the error. */
int sink_rope(struct sink *s, struct rope *r);

/* Writes what is left and gives the file its name; 0, or -errno with err.  A failure, or a call of
 * sink_cancel(), leaves no trace of the output. */
int sink_finish(struct sink *s, struct err *err);
void sink_cancel(struct sink *s);
