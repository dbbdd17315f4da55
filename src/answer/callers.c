/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question callers: who calls a function and what it calls, with what passes between them. */
#include "answer/callers.h"

#include <errno.h>

#include "answer/tree.h"
#include "base/sink.h"
#include "query/responsible.h"

static int callers_compute(struct ask *a, void *answer)
{
	struct answer_callers *ret = answer;
	struct tree_options o = { .by_count = ask_by_count(a) };
	uint32_t most = ask_count(a, "count");
	const struct view *v;

	if (ask_measuring(a, a->snapshot->model, &o.measuring) || !(v = ask_view(a)))
		return -EINVAL;
	o.responsible = responsible_of_view(v);
	tree_init(&ret->tree, v, &o);
	callers_init(&ret->callers, &ret->tree, ask_text(a, "function"));
	ret->caller_shown = ret->callers.caller_count < most ? ret->callers.caller_count : most;
	ret->callee_shown = ret->callers.callee_count < most ? ret->callers.callee_count : most;
	return 0;
}

static void write_weights(struct json *j, const struct tree *t, const struct function_total *f)
{
	json_text(j, "kind", frame_kind_names[t->names[f->name].whose]);
	JSON_MEMBERS(j, &f->total, bytes, count);
	json_number(j, "self_bytes", f->self.bytes);
	json_number(j, "self_count", f->self.count);
	json_number(j, "places", f->node_count);
}

static void write_rows(struct json *j, const struct tree *t, const char *key,
		       const struct function_total *rows, uint32_t shown, struct sink *out)
{
	JSON_EACH(j, key, i, shown) {
		json_object(j, NULL);
		tree_json_name(j, t, rows[i].name);
		write_weights(j, t, &rows[i]);
		json_end_object(j);
		sink_turn(out);
	}
}

static void write_sum(struct json *j, const char *key, const struct weight *w)
{
	json_object(j, key);
	JSON_MEMBERS(j, w, bytes, count);
	json_end_object(j);
}

static void callers_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_callers *c = answer;
	const struct callers *f = &c->callers;

	ask_measuring_json(j, a->snapshot->model, &c->tree.options.measuring);
	write_sum(j, "total", &c->tree.nodes[0].total);
	if (f->function.node_count) {
		json_object(j, "function");
		tree_json_name(j, &c->tree, f->function.name);
		write_weights(j, &c->tree, &f->function);
		json_end_object(j);
	} else {
		json_null(j, "function");
	}
	write_sum(j, "no_caller", &f->no_caller);
	JSON_MEMBERS(j, f, caller_count, callee_count);
	write_rows(j, &c->tree, "callers", f->callers, c->caller_shown, out);
	write_rows(j, &c->tree, "callees", f->callees, c->callee_shown, out);
}

static void callers_drop(void *answer)
{
	struct answer_callers *c = answer;

	callers_release(&c->callers);
	tree_release(&c->tree);
}

static const struct param_row params[] = {
	{ "function", PARAM_TEXT, NULL, "its name, with or without parameters", .required = true },
	PARAMS_MEASURE("peak"),
	PARAM_WEIGHT,
	{ "count", PARAM_COUNT, "200", "rows at most, of callers and of callees", .letter = 'n' },
	{ 0 },
};

const struct question question_callers = {
	.name = "callers",
	.help = "who calls a function, and what it calls",
	.params = params,
	.filters = true,
	.fleets = true,
	.size = sizeof(struct answer_callers),
	.compute = callers_compute,
	.write_members = callers_json,
	.release = callers_drop,
};
