/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a collector and a receiver agree on.  docs/stream.md is the specification in words.
 *
 * A receiver says its token, if it has one.  Then the collector speaks: a hello, and frames.  The
 * bytes of all DATA frames behind one another are the recording's file.  An announcement is a hello
 * in one UDP datagram, without the command line.  Everything is little-endian. */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;

#define STREAM_MAGIC "MEMOIRst"
#define STREAM_ANNOUNCEMENT_MAGIC "MEMOIRan"
#define STREAM_TOKEN_MAGIC "MEMOIRtk"	/* what a receiver may say first: u32 size, the token */
#define STREAM_REFUSAL_MAGIC "MEMOIRno" /* instead of a hello, with the size 0 */
#define STREAM_VERSION 1u
#define STREAM_PORT 8100u	    /* where a collector listens, or on one of the next */
#define STREAM_PORTS 100u	    /* how many it tries */
#define STREAM_ANNOUNCE_PORT 43512u /* UDP */

#define STREAM_HEAD 16u /* of a hello: magic, u32 version, u32 size of what follows */
#define STREAM_HELLO_MAX (128u << 10)
#define STREAM_TOKEN_HEAD 12u /* magic, u32 size */
#define STREAM_TOKEN_MAX 512u
#define STREAM_TEXT_MAX (64u << 10) /* of one text in it */
#define STREAM_ANNOUNCEMENT_MAX 1400u

enum stream_frame_type {
	FRAME_DATA = 1, /* the next bytes of the recording */
	FRAME_END, /* u64 bytes of the recording, u32 1 if it is whole: the collector ended it */
};
/* A receiver skips a frame whose type it does not know. */

#define STREAM_FRAME 8u		    /* its head: u32 type, u32 size of what follows */
#define STREAM_FRAME_MAX (1u << 20) /* a receiver refuses more unread */
#define STREAM_END 12u

struct stream_text {
	const char *data; /* borrowed from what was read or is to be written */
	size_t size;
};

struct stream_hello {
	uint8_t id[16]; /* the recording's */
	uint32_t pid;
	uint32_t port;		       /* where the collector listens */
	struct stream_text name;       /* of the recording's file, without folders */
	struct stream_text executable; /* its path */
	struct stream_text host;
	struct stream_text arguments; /* the command line, a NUL behind each word */
};

static inline void stream_put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static inline uint32_t stream_get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void stream_put64(uint8_t *p, uint64_t v)
{
	stream_put32(p, (uint32_t)v);
	stream_put32(p + 4, (uint32_t)(v >> 32));
}

static inline uint64_t stream_get64(const uint8_t *p)
{
	return stream_get32(p) | (uint64_t)stream_get32(p + 4) << 32;
}

/* Adds what a receiver says first; an empty token says that it has none. */
void stream_put_token(struct buf *out, const char *token);
/* Adds what a receiver gets that may not have the recording. */
void stream_put_refusal(struct buf *out);
/* Adds a hello; texts that are too long are cut. */
void stream_put_hello(struct buf *out, const struct stream_hello *hello);
/* The same as an announcement. */
void stream_put_announcement(struct buf *out, const struct stream_hello *hello);
/* The first STREAM_HEAD bytes of a stream: how many follow.  0 or -errno. */
int stream_get_head(const uint8_t *bytes, size_t *ret_size, struct err *err);
/* What follows them.  The texts point into `bytes`. */
int stream_get_hello(const uint8_t *bytes, size_t size, struct stream_hello *ret_hello,
		     struct err *err);
/* A whole datagram. */
int stream_get_announcement(const uint8_t *bytes, size_t size, struct stream_hello *ret_hello,
			    struct err *err);
/* The last part of a path. */
struct stream_text stream_base_name(struct stream_text path);
