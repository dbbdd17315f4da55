/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Looking at the program's memory maps from outside, about once a second: what is there, and how
 * much of it is resident.  What is different from the look before goes into the recording
 * (wire/regions.h).
 *
 * The kernel makes one mapping of neighbours that are alike, so the collector follows the program's
 * own calls (they pass by in the rings) to know where one map ends and the next begins; how much of
 * a mapping's resident pages each has is then counted in /proc/PID/pagemap.  The recorder's own
 * memory is known from the shared memory.
 *
 * A look takes at most one part in a hundred of a core's time: where one takes long, the next comes
 * later. */
#include <stdint.h>

struct collector;
struct event;
struct regions_watch;

/* NULL: the user does not want it. */
struct regions_watch *regions_watch_new(struct collector *c);
struct regions_watch *regions_watch_free(struct regions_watch *w);
/* Events that were taken out of a ring; those about maps are kept. */
void regions_take(struct regions_watch *w, const struct event *events, uint32_t n);
/* Looks if it is time to, or at once. */
void regions_look_if_due(struct regions_watch *w);
void regions_look(struct regions_watch *w);
