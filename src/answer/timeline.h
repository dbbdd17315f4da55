/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question timeline answers.  Any thread. */
#include "answer/question.h"
#include "query/series.h"

struct answer_timeline {
	const struct model *model;
	struct series series;
	double seconds; /* of a bucket */
};

extern const struct question question_timeline;
extern const struct param_row timeline_params[];
