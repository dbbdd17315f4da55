/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/leaks: is it a leak?  Verdicts on what was not freed. */
#include "server/leaks.h"

#include <string.h>

#include "answer/words.h"
#include "server/request.h"

void leaks_verdict(struct json *j, const struct model *m, const struct verdict *v)
{
	verdict_json(j, v, model_runtime_ns(m));
	json_number(j, "backtrace_id", v->stack);
}

static int answer(struct request *r, struct sink *out)
{
	const char *class = ask_text(&r->ask, "class");
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count"), n = 0;
	const struct view *v = ask_view(&r->ask);
	struct verdicts own = { 0 };
	const struct verdicts *all;
	struct answer a;
	struct json j;

	if (!v)
		return -1;
	if (v->bits || ask_bool(&r->ask, "held")) {
		verdicts_init(&own, v, ask_bool(&r->ask, "held"));
		all = &own;
	} else {
		all = snapshot_verdicts(r->ask.snapshot);
	}
	snapshot_answer(r->ask.snapshot, &a, v);
	request_json(&j, out);
	json_object(&j, NULL);
	json_number(&j, "work_end_ns", all->end_ns);
	json_array(&j, "verdicts");
	for (uint32_t i = 0; i < all->count; i++) {
		const struct verdict *row = &all->rows[i];

		if (class && strcmp(class, verdict_rows[row->class].name) != 0)
			continue;
		if (n++ < skip || n - skip > most)
			continue;
		json_object(&j, NULL);
		leaks_verdict(&j, v->model, row);
		words_where(&j, v->model, v->locations, row->stack);
		answer_backtrace(&a, &j, "backtrace", row->stack, row->call);
		json_end_object(&j);
		sink_turn(out);
	}
	json_end_array(&j);
	json_number(&j, "total_count", n);
	json_end_object(&j);
	snapshot_answer_release(&a);
	verdicts_release(&own);
	return 0;
}

static const struct param_row params[] = {
	{ "class", PARAM_CHOICE, NULL, "only these",
	  .values = "growing|bounded|sawtooth|start-up" },
	{ "held", PARAM_BOOL, "false", "with those whose blocks were all freed at exit" },
	PARAMS_PAGE("100"),
	{ 0 },
};

const struct route routes_leaks[] = {
	{ "/data/{id}/leaks", METHOD_GET, "verdicts on what was not freed", .params = params,
	  .filters = true, .answer = answer },
	{ 0 },
};
