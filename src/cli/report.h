/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir report prints: the same parts as text and as JSON. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/term.h"
#include "cli/frames.h"
#include "model/stats.h"

struct report {
	struct model *model;
	struct stack_sums sums;
	struct frames frames;
	struct term term;
	uint32_t top; /* stacks in each part */
	bool full;    /* all frames, whole paths */
};

/* A part: which stacks, and what of them is shown. */
struct report_part {
	const char *key, *title;
	enum stack_order order;
	const char *unit, *units; /* what is counted */
	const char *empty;	  /* said when there is nothing */
};

#define REPORT_PARTS 4
extern const struct report_part report_parts[REPORT_PARTS];

struct report_figures {
	uint64_t bytes, count;
};
/* What a part shows of one stack, and of the whole recording. */
struct report_figures report_of_stack(const struct stack_sum *s, enum stack_order order);
struct report_figures report_of_all(const struct model *m, const struct stack_sums *s,
				    enum stack_order order);
/* Shares are of bytes, except where calls are counted. */
bool report_counts_calls(enum stack_order order);

void report_text(struct report *r, struct buf *out);
void report_json(struct report *r, struct buf *out);
