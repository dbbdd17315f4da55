/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What `memoir replay` and its helper memoir-replay agree on: the calls to be made, laid out in a
 * shared file, and what comes back.
 *
 * Flat arrays of operations, one a thread, each in the order in which that thread made its calls.
 * A block is known by its slot.  Where the call before it on the same slot is another thread's, an
 * operation waits for that one (PLAN_WAIT), which said so when it was done (PLAN_PUBLISH): a slot
 * counts what was published of it, and an operation knows how often that is before it.
 *
 * Threads are kept together besides, or one would run through its whole life before another has
 * begun, and more would be alive than ever was: all calls in order of time are cut into stretches,
 * and nobody starts one before everybody is through with the last but one (PLAN_GATE).  Whatever
 * is waited for is earlier in the order of the recording, so there is always one that can go on. */
#include <stdint.h>

#define PLAN_MAGIC 0x31796c70656d656dull
#define PLAN_NONE UINT32_MAX

enum plan_kind {
	PLAN_MALLOC,
	PLAN_CALLOC,
	PLAN_ALIGNED,	  /* posix_memalign */
	PLAN_REALLOC_NEW, /* realloc(NULL, size) */
	PLAN_REALLOC,
	PLAN_FREE,
	PLAN_GATE, /* slot: the stretch that is over, turn: the next one; PLAN_NONE: none */
	PLAN_KINDS,
};
#define PLAN_KIND_MASK 0x3fu
#define PLAN_WAIT 0x40u
#define PLAN_PUBLISH 0x80u

struct plan_op {
	uint64_t size : 48;
	uint64_t kind : 8;  /* enum plan_kind, PLAN_WAIT, PLAN_PUBLISH */
	uint64_t align : 8; /* PLAN_ALIGNED: its logarithm */
	uint32_t slot;
	uint32_t turn; /* how often the slot was published before */
};

struct plan_thread {
	uint64_t first, count; /* operations */
};

struct plan {
	uint64_t magic, size; /* of the whole file */
	uint32_t thread_count, slot_count, stretch_count, pad;
	uint64_t op_count;
	uint64_t threads_at, stretches_at, ops_at; /* offsets */
	/* What is to come of it. */
	uint64_t allocations, reallocations, frees;
};
/* At threads_at: struct plan_thread[thread_count]; the first one is the main thread.
 * At stretches_at: uint32_t[stretch_count], the threads that have a part in each.
 * At ops_at: struct plan_op[op_count]. */

enum plan_touch { TOUCH_NONE, TOUCH_PAGES, TOUCH_ALL, TOUCHES };

/* Has the allocator give back what it can, now and then? */
enum plan_trim { TRIM_NEVER, TRIM_OFTEN };

enum plan_failure {
	PLAN_DONE,
	PLAN_NO_MAPPING, /* no memory for the helper's own tables */
	PLAN_NO_THREADS,
	PLAN_MALFORMED,
	PLAN_NO_TRIM, /* nobody knows how to ask this allocator for it */
};

/* Counts are of calls that were made and gave what they should; a realloc is an allocation too. */
struct plan_result {
	uint64_t magic;
	uint32_t failure; /* enum plan_failure */
	int32_t error;	  /* errno */
	uint64_t time_ns, cpu_ns;
	uint64_t peak_rss, end_rss;	/* bytes, without the helper's own tables */
	uint64_t peak_bytes, end_bytes; /* alive, as requested */
	uint64_t allocations, reallocations, frees;
	uint64_t failed; /* allocations */
	uint64_t faults;
	char library[256]; /* that malloc is in */
};
