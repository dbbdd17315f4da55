/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A loop on all cores.
 *
 * A pool of threads is made at the first call and kept; the calling thread works too, so nothing
 * waits for a thread that could not be started.  Several threads may call at once: each call is a
 * job of its own, and the pool helps the oldest one first, but quiet ones only while there is no
 * other.  A call from inside a job runs in its caller alone. */
#include <stdatomic.h>
#include <stdint.h>

/* worker is 0 … parallel_workers()-1, so that each can have accumulators of its own. */
typedef void (*parallel_work)(void *context, unsigned worker, uint64_t first, uint64_t count);

/* As many as there are cores to run on; MEMOIR_THREADS overrides it. */
unsigned parallel_workers(void);
/* From now on the calling thread's jobs are quiet: what they are for can wait. */
void parallel_quietly(void);
/* How far the loops of a thread are, for others to read at any time: each is a pass. */
struct parallel_progress {
	_Atomic uint64_t done, total; /* of the present pass */
	_Atomic unsigned passes;
};
/* From now on the calling thread's loops are counted here, NULL: nowhere. */
void parallel_report(struct parallel_progress *p);
/* Runs work(context, worker, first, count) over [0, total) in blocks of `block`; returns when all
 * are done.  Blocks are begun in order. */
void parallel_for(uint64_t total, uint64_t block, parallel_work work, void *context);
