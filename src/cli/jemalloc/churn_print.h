/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir jemalloc log prints for people. */
#include "base/term.h"
#include "heap/churn.h"

struct buf;

/* `top` stacks at most. */
void churn_print(struct buf *out, const struct term *t, const struct churn *c, uint64_t top,
		 bool full);
