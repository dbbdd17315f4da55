/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question callers answers.  Any thread. */
#include "answer/question.h"
#include "query/callers.h"

struct answer_callers {
	struct tree tree;
	struct callers callers;
	uint32_t caller_shown, callee_shown; /* rows of each, the heaviest */
};

extern const struct question question_callers;
