/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording without what was freed soon.
 *
 * Kept is what was never freed, and what lived longer than the threshold.  A realloc chain is one
 * thing: it lived from its first allocation to the end of its last block, and is kept or removed
 * as a whole.  What is removed stays in the totals and in the sums by stack (wire/statistics.h).
 * Everything else stays: threads, markers, modules, files, and all nodes, so that no number
 * changes.  Times are written as the loader mended them, so the rows that are left are exactly the
 * rows that were there.
 *
 * The recording is read twice: to see what lived how long, and to take over the events. */
#include <stdint.h>

#include "rewrite/output.h"
#include "rewrite/source.h"

#define STRIP_ALL UINT64_MAX /* threshold: everything that was freed */

struct strip_options {
	uint64_t threshold_ns;
	model_progress progress;
	void *context;
};

struct strip_result {
	uint64_t allocations; /* that the input's events hold */
	uint64_t removed, removed_bytes;
	struct loss loss; /* of the input */
};

/* Writes what is left of the recording at `path` (which `s` has open) to `o`; the caller finishes
 * that.  0, or -errno with `err` about the input. */
int strip(struct source *s, const char *path, struct output *o, const struct strip_options *options,
	  struct strip_result *ret_result, struct err *err);
