/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A loop on all cores whose results are taken in order: one core writes a block out while the
 * others make the next ones.
 *
 * A worker is handed its next block after its last one was taken, so it needs room for one. */
#include <stdbool.h>
#include <stdint.h>

#include "base/parallel.h"

/* Takes what parallel_work made of the same block: called for one block after the other, never for
 * two at once, by whatever thread made it.  0, or what ends the loop. */
typedef int (*ordered_take)(void *context, unsigned worker, uint64_t first, uint64_t count);

/* make() and take() over [0, total) in blocks of `block`.  Returns 0, or what the first take()
 * that failed returned; then the rest is left out, as it is with -ECANCELED where nobody wants the
 * result any more (parallel_stop_when()).  `alone`: by the calling thread, for a take()
 * that may wait long for somebody else, since the pool is there for all. */
int ordered_for(uint64_t total, uint64_t block, bool alone, parallel_work make, ordered_take take,
		void *context);
