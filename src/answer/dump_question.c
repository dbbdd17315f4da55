/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What questions about dumps share.  See dump_question.h. */
#include "answer/dump_question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/report.h"

static const char *const details[] = {
	[PROFILE_FUNCTIONS] = "function",
	[PROFILE_LINES] = "line",
	[PROFILE_FILES] = "file",
	[PROFILE_ADDRESSES] = "address",
};

int dump_question_pattern(struct ask *a, const char *name, struct pattern **ret_pattern)
{
	const char *text = ask_text(a, name);
	struct err err = { .offset = ERR_NO_OFFSET };

	if (!text)
		return 0;
	*ret_pattern = pattern_new(text, &err);
	return *ret_pattern ? 0 : ask_fail_err(a, name, &err);
}

int dump_question_init(struct dump_question *q, struct ask *a)
{
	const char *thread = ask_text(a, "thread"), *base = ask_text(a, "base");

	*q = (struct dump_question){ .options = { .thread = PROFILE_ALL_THREADS,
						  .keep_allocator = ask_bool(a, "allocator") } };
	for (enum heap_measure m = HEAP_INUSE_SPACE; m <= HEAP_ALLOC_OBJECTS; m++)
		if (!strcmp(ask_text(a, "measure"), heap_measure_name(m)))
			q->measure = m;
	q->options.measure = q->measure;
	for (unsigned i = 0; i < sizeof(details) / sizeof(*details); i++)
		if (!strcmp(ask_text(a, "by"), details[i]))
			q->options.detail = (enum profile_detail)i;
	if (thread)
		q->options.thread = strtoull(thread, NULL, 10);
	if (dump_question_pattern(a, "focus", &q->focus) ||
	    dump_question_pattern(a, "ignore", &q->ignore) ||
	    dump_question_pattern(a, "retain", &q->retain) ||
	    dump_question_pattern(a, "exclude", &q->exclude))
		return -EINVAL;
	q->options.focus = q->focus;
	q->options.ignore = q->ignore;
	q->options.retain = q->retain;
	q->options.exclude = q->exclude;
	if (!base)
		return 0;
	q->base = a->open(a, "base", base);
	if (q->base && !q->base->heap)
		return ask_fail(a, 404, "base", "'%s' is not a file of that kind", q->base->name);
	return q->base ? 0 : -EINVAL;
}

void dump_question_release(struct dump_question *q)
{
	pattern_free(q->focus);
	pattern_free(q->ignore);
	pattern_free(q->retain);
	pattern_free(q->exclude);
	snapshot_drop(q->base);
}

int dump_question_ask(const struct dump_question *q, struct ask *a, const struct loaded_dump *d,
		      const struct loaded_dump *base, struct profile *ret_profile)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	return loaded_dump_profile(d, base, &q->options, ret_profile, &err)
		       ? ask_fail(a, 400, NULL, "%s", err.text)
		       : 0;
}

void dump_question_json(struct json *j, const struct dump_question *q, const char *key)
{
	json_text(j, "measure", heap_measure_name(q->measure));
	json_text(j, "by", details[q->options.detail]);
	if (!q->base)
		return;
	json_object(j, key);
	JSON_MEMBERS(j, q->base, id, name);
	json_end_object(j);
}
