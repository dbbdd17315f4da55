/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question blame answers. */
#include "answer/question.h"
#include "query/blame.h"

/* One holder: a responsible function, or a stack. */
struct blame_row {
	uint32_t holder;	     /* of the blame */
	uint32_t stack;		     /* of its stacks, the one with most bytes alive */
	uint32_t stacks;	     /* with live blocks */
	uint32_t function, location; /* as groups by responsible function have them; 0 of stacks */
};

struct answer_blame {
	struct blame blame;
	const struct view *view;
	uint64_t at_ns;
	bool by_stack;
	struct blame_row *rows; /* those with live blocks, in the order that was asked for */
	uint32_t row_count, skip, most;
};

extern const struct question question_blame;

/* "main", or where it is. */
void blame_label(const struct answer_blame *b, const struct blame_row *row, struct buf *out);
