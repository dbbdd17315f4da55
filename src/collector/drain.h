/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What drain.c and drain_cores.c share: rings to chunks, on one core and on several. */
#include "collector/collector.h"

/* The head is handed back in steps, so that a waiting thread goes on while the rest is encoded. */
#define DRAIN_STEP 8192u

struct drain_cores;

/* Threads that wait for room look again. */
void drain_wake_waiting(struct collector *c);

/* NULL where there is no memory for it. */
struct drain_cores *drain_cores_new(struct collector *c);
struct drain_cores *drain_cores_free(struct drain_cores *d);
/* The most cores that worked on one pass. */
unsigned drain_cores_used(const struct drain_cores *d);
/* What a pass is to take: what each ring holds.  False: no memory; it is not to be made. */
void drain_cores_begin(struct drain_cores *d);
bool drain_cores_add(struct drain_cores *d, uint32_t ring, uint64_t from, uint64_t to);
/* Takes it and writes it.  No chunk is open, and what the events refer to is in the file.  Only
 * the last chunk has `horizon`; whoever reads up to another one knows what he knew before.  False:
 * no memory, nothing was taken. */
bool drain_cores_pass(struct drain_cores *d, uint64_t horizon_before, uint64_t horizon);
