/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Weights that do not come from the rows of a recording: a database adds them up, and hands over
 * the stacks with them.
 *
 * The view's model, locations and responsible frames belong to the source, which may add to them
 * while it weighs; so such a view is one thread's.  What went wrong first stays in `error` and
 * `err`: who asked looks there at the end, and until then nothing weighs anything. */
#include "base/err.h"
#include "query/weigh.h"

struct view_source {
	int (*weigh)(struct view_source *s, struct stack_weights *ret_weights,
		     const struct measuring *how, bool by_thread, struct err *err);
	void (*release)(struct view_source *s);
	int error;
	struct err err;
};

void view_source_weigh(struct view_source *s, struct stack_weights *ret_weights,
		       const struct measuring *how, bool by_thread);
