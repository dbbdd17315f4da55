/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of questions, which meson.build makes from its words.  See question.h. */
#include <string.h>

#include "answer/question.h"
#include "base/sink.h"
#include "base/xalloc.h"

#define QUESTION(name) extern const struct question question_##name;
#include "answer/questions.inc"
#undef QUESTION

const struct question *const questions[] = {
#define QUESTION(name) &question_##name,
#include "answer/questions.inc"
#undef QUESTION
	NULL,
};

const struct question *question_find(const char *name)
{
	for (const struct question *const *q = questions; *q; q++)
		if (!strcmp((*q)->name, name))
			return *q;
	return NULL;
}

int question_answer(const struct question *q, struct ask *a, struct sink *out)
{
	auto_free void *answer = xcalloc(1, q->size);
	int error = q->check ? q->check(a) : 0;
	struct json j;

	if (!error && q->compute)
		error = q->compute(a, answer);
	if (!error) {
		json_init(&j, &out->buf);
		j.compact = true;
		error = q->write_json(a, answer, &j, out);
	}
	if (q->release)
		q->release(answer);
	return error;
}
