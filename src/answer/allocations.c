/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question allocations: single allocations. */
#include "answer/allocations.h"

#include <errno.h>
#include <stdlib.h>

#include "answer/words.h"
#include "base/sink.h"
#include "query/answer.h"

#define CACHED_ROWS 2000 /* more are not kept */

static bool allocations_are_many(const struct ask *a)
{
	return ask_count(a, "count") > CACHED_ROWS;
}

static int allocations_compute(struct ask *a, void *answer)
{
	const struct filter_field *key = sort_field(ask_text(a, "sort_by"));
	uint32_t skip = ask_count(a, "skip"), count = ask_count(a, "count");
	struct answer_allocations *ret = answer;
	bool descending = ask_descending(a);

	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	ret->in_order = sort_is_by_time(key) && !descending;
	if (!ret->in_order)
		ret->page = sort_page(ret->view, key, descending, skip, count);
	else if (count && view_rows(ret->view, skip, 1, &ret->first))
		ret->count = count < ret->view->count - skip ? count : ret->view->count - skip;
	return 0;
}

void allocations_each(const struct answer_allocations *a, int (*one)(void *context, uint32_t row),
		      void *context)
{
	uint32_t left = a->count, all = a->view->model->allocations.count;
	int stop = 0;

	for (uint32_t i = 0; i < a->page.count && !stop; i++)
		stop = one(context, a->page.rows[i]);
	if (!left)
		return;
	VIEW_EACH(a->view, a->first, all - a->first, row)
	{
		stop = one(context, row);
		if (stop || !--left)
			break;
	}
}

struct allocations_writing {
	struct answer written;
	struct json *j;
	struct sink *out;
};

static int write_allocation(void *context, uint32_t row)
{
	struct allocations_writing *w = context;

	answer_allocation(&w->written, w->j, row);
	return sink_turn(w->out);
}

static void allocations_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_allocations *shown = answer;
	struct allocations_writing w = { .j = j, .out = out };

	snapshot_answer(a->snapshot, &w.written, shown->view);
	w.written.no_stacks = !ask_bool(a, "stacks");
	if (ask_bool(a, "strip_template_args"))
		w.written.shorten = words_strip_templates;
	json_array(j, "allocations");
	allocations_each(shown, write_allocation, &w);
	json_end_array(j);
	json_number(j, "total_count", shown->view->count);
	json_number(j, "total_size", shown->view->bytes);
	snapshot_answer_release(&w.written);
}

static void allocations_drop(void *answer)
{
	free(((struct answer_allocations *)answer)->page.rows);
}

static const struct param_row params[] = {
	PARAMS_PAGE("all"),
	{ "sort_by", PARAM_CHOICE, "timestamp", "what orders", .values = sort_words,
	  .option = "sort", .letter = 's' },
	PARAM_ORDER("asc"),
	{ "stacks", PARAM_BOOL, "true", "with frames" },
	PARAM_STRIP,
	{ 0 },
};

const struct question question_allocations = {
	.name = "allocations",
	.help = "single allocations",
	.params = params,
	.filters = true,
	.is_long = allocations_are_many,
	.prefetch =
		(const struct prefetch[]){ { 13, "sort_by=timestamp&order=asc&skip=0&count=50" },
					   { 0 } },
	.size = sizeof(struct answer_allocations),
	.compute = allocations_compute,
	.write_members = allocations_json,
	.release = allocations_drop,
};
