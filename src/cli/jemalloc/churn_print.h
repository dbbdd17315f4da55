/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir jemalloc log prints. */
#include "base/buf.h"
#include "base/term.h"
#include "heap/churn.h"

/* What a log said about itself. */
struct churn_about {
	const char *path;
	bool recent, named;
	uint64_t rate, recent_max, pid, duration_ns;
	size_t threads, traces, objects;
	char *version, *resolution; /* "": it does not say */
};

/* One of `logs` for each that was added; `top` stacks. */
void churn_print_text(struct buf *out, const struct term *t, const struct churn *c,
		      const struct churn_about *logs, uint64_t top, bool full);
void churn_print_json(struct buf *out, const struct churn *c, const struct churn_about *logs,
		      uint64_t top);
void churn_print_csv(struct buf *out, const struct churn *c, uint64_t top);
