/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about dumps.  See dump_question.h.  Request handlers call this; any thread.
 */
#include "server/dump_question.h"

#include <stdlib.h>
#include <string.h>

static const char *const measures[] = { "inuse_space", "inuse_objects", "alloc_space",
					"alloc_objects" };
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
	for (unsigned i = 0; i < sizeof(measures) / sizeof(*measures); i++)
		if (!strcmp(ask_text(&r->ask, "measure"), measures[i]))
			q->measure = (enum heap_measure)i;
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

static int finish(struct request *r, struct profile *p)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	return profile_finish(p, &err) ? ask_fail(&r->ask, 400, NULL, "%s", err.text) : 0;
}

int dump_question_ask(const struct dump_question *q, struct request *r, const struct loaded_dump *d,
		      struct profile *ret_profile)
{
	const struct heap_locations *known[] = { &d->locations };
	struct heap_locations_options where = { .known = known, .known_count = 1 };
	int error;

	profile_init(ret_profile, &q->options, &where);
	profile_add(ret_profile, &d->dump, 1);
	error = finish(r, ret_profile);
	ret_profile->locations.options.known_count = 0; /* what it points to ends here */
	return error;
}

int dump_question_ask_difference(const struct dump_question *q, struct request *r,
				 struct profile *ret_profile)
{
	const struct loaded_dump *d = r->ask.snapshot->heap, *base = q->base ? q->base->heap : NULL;
	const struct heap_locations *known[] = { &d->locations, base ? &base->locations : NULL };
	struct heap_locations_options where = { .known = known, .known_count = base ? 2 : 1 };
	int error;

	profile_init(ret_profile, &q->options, &where);
	profile_add(ret_profile, &d->dump, 1);
	if (base)
		profile_add(ret_profile, &base->dump, -1);
	error = finish(r, ret_profile);
	ret_profile->locations.options.known_count = 0;
	return error;
}

void dump_question_json(struct json *j, const struct dump_question *q, const char *key)
{
	json_text(j, "measure", measures[q->measure]);
	json_text(j, "by", details[q->options.detail]);
	if (!q->base)
		return;
	json_object(j, key);
	json_text(j, "id", q->base->id);
	json_text(j, "name", q->base->name);
	json_end_object(j);
}

static bool is_ever(const struct dump_question *q)
{
	return q->measure == HEAP_ALLOC_SPACE || q->measure == HEAP_ALLOC_OBJECTS;
}

double dump_question_bytes(const struct dump_question *q, const struct dump_amounts *a)
{
	return is_ever(q) ? a->all_bytes : a->bytes;
}

double dump_question_objects(const struct dump_question *q, const struct dump_amounts *a)
{
	return is_ever(q) ? a->all_objects : a->objects;
}
