/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What outlives a program's work, and the events of chosen stacks in order of time: what verdicts
 * are made from.  Passes over the columns on all cores.  See verdict.h. */
#include <stdint.h>

#include "base/scratch.h"
#include "query/verdict_curve.h"

/* The program's work, and its last allocation: rows below were allocated before its end. */
void work_find(struct work *w, uint32_t *ret_rows, const struct model *m);

/* The rows of a view that are alive when the work ends, or were allocated later and never freed;
 * by worker, each in no order. */
struct outliving {
	struct outliving_rows {
		uint32_t *rows;
		size_t count, room;
	} * of_worker;
	unsigned workers;
};
void outliving_find(struct outliving *o, const struct view *v, const struct work *w);
void outliving_release(struct outliving *o);

/* Events of numbered sets of stacks, of each set the allocations by time and the frees by time, as
 * rows.  Only those before the end of the work. */
struct set_events {
	const struct view *view;
	const uint32_t *set_of; /* by node: its set plus one, or 0; of unknown ones, that of 0 */
	uint32_t sets;
	uint64_t *first_allocation, *first_free; /* by set, one more: positions in the next two */
	uint32_t *allocations, *frees;
	struct scratch memory[2];
};
/* `view`, `set_of` and `sets` are given. */
void set_events_collect(struct set_events *e, const struct work *w, uint32_t work_rows);
void set_events_release(struct set_events *e);
