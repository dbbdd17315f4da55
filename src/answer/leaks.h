/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question leaks answers: verdicts on what was not freed.  Any thread. */
#include "answer/question.h"
#include "query/verdict.h"

struct answer_leaks {
	const struct view *view;
	const struct verdicts *all; /* the snapshot's, or `own` */
	struct verdicts own;	    /* of what filters choose, or of what was held too */
	unsigned class;		    /* VERDICTS: every one */
	uint32_t skip, count;
};

extern const struct question question_leaks;

/* All fields of a verdict but its stack's frames. */
void leaks_verdict(struct json *j, const struct model *m, const struct verdict *v);
