/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Receiving streams into files: from addresses that are named, or from senders that announce
 * themselves.
 *
 * One thread, one loop.  Nothing is printed here: what became of each stream is told to
 * finished(). */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "stream/protocol.h"
#include "stream/target.h"

enum gather_outcome {
	GATHER_WHOLE,	   /* byte for byte the recording, and that is whole */
	GATHER_UNFINISHED, /* byte for byte, but the collector could not end it in order */
	GATHER_STOPPED,	   /* the user ended it here */
	GATHER_BROKEN,	   /* the stream ended before the recording did, or made no sense */
};

struct gather_result {
	enum gather_outcome outcome;
	const char *where;		  /* HOST:PORT */
	const struct stream_hello *hello; /* NULL: nobody said anything */
	const char *path;		  /* NULL: there was nothing to keep */
	uint64_t size;
	struct err err; /* of UNFINISHED and BROKEN; its offset is one in the stream */
};

struct gather_progress {
	unsigned streams;		  /* that are being received */
	uint64_t size;			  /* of all of them so far */
	const struct stream_hello *hello; /* of one, or NULL */
};

struct gather_options {
	const char *output; /* see keep.h */
	const char *token;  /* for senders of other users; NULL: none */
	uint64_t max_size;  /* bytes that all files together may have; 0: what keep.h leaves free */
	uint64_t wait_s;    /* how long somebody may take to listen */
	bool announced;	    /* hear announcements, beside what is named */
	uint64_t announce_port;
	uint64_t count; /* with `announced`: leave after so many streams; 0: never */
	const volatile sig_atomic_t *stop; /* set by a signal handler: end here */
	const sigset_t *waiting;	   /* the signal mask while waiting */
	void (*finished)(void *context, const struct gather_result *result);
	void (*progress)(void *context, const struct gather_progress *progress);
	void *context;
};

/* Takes over the targets.  Returns when all of them have ended, or `count` of the announced ones,
 * or `stop` is set; 0 or -errno where it could not begin. */
int gather_run(const struct gather_options *options, struct stream_target *targets, size_t count,
	       struct err *err);
