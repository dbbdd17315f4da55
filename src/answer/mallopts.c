/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question mallopts: how the program has set up its allocator (mallopt), as Bytehound has it,
 * and on demand the other calls that change what memory is kept: malloc_trim, madvise, mprotect,
 * brk. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "answer/question.h"
#include "answer/words.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/view.h"
#include "wire/event.h"

#define CACHED_ROWS 2000 /* more are not kept */

struct answer_mallopts {
	const struct view *view;
	uint32_t *calls; /* in order of time; of the maps' calls */
	size_t count, total;
};

struct named {
	int number;
	const char *name;
};

static const struct named options[] = {
	{ M_MXFAST, "M_MXFAST" },	{ M_TRIM_THRESHOLD, "M_TRIM_THRESHOLD" },
	{ M_TOP_PAD, "M_TOP_PAD" },	{ M_MMAP_THRESHOLD, "M_MMAP_THRESHOLD" },
	{ M_MMAP_MAX, "M_MMAP_MAX" },	{ M_CHECK_ACTION, "M_CHECK_ACTION" },
	{ M_PERTURB, "M_PERTURB" },	{ M_ARENA_TEST, "M_ARENA_TEST" },
	{ M_ARENA_MAX, "M_ARENA_MAX" }, { 0 },
};

static const struct named advices[] = {
	{ MADV_WILLNEED, "MADV_WILLNEED" },
	{ MADV_DONTNEED, "MADV_DONTNEED" },
	{ MADV_FREE, "MADV_FREE" },
	{ MADV_REMOVE, "MADV_REMOVE" },
	{ MADV_DONTFORK, "MADV_DONTFORK" },
	{ MADV_HUGEPAGE, "MADV_HUGEPAGE" },
	{ MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE" },
	{ MADV_DONTDUMP, "MADV_DONTDUMP" },
	{ MADV_WIPEONFORK, "MADV_WIPEONFORK" },
	{ MADV_COLD, "MADV_COLD" },
	{ MADV_PAGEOUT, "MADV_PAGEOUT" },
	{ 0 },
};

static const char *name_of(const struct named *rows, int number)
{
	for (; rows->name; rows++)
		if (rows->number == number)
			return rows->name;
	return NULL;
}

static bool calls_are_many(const struct ask *a)
{
	return ask_count(a, "count") > CACHED_ROWS;
}

static bool is_asked_for(const struct map_call *c, const char *which, const struct locations *names)
{
	return c->kind == MAP_CALL_CHANGES &&
	       (!strcmp(which, "all") || !strcmp(which, locations_call(names, c->call)));
}

static int mallopts_compute(struct ask *a, void *answer)
{
	struct answer_mallopts *ret = answer;
	const char *which = ask_text(a, "call");
	uint32_t skip = ask_count(a, "skip"), most = ask_count(a, "count");
	const struct map_calls *calls;
	size_t room = 0;

	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	calls = &model_maps(ret->view->model)->calls;
	for (uint32_t i = 0; i < calls->count; i++) {
		if (!is_asked_for(&calls->rows[i], which, ret->view->locations))
			continue;
		if (ret->total++ >= skip && ret->count < most)
			*xpush(ret->calls, ret->count, room) = i;
	}
	return 0;
}

static void put_named(struct json *j, const char *key, const struct named *rows, int number)
{
	const char *name = name_of(rows, number);

	if (name)
		json_text(j, key, name);
}

static void put_place(struct json *j, const struct map_call *c)
{
	answer_address(j, c->address);
	json_number(j, "size", c->length);
}

static void write_arguments(struct json *j, const struct map_call *c)
{
	switch (c->call) {
	case CALL_mallopt:
		json_signed(j, "raw_param", (int32_t)c->address);
		put_named(j, "param", options, (int32_t)c->address);
		json_signed(j, "value", (int32_t)c->length);
		json_signed(j, "result", (int32_t)c->given);
		break;
	case CALL_malloc_trim:
		json_number(j, "pad", c->length);
		json_signed(j, "result", (int32_t)c->given);
		break;
	case CALL_madvise:
		put_place(j, c);
		json_number(j, "raw_advice", c->given);
		put_named(j, "advice", advices, (int32_t)c->given);
		break;
	case CALL_mprotect:
		put_place(j, c);
		json_bool(j, "is_readable", c->flags & MAP_CAN_READ);
		json_bool(j, "is_writable", c->flags & MAP_CAN_WRITE);
		json_bool(j, "is_executable", c->flags & MAP_CAN_EXECUTE);
		break;
	default:
		put_place(j, c);
		json_bool(j, "shrinks", c->flags & CHANGE_SHRINKS);
		break;
	}
}

static void mallopts_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_mallopts *found = answer;
	const struct model *m = found->view->model;
	const struct map_calls *calls = &model_maps(m)->calls;
	struct answer written;

	snapshot_answer(a->snapshot, &written, found->view);
	written.no_stacks = !ask_bool(a, "stacks");
	if (ask_bool(a, "strip_template_args"))
		written.shorten = words_strip_templates;
	for (size_t i = 0; i < found->count && !sink_turn(out); i++) {
		const struct map_call *c = &calls->rows[found->calls[i]];

		json_object(j, NULL);
		answer_moment(&written, j, "timestamp", c->at);
		json_number(j, "thread",
			    c->thread < m->tables.threads.count
				    ? m->tables.threads.rows[c->thread].tid
				    : 0);
		json_text(j, "call", locations_call(found->view->locations, c->call));
		write_arguments(j, c);
		json_number(j, "backtrace_id", answer_stack(m, c->stack));
		answer_put_stack(&written, j, "backtrace", c->stack, c->call);
		json_end_object(j);
	}
	snapshot_answer_release(&written);
}

static void mallopts_drop(void *answer)
{
	struct answer_mallopts *found = answer;

	free(found->calls);
}

static const struct param_row params[] = {
	PARAMS_PAGE("all"),
	{ "call", PARAM_CHOICE, "mallopt", "which calls",
	  .values = "mallopt|malloc_trim|madvise|mprotect|brk|all" },
	{ "stacks", PARAM_BOOL, "true", "with frames" },
	PARAM_STRIP,
	{ 0 },
};

const struct question question_mallopts = {
	.name = "mallopts",
	.help = "options that the program has set of its allocator, and calls that change memory",
	.params = params,
	.is_long = calls_are_many,
	.size = sizeof(struct answer_mallopts),
	.compute = mallopts_compute,
	.is_array = true,
	.write_members = mallopts_json,
	.release = mallopts_drop,
};
