/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question matches: can an expression be read, and how much matches? */
#include "answer/question.h"
#include "base/buf_type.h"

struct answer_matches {
	const struct view *view; /* NULL: it cannot be read, and `wrong` says why */
	struct fault wrong;
};

static int matches_compute(struct ask *a, void *answer)
{
	struct answer_matches *ret = answer;

	ret->wrong = a->checked;
	if (ret->wrong.status)
		return 0;
	ret->view = ask_view(a);
	if (!ret->view) {
		ret->wrong = a->fault;
		a->fault = FAULT_NONE;
	}
	return 0;
}

static void matches_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_matches *c = answer;
	auto_buf struct buf text = { 0 };

	json_bool(j, "ok", c->view);
	if (c->view) {
		filter_print(c->view->filter, &text);
		json_text(j, "filter", text.data);
		JSON_MEMBERS(j, c->view, count, bytes);
	} else {
		json_text(j, "error", c->wrong.text);
		if (c->wrong.position >= 0)
			json_number(j, "position", (uint64_t)c->wrong.position);
	}
}

const struct question question_matches = {
	.name = "matches",
	.help = "can this expression be read, and how much matches",
	.filters = true,
	.checks = true,
	.prefetch = (const struct prefetch[]){ { 6, "" }, { 0 } },
	.size = sizeof(struct answer_matches),
	.compute = matches_compute,
	.write_members = matches_json,
};
