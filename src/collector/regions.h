/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Samples of the program's memory maps, taken from outside about once a second: what is there, and
 * how much of it is resident.  What is different from the sample before goes into the recording
 * (wire/regions.h).
 *
 * The kernel makes one mapping of neighbours that are alike, so the collector follows the program's
 * own calls (they pass by in the rings) to know where one map ends and the next begins; how much of
 * a mapping's resident pages each has is then counted in /proc/PID/pagemap.  The recorder's own
 * memory is known from the shared memory.
 *
 * A sample takes at most one part in a hundred of a core's time: where one takes long, the next
 * comes later. */
#include <stdint.h>

struct collector;
struct event;
struct regions_sampler;

/* NULL: the user does not want it. */
struct regions_sampler *regions_sampler_new(struct collector *c);
struct regions_sampler *regions_sampler_free(struct regions_sampler *w);
/* Events that were taken out of a ring; those about maps are kept. */
void regions_take(struct regions_sampler *w, const struct event *events, uint32_t n);
/* Takes a sample if one is due, or at once. */
void regions_sample_if_due(struct regions_sampler *w);
void regions_sample(struct regions_sampler *w);
