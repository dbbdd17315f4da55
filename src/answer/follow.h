/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording that is followed while it is written, for the question top.
 *
 * Only what is new is read each time, and rows of blocks that are gone are used again: hours of a
 * busy program cost what its live blocks and stacks cost.  So its snapshot changes with every
 * follow_read_on(), belongs to one thread, and answers nothing but `top`. */
#include "answer/snapshot.h"
#include "base/err.h"
#include "query/tally.h"

struct follow {
	struct snapshot *snapshot; /* to ask about */
	struct tally tally;
	struct locations_options names;
	bool ended; /* nothing more will come */
};

/* 0, or -errno with err; `names` is copied.  Nothing is read yet. */
int follow_open(struct follow *f, const char *path, const struct locations_options *names,
		uint64_t window_ns, struct err *err);
/* Takes in what is there; `progress` may be NULL. */
void follow_read_on(struct follow *f, model_progress progress, void *context);
void follow_release(struct follow *f);
