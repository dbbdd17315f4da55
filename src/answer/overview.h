/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question overview answers, and memoir report prints. */
#include "answer/question.h"
#include "model/stats.h"
#include "query/sentence.h"
#include "query/verdict.h"

/* Responsible functions (query/responsible.h), or stacks, by one measure, the heaviest first. */
struct overview_part {
	struct weight all; /* of every stack */
	struct overview_row {
		uint32_t stack, call; /* of its stack that weighs most */
		uint64_t heaviest;    /* what that one weighs */
		struct weight weight; /* of all its stacks */
		uint32_t stacks;
	} * rows; /* as many as were asked for */
	uint32_t count;
	uint32_t functions; /* that have any */
	uint32_t stacks;    /* the same */
};

struct answer_overview {
	const struct view *view;
	struct overview_part parts[STACK_ORDERS];
	struct stack_counts counts;
	uint32_t stacks;		 /* of the view */
	uint64_t temporary;		 /* also what was removed from the recording */
	const struct verdicts *verdicts; /* NULL: not asked for */
	const struct verdicts *held;  /* for sentences on growth: also of what was freed at exit */
	struct verdicts own[2];	      /* both, of a part */
	struct process_memory memory; /* of the whole process, whatever is asked */
	struct sentences sentences;
	bool says; /* sentences were asked for */
	bool backtraces, by_stack;
};

extern const struct question question_overview;
