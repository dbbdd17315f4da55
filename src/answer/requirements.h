/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question requirements answers, and how its JSON is written: `memoir check` asks the same
 * of several runs, folders and written baselines. */
#include "answer/question.h"
#include "check/check.h"

struct answer_requirements {
	struct baseline now, before;
	bool has_before;
	struct requirement *wanted;
	size_t wanted_count, wanted_room;
	struct check check;
	uint32_t top; /* stacks that are told of each */
};

extern const struct question question_requirements;

void requirements_add(struct answer_requirements *r, const struct requirement *one);
/* Is everything there to be judged?  With a baseline and no growth that is wanted, the usual ones
 * are added.  0, or -EINVAL with err. */
int requirements_complete(struct answer_requirements *r, struct err *err);
/* Judges: now and before are filled. */
void requirements_judge(struct answer_requirements *r);
/* How many stacks of a result are told. */
uint32_t requirements_told(const struct answer_requirements *r, const struct check_result *of);
/* The members of an object. */
void requirements_json(struct json *j, const struct answer_requirements *r);
