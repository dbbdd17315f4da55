/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /dumps/{id}/top: what each function, line, file or address holds by itself and with all that
 * it calls; also the difference of two dumps, by name. */
#include <string.h>

#include "heap/top_list.h"
#include "server/dump_question.h"

static void write_answer(struct request *r, const struct dump_question *q,
			 const struct profile *profiles, const struct top_list_question *how,
			 struct sink *out)
{
	struct top_list l;
	struct json j;

	top_list_compute(profiles, q->base ? 2 : 1, how, &l);
	request_json(&j, out);
	json_object(&j, NULL);
	dump_question_json(&j, q, "base");
	top_list_write_json(&j, &l, ask_count(&r->ask, "skip"), ask_count(&r->ask, "count"), out);
	json_end_object(&j);
	top_list_release(&l);
}

static int answer(struct request *r, struct sink *out)
{
	struct dump_question q;
	int error = dump_question_init(&q, r);
	struct top_list_question how = { .measure = q.measure,
					 .order = ask_text(&r->ask, "sort_by"),
					 .descending = ask_descending(&r->ask),
					 .search = ask_text(&r->ask, "search") };
	struct profile profiles[2];
	unsigned sides = 0;

	if (!error && !q.base && (strstr(how.order, "before") || strstr(how.order, "change")))
		error = ask_fail(&r->ask, 400, "sort_by",
				 "'%s' is for a difference: base=", how.order);
	for (; !error && sides < (q.base ? 2 : 1); sides++)
		error = dump_question_ask(&q, r,
					  (sides == TOP_BEFORE ? q.base : r->ask.snapshot)->heap,
					  NULL, &profiles[sides]);
	if (!error)
		write_answer(r, &q, profiles, &how, out);
	while (sides)
		profile_release(&profiles[--sides]);
	dump_question_release(&q);
	return error;
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

const struct route routes_dump_top[] = {
	{ "/dumps/{id}/top", METHOD_GET, "who holds how much of a heap profile", .kind = "heap",
	  .params = params, .answer = answer },
	{ 0 },
};
