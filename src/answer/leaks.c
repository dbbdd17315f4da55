/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question leaks: is it a leak?  Verdicts on what was not freed. */
#include "answer/leaks.h"

#include <errno.h>

#include "answer/words.h"
#include "base/sink.h"
#include "query/answer.h"

void leaks_verdict(struct json *j, const struct model *m, const struct verdict *v)
{
	verdict_json(j, v, model_runtime_ns(m));
	json_number(j, "backtrace_id", v->stack);
}

static int leaks_compute(struct ask *a, void *answer)
{
	struct answer_leaks *ret = answer;
	const char *names[VERDICTS];

	for (unsigned i = 0; i < VERDICTS; i++)
		names[i] = verdict_rows[i].name;
	ret->class = ask_choice(a, "class", names, VERDICTS);
	ret->skip = ask_count(a, "skip");
	ret->count = ask_count(a, "count");
	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	if (ret->view->bits || ask_bool(a, "held")) {
		verdicts_init(&ret->own, ret->view, ask_bool(a, "held"));
		ret->all = &ret->own;
	} else {
		ret->all = snapshot_verdicts(a->snapshot);
	}
	return 0;
}

static int leaks_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_leaks *l = answer;
	const struct view *v = l->view;
	struct answer written;
	uint32_t n = 0;
	int error = 0;

	snapshot_answer(a->snapshot, &written, v);
	json_object(j, NULL);
	json_number(j, "work_end_ns", l->all->end_ns);
	json_array(j, "verdicts");
	for (uint32_t i = 0; i < l->all->count && !error; i++) {
		const struct verdict *row = &l->all->rows[i];

		if (l->class != VERDICTS && row->class != l->class)
			continue;
		if (n++ < l->skip || n - l->skip > l->count)
			continue;
		json_object(j, NULL);
		leaks_verdict(j, v->model, row);
		words_where(j, v, row->stack);
		answer_backtrace(&written, j, "backtrace", row->stack, row->call);
		json_end_object(j);
		error = sink_turn(out);
	}
	json_end_array(j);
	json_number(j, "total_count", n);
	json_end_object(j);
	snapshot_answer_release(&written);
	return error;
}

static void leaks_drop(void *answer)
{
	verdicts_release(&((struct answer_leaks *)answer)->own);
}

static const struct param_row params[] = {
	{ "class", PARAM_CHOICE, NULL, "only these",
	  .values = "growing|unclear|bounded|sawtooth|start-up", .letter = 'c' },
	{ "held", PARAM_BOOL, "false", "with those whose blocks were all freed at exit" },
	{ "skip", PARAM_COUNT, "0", "stacks that are left out" },
	{ "count", PARAM_COUNT, "100", "stacks at most", .option = "top", .letter = 'n' },
	{ 0 },
};

const struct question question_leaks = {
	.name = "leaks",
	.help = "verdicts on what was not freed",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_leaks),
	.compute = leaks_compute,
	.write_json = leaks_json,
	.release = leaks_drop,
};
