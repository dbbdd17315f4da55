/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A loop on all cores.
 *
 * A pool of threads is made at the first call and kept; the calling thread works too, so nothing
 * waits for a thread that could not be started.  Several threads may call at once: each call is a
 * job of its own, and the pool helps the oldest one first, but quiet ones only while there is no
 * other.  A call from inside a job runs in its caller alone. */
#include <stdatomic.h>
#include <stdbool.h>
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

/* Nobody wants the result any more: from now on the calling thread's loops begin no block once
 * *given_up is set, and return when those that were begun are done.  NULL: all go to their end.
 * Nobody takes the flag back, and it stays where it is until another call of this.
 *
 * A block that is begun goes to its end with whatever it calls.  Since blocks are begun in order,
 * what is missing is a loop's last blocks, and all of every later loop.  Two things must hold:
 *
 * Code behind a loop stays within memory whichever blocks are missing.  It does where it takes them
 * for rows that a filter left out.  Where a loop fills what an earlier one has counted, or places
 * that somebody reads by index, what was not filled must be harmless (zeroed), or else both loops
 * are inside of parallel_whole().
 *
 * What others see too (in a model, in a snapshot, in a cache, in a file) is never made of half a
 * loop.  Either all of it is made inside of parallel_whole(), and of nothing that this thread's
 * loops made outside; or it is kept only where parallel_is_cut() is false after the last loop, and
 * who waited for it makes it anew. */
void parallel_stop_when(const atomic_bool *given_up);
/* Are the calling thread's loops cut short, so that their results are good for nothing? */
bool parallel_is_cut(void);

unsigned parallel_whole_begin(void);
void parallel_whole_end(const unsigned *before);
/* From here to the end of the block, however that is left, loops go to their end. */
#define parallel_whole()                                                                           \
	__attribute__((cleanup(parallel_whole_end), unused)) unsigned parallel_whole_before =      \
		parallel_whole_begin()
