/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question holders answers. */
#include "answer/question.h"
#include "query/holders.h"

struct answer_holders {
	struct range_holders holders;
	const struct view *view;
	uint64_t at_ns;
	uint32_t skip, most;
};

extern const struct question question_holders;
