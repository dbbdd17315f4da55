/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question functions answers.  Any thread. */
#include "answer/question.h"
#include "query/tree.h"

struct answer_functions {
	struct tree tree;
	struct function_total *rows;
	uint32_t *order; /* positions in rows of those that were wanted */
	uint32_t count;	 /* of those */
	uint32_t skip, shown;
};

extern const struct question question_functions;
