/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Answers in pieces, for what is too large to be cached: a thread writes as fast as the client
 * takes, and no more than a piece or two is in memory.
 *
 * Only so many write at a time; the others wait for their turn.  A client that takes nothing for a
 * while, or is gone, ends its own stream only. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "server/gate.h"
#include "server/request.h"
#include "server/waiter.h"

#define STREAMS_MAX 24
#define STREAM_PIECE (256u << 10) /* bytes that may wait for the client */
#define STREAM_PATIENCE_MS 60000  /* for a client that takes nothing */

struct streams;
struct streams *streams_new(struct gate *gate);
/* All are broken off, and their threads waited for. */
bool streams_stop(struct streams *s, const struct timespec *deadline);
struct streams *streams_free(struct streams *s);

struct stream;
/* Takes the request; `w` sleeps, and is woken when there is something to send.  Never NULL. */
struct stream *stream_new(struct streams *s, struct request *r, bool gzip, struct waiter *w);
void stream_drop(struct stream *s);

/* Has it anything to send yet, or failed before it had? */
bool stream_is_ready(struct stream *s);
/* What went wrong before anything was sent; status 0: nothing. */
const struct fault *stream_fault(struct stream *s);
/* What the answer says of itself. */
const struct request *stream_request(const struct stream *s);
bool stream_is_gzip(const struct stream *s);

#define STREAM_END (-1)
#define STREAM_BROKEN (-2)
/* The next bytes; 0: none yet, and the waiter sleeps. */
ssize_t stream_read(struct stream *s, char *to, size_t room, struct waiter *w);
