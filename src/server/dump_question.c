/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about dumps.  See dump_question.h.  Request handlers call this; any thread.
 */
#include "server/dump_question.h"

#include <stdlib.h>
#include <string.h>

#include "heap/report.h"

static const char *const details[] = {
	[PROFILE_FUNCTIONS] = "function",
	[PROFILE_LINES] = "line",
	[PROFILE_FILES] = "file",
	[PROFILE_ADDRESSES] = "address",
};

static int compile(struct request *r, const char *name, struct pattern **ret)
{
	const char *text = ask_text(&r->ask, name);
	struct err err = { .offset = ERR_NO_OFFSET };

	if (!text)
		return 0;
	*ret = pattern_new(text, &err);
	return *ret ? 0 : ask_fail_err(&r->ask, name, &err);
}

int dump_question_init(struct dump_question *q, struct request *r)
{
	const char *thread = ask_text(&r->ask, "thread"), *base = ask_text(&r->ask, "base");

	*q = (struct dump_question){ .options = { .thread = PROFILE_ALL_THREADS,
						  .keep_allocator =
							  ask_bool(&r->ask, "allocator") } };
	for (enum heap_measure m = HEAP_INUSE_SPACE; m <= HEAP_ALLOC_OBJECTS; m++)
		if (!strcmp(ask_text(&r->ask, "measure"), heap_measure_name(m)))
			q->measure = m;
	q->options.measure = q->measure;
	for (unsigned i = 0; i < sizeof(details) / sizeof(*details); i++)
		if (!strcmp(ask_text(&r->ask, "by"), details[i]))
			q->options.detail = (enum profile_detail)i;
	if (thread)
		q->options.thread = strtoull(thread, NULL, 10);
	if (compile(r, "focus", &q->focus) || compile(r, "ignore", &q->ignore) ||
	    compile(r, "retain", &q->retain) || compile(r, "exclude", &q->exclude))
		return -1;
	q->options.focus = q->focus;
	q->options.ignore = q->ignore;
	q->options.retain = q->retain;
	q->options.exclude = q->exclude;
	if (base)
		q->base = request_file(r, "base", base, "heap");
	return base && !q->base ? -1 : 0;
}

void dump_question_release(struct dump_question *q)
{
	pattern_free(q->focus);
	pattern_free(q->ignore);
	pattern_free(q->retain);
	pattern_free(q->exclude);
	snapshot_drop(q->base);
}

int dump_question_ask(const struct dump_question *q, struct request *r, const struct loaded_dump *d,
		      const struct loaded_dump *base, struct profile *ret_profile)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	return loaded_dump_profile(d, base, &q->options, ret_profile, &err)
		       ? ask_fail(&r->ask, 400, NULL, "%s", err.text)
		       : 0;
}

void dump_question_json(struct json *j, const struct dump_question *q, const char *key)
{
	json_text(j, "measure", heap_measure_name(q->measure));
	json_text(j, "by", details[q->options.detail]);
	if (!q->base)
		return;
	json_object(j, key);
	json_text(j, "id", q->base->id);
	json_text(j, "name", q->base->name);
	json_end_object(j);
}
