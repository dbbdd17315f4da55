/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question threads answers.  Any thread. */
#include "answer/question.h"
#include "query/spark.h"
#include "query/thread_sums.h"

struct answer_threads {
	struct thread_sums *sums; /* by thread of the model */
	uint32_t *order;	  /* those that allocated */
	uint32_t count;		  /* of those */
	uint32_t skip, shown;
	uint32_t *curve_of; /* by thread */
	struct sparks sparks;
};

extern const struct question question_threads;
