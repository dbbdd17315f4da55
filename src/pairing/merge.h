/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The rings' events, brought into one order of time.
 *
 * A chunk holds runs of several rings, and a horizon: what is stamped before it is complete.  So
 * after each chunk everything before the horizon is handed on, and the rest is kept for the next
 * one.  Events of one ring stay in that ring's order, whatever their stamps say.
 *
 * What was taken out of a ring before a pass began is stamped before that pass: so an event that
 * was kept while the horizon moved twice and still claims to lie ahead has a wrong stamp (the
 * program may have written into its ring).  It is let go then, or all behind it would wait for
 * ever. */
#include <stddef.h>
#include <stdint.h>

#include "pairing/pair.h"
#include "wire/event.h"

struct merge_span {
	const struct event *next, *end;
};

struct merge_ring {
	struct merge_span *spans; /* in order; the first may be what was kept */
	uint32_t span, span_count;
	size_t span_room;
	struct event *held;
	size_t held_count, held_room;
	size_t aged[2]; /* how many of them, from the first, saw the horizon move once, and twice */
};

struct merge_head {
	uint64_t stamp;
	uint32_t ring;
};

#define MERGE_BATCH 1024

struct merge {
	struct merge_ring *rings;
	size_t ring_count;
	uint32_t *active; /* rings that have spans */
	size_t active_count, active_room;
	struct merge_head *heap;
	size_t heap_room;
	uint64_t horizon; /* the last one */
	struct pair_item batch[MERGE_BATCH];
	size_t batch_count;
	struct pair *pair;
};

void merge_init(struct merge *m, struct pair *pair);
void merge_release(struct merge *m);
/* Adds a run.  The events must stay until merge_run() has returned. */
void merge_add(struct merge *m, uint32_t ring, const struct event *events, uint32_t n);
/* Hands on what is stamped before the horizon and keeps a copy of the rest. */
void merge_run(struct merge *m, uint64_t horizon);
/* Hands on everything. */
void merge_finish(struct merge *m);
