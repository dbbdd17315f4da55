/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question dump_top: what each function, line, file or address holds by itself and with all
 * that it calls; also the difference of two dumps, by name. */
#include <string.h>

#include "answer/dump_question.h"
#include "heap/top_list.h"

struct answer_dump_top {
	struct dump_question question;
	struct top_list list;
};

static int dump_top_compute(struct ask *a, void *answer)
{
	struct answer_dump_top *ret = answer;
	struct dump_question *q = &ret->question;
	struct profile profiles[2];
	struct top_list_question how;
	unsigned sides = 0;
	int error = dump_question_init(q, a);

	if (error)
		return error;
	how = (struct top_list_question){ .measure = q->measure,
					  .order = ask_text(a, "sort_by"),
					  .descending = ask_descending(a),
					  .search = ask_text(a, "search") };
	if (!q->base && (strstr(how.order, "before") || strstr(how.order, "change")))
		return ask_fail(a, 400, "sort_by", "'%s' is for a difference: base=", how.order);
	for (; !error && sides < (q->base ? 2 : 1); sides++)
		error = dump_question_ask(q, a, (sides == TOP_BEFORE ? q->base : a->snapshot)->heap,
					  NULL, &profiles[sides]);
	if (!error)
		top_list_compute(profiles, sides, &how, &ret->list);
	while (sides)
		profile_release(&profiles[--sides]);
	return error;
}

static void dump_top_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_dump_top *t = answer;

	dump_question_json(j, &t->question, "base");
	top_list_write_json(j, &t->list, ask_count(a, "skip"), ask_count(a, "count"), out);
}

static void dump_top_drop(void *answer)
{
	struct answer_dump_top *t = answer;

	top_list_release(&t->list);
	dump_question_release(&t->question);
}

static const struct param_row params[] = {
	PARAMS_DUMP,
	{ "sort_by", PARAM_CHOICE, "flat", "what orders; changes by their size, either way",
	  .values = TOP_LIST_ORDERS },
	PARAM_ORDER("dsc"),
	{ "search", PARAM_TEXT, NULL, "only names that contain it, in any case" },
	PARAMS_PAGE("200"),
	{ 0 },
};

const struct question question_dump_top = {
	.name = "dump_top",
	.path = "top",
	.help = "who holds how much of a heap profile",
	.kind = "heap",
	.params = params,
	.size = sizeof(struct answer_dump_top),
	.compute = dump_top_compute,
	.write_members = dump_top_json,
	.release = dump_top_drop,
};
