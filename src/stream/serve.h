/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Sending a recording while it is written, to any number of clients: processes of the same user
 * (peer/peer.h), and those that say the token.
 *
 * Used by the collector, which only says how far the file is good (serve_grow) and when it ended
 * (serve_end): neither waits.  A thread does everything else.  Each client has a place in the file
 * and nothing more, so one that is slow takes no memory and holds up nobody. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "stream/protocol.h"

struct serve;

struct serve_options {
	const char *address; /* a number: 127.0.0.1, ::1, 0.0.0.0 */
	uint64_t port;	     /* the first to try; 0: whichever is free */
	bool announce;
	uint64_t announce_port;
	const char *token;   /* those who have it may have the recording; NULL: only this user's
				processes */
	bool open_to_all;    /* everybody may */
	uint64_t patience_s; /* with a client that takes nothing, once the recording has ended */
};

/* Listens, and starts the thread.  The file is opened again: `fd` stays the caller's.  The port in
 * `hello` is filled in.  0 or -errno; err may say what else could not be done, and is empty else.
 */
int serve_start(struct serve **ret_serve, int fd, const struct stream_hello *hello,
		const struct serve_options *options, struct err *err);
/* Where it listens, as a client would write it: "127.0.0.1:8100". */
const char *serve_where(const struct serve *s);
/* So many bytes of the file are there to stay. */
void serve_grow(struct serve *s, uint64_t size);
/* There will be no more.  `whole`: it was ended in order. */
void serve_end(struct serve *s, uint64_t size, bool whole);
/* How many clients have not got everything yet.  0 is for ever once it was said after serve_end().
 */
unsigned serve_busy(struct serve *s);
/* How many got everything. */
unsigned serve_served(struct serve *s);
/* Waits until they have, or are given up, but not longer than this; true then. */
bool serve_wait(struct serve *s, uint64_t timeout_ns);
/* Gives up the receivers that are left.  Accepts NULL and returns it. */
struct serve *serve_free(struct serve *s);
