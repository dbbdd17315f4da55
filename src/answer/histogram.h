/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question histogram answers. */
#include "answer/question.h"
#include "query/histogram.h"

struct answer_histogram {
	struct histogram histogram;
	struct measuring measuring;
	uint32_t top; /* single sizes to list */
	bool by_count;
};

extern const struct question question_histogram;
