/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The receiving end of a stream, as a parser: bytes go in as they come, the recording's come out.
 * It knows no socket and no file; stream/gather.c has those. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "base/err.h"
#include "stream/protocol.h"
#include "wire/format.h"

enum receiver_state {
	RECEIVER_HEAD, /* of the hello */
	RECEIVER_HELLO,
	RECEIVER_FRAME, /* a frame's head */
	RECEIVER_DATA,
	RECEIVER_END,
	RECEIVER_SKIP,
	RECEIVER_DONE, /* everything is there; what else comes is ignored */
	RECEIVER_FAILED
};

struct receiver {
	enum receiver_state state;
	struct buf part;	   /* a head, until it is complete; the hello, for ever */
	uint8_t head[STREAM_HEAD]; /* heads behind the hello */
	size_t have;		   /* bytes of the head that are there */
	uint64_t left;		   /* bytes until the state's end */
	uint64_t offset;	   /* in the stream */
	uint64_t received;	   /* bytes of the recording */
	struct stream_hello hello; /* once `greeted`; its texts are in `part` */
	uint8_t header[sizeof(struct format_header)];
	bool greeted;
	bool known; /* the recording's own header was compared with the hello */
	bool whole; /* once DONE: the collector ended the recording in order */
};

/* Gets bytes of the recording; 0, or -errno with err filled, which ends it. */
typedef int (*receiver_take)(void *context, const void *bytes, size_t size, struct err *err);

void receiver_init(struct receiver *r);
void receiver_release(struct receiver *r);
/* Takes all of the bytes: 0 or -errno, then the stream is not to be read on. */
int receiver_feed(struct receiver *r, const void *bytes, size_t size, receiver_take take,
		  void *context, struct err *err);
