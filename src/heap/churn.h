/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What logs of single blocks add up to: which stacks allocate and free the most, how long their
 * blocks live, which threads free what others allocated.
 *
 * Add logs, then churn_finish() once.  Blocks are samples: `objects` are those that were seen, the
 * estimates say what there really was.  Stacks that look the same are one.  One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/dump.h"
#include "heap/log.h"
#include "heap/profile.h"

struct buf;

#define CHURN_LIVES 12 /* decades of ns, from below 1 us to what is beyond 10,000 s */

struct churn_stack {
	size_t stack;  /* of the profile */
	size_t sample; /* of the profile: the first that has its frames */
	uint64_t objects, freed, bytes;
	uint64_t elsewhere;	       /* freed by another thread */
	double all_objects, all_bytes; /* estimates */
	/* Of those that were freed. */
	double mean_ns;
	uint64_t least_ns, half_ns, most_ns; /* half_ns: half of them lived no longer */
	uint64_t p90_ns, p99_ns;
};

struct churn_life {
	uint64_t from_ns, to_ns; /* to_ns of the last: UINT64_MAX */
	uint64_t objects, bytes;
};

struct churn_thread {
	size_t log; /* of which log it is */
	uint64_t uid;
	const char *name;	      /* "": none */
	uint64_t objects, bytes;      /* allocated */
	uint64_t freed, freed_others; /* freed, whoever allocated it; by another */
};

/* What a log said about itself. */
struct churn_log {
	const char *path;
	bool recent, named; /* the last blocks; its addresses have maps */
	uint64_t rate, recent_max, pid, duration_ns;
	size_t threads, traces, objects;
	const char *version, *resolution; /* "": it does not say */
};

struct churn_block {
	size_t sample; /* of the profile */
	uint64_t rate, bytes, life_ns;
	bool freed, elsewhere;
};

struct churn {
	struct profile profile;
	struct strings texts;
	struct churn_block *blocks;
	size_t block_count, block_room;
	struct churn_thread *threads;
	size_t thread_count, thread_room;
	struct churn_log *logs;
	size_t log_count, log_room, trace_count;
	/* Once finished. */
	struct churn_stack *stacks; /* the most bytes first */
	size_t stack_count;
	struct churn_life lives[CHURN_LIVES];
	struct churn_stack total; /* of the stacks */
};

void churn_init(struct churn *c, const struct profile_options *options,
		const struct heap_locations_options *where);
void churn_release(struct churn *c);
/* `maps` has the maps of the log's process, or is NULL: then its addresses have no names.  Nothing
 * of the log or of the maps is kept; the path is. */
void churn_add(struct churn *c, const char *path, const struct log *l, const struct dump *maps);
/* 0, or -ETIMEDOUT with err for a pattern that takes too long. */
int churn_finish(struct churn *c, struct err *err);
/* The frames of a stack with a text between them, so many at most; into `out`, which is cleared. */
void churn_put_stack(struct buf *out, const struct churn *c, const struct churn_stack *s,
		     size_t most, const char *between);
/* `top` stacks at most: churn_write.c. */
void churn_write_json(struct json *j, const struct churn *c, uint64_t top);
void churn_write_csv(struct buf *out, const struct churn *c, uint64_t top);
