/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question top answers, and memoir top draws.  Any thread, but for a recording that is
 * followed: the one that follows. */
#include "answer/question.h"
#include "query/tally.h"

struct top_figures {
	uint64_t held_bytes, held_count;
	uint64_t allocations, allocated_bytes, temporary;
	struct tally_recent recent; /* within the window */
};

struct top_stack {
	uint32_t stack, call;
	struct top_figures figures;
};

/* A function, by the frame of its stacks that is responsible. */
struct top_row {
	const char *name;
	char *own_name; /* where the locations have none */
	uint32_t file, line;
	uint32_t id; /* before they were chosen and sorted */
	uint32_t stack_count;
	struct top_figures figures;
	struct top_stack *stacks; /* the first ones in the order of the rows, if asked for */
	uint32_t shown_stacks;
};

struct answer_top {
	const struct tally *tally;
	struct tally own; /* unless the recording is followed */
	struct top_row *rows;
	uint32_t functions; /* rows before `text` chose some */
	uint32_t count;
	uint32_t skip, shown;
	struct tally_recent recent; /* of everything */
	uint64_t window_ns;
	uint64_t runtime_ns;
	uint64_t *curve; /* most bytes held in each of `points` equal parts of the run */
	uint32_t points;
	uint32_t stacks; /* of each row */
};

/* How often in a second, of what happened within the window. */
double top_rate(const struct answer_top *t, uint64_t recent);

extern const struct question question_top;
