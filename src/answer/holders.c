/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question holders: which stacks hold a stretch of addresses at a moment. */
#include "answer/holders.h"

#include <errno.h>

#include "answer/words.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"

static void write_range_holder(struct json *j, struct answer *a, const struct range_holder *h)
{
	const struct model *m = a->view->model;

	json_object(j, NULL);
	json_number(j, "backtrace_id", h->stack);
	JSON_MEMBERS(j, &h->weight, bytes, count);
	json_number(j, "slack_bytes", h->slack);
	json_number(j, "address_min", h->low);
	json_number(j, "address_max", h->high);
	words_address(j, "address_min_s", h->low);
	words_address(j, "address_max_s", h->high);
	json_number(j, "oldest_ns", model_ns(m, h->oldest));
	json_number(j, "newest_ns", model_ns(m, h->newest));
	answer_backtrace(a, j, "backtrace", h->stack, words_call(m, h->stack));
	json_end_object(j);
}

static int holders_compute(struct ask *a, void *answer)
{
	struct answer_holders *ret = answer;
	uint64_t at = ask_moment(a, &ret->at_ns);

	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	range_holders_init(&ret->holders, ret->view, at);
	ret->skip = ask_count(a, "skip");
	ret->most = ask_count(a, "count");
	return 0;
}

static void holders_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_holders *h = answer;
	const struct range_holders *all = &h->holders;
	auto_release(snapshot_answer_release) struct answer names = { 0 };

	snapshot_answer(a->snapshot, &names, h->view);
	json_number(j, "at_ns", h->at_ns);
	JSON_MEMBERS(j, &all->total, bytes, count);
	json_number(j, "total_count", all->count);
	json_array(j, "stacks");
	for (size_t i = h->skip; i < all->count && i - h->skip < h->most; i++) {
		write_range_holder(j, &names, &all->rows[i]);
		sink_turn(out);
	}
	json_end_array(j);
}

static void holders_drop(void *answer)
{
	range_holders_release(&((struct answer_holders *)answer)->holders);
}

static const struct param_row params[] = {
	{ "at", PARAM_TIME, NULL, "the moment; the peak if it is not given" },
	PARAMS_PAGE("20"),
	{ 0 },
};

const struct question question_holders = {
	.name = "holders",
	.help = "which stacks hold a region at a moment",
	.params = params,
	.filters = true,
	.prefetch = (const struct prefetch[]){ { 18, "skip=0&count=50" }, { 0 } },
	.size = sizeof(struct answer_holders),
	.compute = holders_compute,
	.write_members = holders_json,
	.release = holders_drop,
};
