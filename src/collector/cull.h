/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Culling: what is freed soon is left out of the recording, and counted.
 *
 * Between the rings and the encoder.  Events are brought into order of time and paired, as a loader
 * would; what a block did waits, in that order, until it is freed (then all of it is left out) or
 * old enough (then all of it is written, and whatever it does later).  The age of a block that was
 * reallocated counts from its first allocation.  What was left out is in CHUNK_STATISTICS by stack,
 * and in COUNTERS; what is said there of peaks is of everything. */
#include "collector/collector.h"

struct cull;

/* NULL unless the options ask for it. */
struct cull *cull_new(struct collector *c);
/* Copies a run out of a ring: at most 8192 events. */
void cull_take(struct cull *cull, uint32_t ring, const struct event *events, uint32_t n);
/* After a pass that began at `horizon`: decides, and encodes what is to be written. */
void cull_pass(struct cull *cull, uint64_t horizon);
/* Nothing waits any longer: a forked child, or the program itself, wants to see all there is. */
void cull_let_go(struct cull *cull);
/* No more will come. */
void cull_finish(struct cull *cull);
/* Writes rows of CHUNK_STATISTICS: those that changed, or all. */
void cull_write_statistics(struct cull *cull, bool all);
/* Adds to a payload of CHUNK_COUNTERS. */
void cull_put_counters(const struct cull *cull, struct payload *p);
struct cull *cull_free(struct cull *cull);
