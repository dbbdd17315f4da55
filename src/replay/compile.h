/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* From a view of a recording to a plan (plan.h), in two passes over its calls.
 *
 *	compile_start();    counts: how much there is to do, and how much memory that takes
 *	compile_finish();   lays it out in a file in memory
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/progress.h"
#include "query/slots.h"
#include "query/view.h"
#include "replay/plan.h"

struct compile_thread {
	uint64_t ops;
	uint64_t filled;
	uint32_t stretch; /* that it is in, or PLAN_NONE */
};

struct compile {
	const struct view *view;
	struct progress *progress; /* may be NULL */
	bool one_thread;
	uint32_t *thread_of; /* by row of the recording's table: a position below, or PLAN_NONE */
	struct compile_thread *threads;
	uint32_t thread_count;
	uint64_t window;     /* calls in a stretch */
	uint32_t *stretches; /* how many threads have a part in each */
	uint32_t stretch_count;
	struct map alignments; /* see alignment_of() */
	uint64_t calls;
	uint64_t allocations, reallocations, frees;
	uint64_t guessed; /* allocations with an alignment that is not known */
	uint64_t bytes, peak_bytes;
	uint64_t live, peak_live; /* blocks */
	/* The second pass. */
	struct plan *plan;
	struct plan_op *ops;
	struct slots slots;
	uint32_t *turns; /* by slot */
	uint64_t turn_room;
};

void compile_start(struct compile *c, const struct view *v, bool one_thread,
		   struct progress *progress);
/* Bytes that the plan and the helper's tables will take, about; when the plan is there, the tables
 * alone, exactly: where blocks go from thread to thread there are more than are alive at once. */
uint64_t compile_memory(const struct compile *c);
/* A descriptor of the plan, or -errno with err. */
int compile_finish(struct compile *c, struct err *err);
void compile_release(struct compile *c);
