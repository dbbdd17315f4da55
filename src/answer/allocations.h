/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question allocations answers: single allocations, sorted, a page of them.  Any thread.
 */
#include "answer/question.h"
#include "query/sort.h"

struct answer_allocations {
	const struct view *view;
	struct page page;      /* where they had to be sorted */
	bool in_order;	       /* of time: then nothing is held, and they are */
	uint32_t first, count; /* so many rows of the view from this one on */
};

extern const struct question question_allocations;

/* Calls `one` with each row, until it returns something else than 0, which is returned. */
void allocations_each(const struct answer_allocations *a, int (*one)(void *context, uint32_t row),
		      void *context);
