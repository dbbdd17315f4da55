/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recording that another is made of, chunk by chunk.
 *
 * Every chunk is checked as the loader checks it, so what is handed on can be read again.  END and
 * INDEX are left out: the output gets its own. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"
#include "recording/reader.h"
#include "wire/event.h"

struct source_run {
	uint32_t ring, count;
};

/* The events of a chunk, run after run. */
struct source_events {
	struct event *events;
	uint32_t event_count;
	struct source_run *runs;
	uint32_t run_count;
	size_t run_room;
	uint64_t horizon;
};

struct source {
	struct reader reader;
	bool skip_events; /* do not even look at CHUNK_EVENTS */
	bool visit_ends;  /* END and INDEX too */
	bool embed; /* SHARED_FILE becomes FILE, where it is not gone: the output stands alone */
	uint64_t until; /* stop before the chunk at this offset; 0: at the end */
	model_progress progress;
	void *context;
	/* For CHUNK_EVENTS its events are decoded.  False: enough. */
	bool (*visit)(void *visitor, const struct chunk *c, struct source_events *events);
	void *visitor;
};

/* Opens the file: 0 or -errno.  One that is being written is refused: it would be another one at
 * the end of a command than it was at its beginning. */
int source_open(struct source *s, const char *path, struct err *err);
/* Calls visit() for every good chunk.  What stopped it is the answer. */
struct loss source_each(struct source *s);
void source_release(struct source *s);
