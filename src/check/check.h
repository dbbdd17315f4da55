/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Does a program hold what is required of it?  Runs of it are compared with limits, and with the
 * runs of a baseline.
 *
 * Noise: what the same build differs by from run to run is no regression.  A growth's limit is the
 * highest figure of the baseline plus the amount that is allowed, or plus the distance from the
 * baseline's lowest to its highest where that is more.  "Per function" asks that of each
 * responsible function: which of its callers a block came by may change from run to run (who makes
 * a hash table grow?), so stacks explain, and functions are judged.  Of several runs that are
 * checked each must stay below a limit, while growth is what even the lowest of them shows.
 * docs/ci.md has what that means in numbers. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/baseline.h"
#include "check/measures.h"

struct check_stack {
	const char *key;  /* "open_session < serve < main" */
	const char *file; /* of the responsible frame; "" */
	uint32_t line;
	uint64_t now;
	struct range before;
	bool is_new;	/* the baseline has nothing of it */
	uint64_t grown; /* by so much more than it was at most */
};

struct check_result {
	const struct requirement *wanted;
	struct range now;
	struct range before; /* of a growth */
	uint64_t limit;
	bool holds;
	uint32_t functions;	    /* per function: that are beyond their limit */
	struct check_stack *stacks; /* of what does not hold, the largest first */
	uint32_t stack_count;
};

struct check {
	struct check_result *results;
	size_t count;
	bool holds;
};

/* `before` may be NULL where nothing is a growth.  All must outlive the check. */
void check_init(struct check *c, struct baseline *now, struct baseline *before,
		const struct requirement *wanted, size_t count);
void check_release(struct check *c);
