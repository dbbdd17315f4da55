/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question fragmentation answers. */
#include "answer/question.h"
#include "query/fragmentation.h"

struct answer_fragmentation {
	struct fragmentation fragmentation;
	const struct view *view;
	uint64_t at_ns;
	enum fragmentation_level level;	    /* that orders holders */
	uint32_t skip, most;		    /* holders */
	struct fragmentation_point *points; /* over time */
	uint32_t point_count;
};

extern const struct question question_fragmentation;
