/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question leaks answers: verdicts on what was not freed.  Any thread. */
#include "answer/question.h"
#include "query/spark.h"
#include "query/verdict.h"

struct buf;

struct answer_leaks {
	const struct view *view;
	const struct verdicts *all; /* the snapshot's, or `own` */
	struct verdicts own;	    /* of what filters choose, each stack, or what is too small */
	unsigned class;		    /* VERDICTS: every one */
	uint32_t skip, count;
	bool held, everything, by_stack;
	uint32_t rows;	/* of the class */
	uint32_t *page; /* of them those that were asked for */
	uint32_t page_count;
	uint32_t *curve_of;
	struct sparks sparks; /* .points: 0 if none were asked for */
};

extern const struct question question_leaks;

/* How much of each class there is, what was left out apart. */
struct leaks_sum {
	uint64_t bytes[VERDICTS], functions[VERDICTS];
};
struct leaks_sum leaks_sum(const struct verdicts *all);
void leaks_write_sums(struct json *j, const struct verdicts *all);
/* All fields of a verdict but its stack's frames. */
void leaks_verdict(struct json *j, const struct view *v, const struct verdict *of);
