/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question diff answers. */
#include "answer/question.h"
#include "query/diff.h"

struct answer_diff {
	struct diff diff;
	struct other after; /* the other recording; the one that is asked about is before it */
	struct measuring how[2];
	uint32_t counts[DIFF_STATUSES]; /* of stacks */
	uint32_t skip, most;		/* rows of a list */
	bool stacks, functions;		/* which lists */
};

extern const struct question question_diff;
