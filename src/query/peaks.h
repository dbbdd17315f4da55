/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* When each stack had most bytes alive, whatever the rest of the program had then.  Any thread: one
 * of those that ask at the same time computes, and the others wait. */
#include <stdint.h>

#include "model/model.h"
#include "query/view.h"

struct stack_peak {
	uint64_t bytes; /* the most that were alive at once */
	uint32_t count; /* blocks that they were in */
	uint64_t at;	/* the stamp at which they were first reached; 0: it allocated nothing */
};

/* By stack, that is by node: as many as the recording has nodes, at least one.  What has no known
 * stack is at 0.  The caller frees it. */
struct stack_peak *peaks_of_stacks(const struct model *m);
/* The same, of the rows of a view only. */
struct stack_peak *peaks_of_view(const struct view *v);
/* The same, of what was removed from the recording too, made once and kept with the model. */
const struct stack_peak *model_peaks(const struct model *m);
