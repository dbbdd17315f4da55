/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* join_print: a heap dump joined with statistics, printed. */
#pragma once

#include "base/buf.h"
#include "base/term.h"
#include "heap/join.h"

struct join_print {
	const struct profile *profile;
	const struct stats *stats;
	const struct join *join;
	const struct term *term;
	struct buf *out;
	uint64_t top; /* stacks and classes at most; UINT64_MAX: ten in text, all elsewhere */
	bool full;    /* every frame of a stack */
};

/* Each puts all of it into `out`. */
void join_print_text(const struct join_print *s);
void join_print_json(const struct join_print *s);
void join_print_csv(const struct join_print *s);
