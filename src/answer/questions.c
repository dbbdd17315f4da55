/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of questions, which meson.build makes from its words.  See question.h. */
#include <errno.h>
#include <string.h>

#include "answer/question.h"
#include "base/parallel.h"
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

int question_compute(const struct question *q, struct ask *a, void *answer)
{
	int error;

	if (a->snapshot && a->snapshot->fleet && !q->fleets)
		return ask_fail(a, 400, NULL, "'%s' cannot be asked of a fleet", q->name);
	error = q->compute ? q->compute(a, answer) : 0;
	if (!error && parallel_is_cut()) /* nobody waits for it: it is not written */
		return -ECANCELED;
	return error ? error : ask_check_source(a, a->held);
}

int question_write(const struct question *q, struct ask *a, const void *answer, struct sink *out)
{
	struct json j = { .out = &out->buf, .compact = true };

	(q->is_array ? json_array : json_object)(&j, NULL);
	q->write_members(a, answer, &j, out);
	(q->is_array ? json_end_array : json_end_object)(&j);
	return out->error;
}

int question_answer(const struct question *q, struct ask *a, struct sink *out)
{
	auto_free void *answer = xcalloc(1, q->size);
	int error = q->check ? q->check(a) : 0;

	if (!error)
		error = question_compute(q, a, answer);
	if (!error)
		error = question_write(q, a, answer, out);
	if (q->release)
		q->release(answer);
	return error;
}
