/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question flame: a call tree in flat arrays, for drawing; also the difference of two. */
#include <errno.h>
#include <string.h>

#include "answer/flame_layout.h"
#include "answer/question.h"
#include "base/sink.h"
#include "query/responsible.h"

#define LIMIT_MAX 200000

static void write_names(struct json *j, const struct flame_layout *f, struct sink *out)
{
	json_object(j, "names");
	JSON_EACH(j, "text", i, f->name_count)
		json_text(j, NULL, strings_at(&f->texts, f->names[i].text));
#define COLUMN(field)                                                                              \
	json_array(j, #field);                                                                     \
	for (size_t i = 0; i < f->name_count; i++)                                                 \
		json_real(j, NULL, (double)f->names[i].field, 0);                                  \
	json_end_array(j);                                                                         \
	sink_turn(out);
	COLUMN(kind)
	COLUMN(module)
	COLUMN(file)
	COLUMN(line)
	COLUMN(colour)
	COLUMN(whose)
#undef COLUMN
	json_end_object(j);
}

static void write_strings(struct json *j, const char *key, const struct strings *s)
{
	JSON_EACH(j, key, i, strings_count(s))
		json_text(j, NULL, strings_at(s, i));
}

static void write_nodes(struct json *j, const struct flame_layout *f, bool difference,
			struct sink *out)
{
	bool c = f->by_count;

	json_object(j, "nodes");
#define COLUMN(name, value)                                                                        \
	json_array(j, name);                                                                       \
	for (size_t i = 0; i < f->count; i++)                                                      \
		json_number(j, NULL, value);                                                       \
	json_end_array(j);                                                                         \
	sink_turn(out);
	COLUMN("name", f->nodes[i].name)
	COLUMN("parent", f->nodes[i].parent)
	COLUMN("depth", f->nodes[i].depth)
	COLUMN("value", c ? f->nodes[i].total[0].count : f->nodes[i].total[0].bytes)
	COLUMN("other", c ? f->nodes[i].total[0].bytes : f->nodes[i].total[0].count)
	COLUMN("self", c ? f->nodes[i].self[0].count : f->nodes[i].self[0].bytes)
	if (difference) {
		COLUMN("before", c ? f->nodes[i].total[1].count : f->nodes[i].total[1].bytes)
	}
#undef COLUMN
	json_end_object(j);
}

void flame_layout_total(struct json *j, const struct flame_layout *f, bool difference)
{
	const struct flame_layout_node *root = &f->nodes[0];

	json_object(j, "total");
	JSON_MEMBERS(j, &root->total[0], bytes, count);
	if (difference) {
		json_number(j, "before_bytes", root->total[1].bytes);
		json_number(j, "before_count", root->total[1].count);
	}
	json_end_object(j);
}

void flame_layout_json(struct json *j, const struct flame_layout *f, bool difference,
		       struct sink *out)
{
	json_number(j, "node_count", f->count);
	json_number(j, "hidden_count", f->hidden);
	write_names(j, f, out);
	JSON_EACH(j, "kinds", i, FRAME_KINDS)
		json_text(j, NULL, frame_kind_names[i]);
	write_strings(j, "modules", &f->modules);
	write_strings(j, "files", &f->files);
	write_nodes(j, f, difference, out);
}

struct against {
	struct other other;
	struct measuring how;
	bool given;
};

struct answer_flame {
	struct tree_options options;
	struct flame_layout layout;
	struct against against;
};

/* What it is compared with: another recording, or another moment of this one. */
static int find_against(struct ask *a, const struct measuring *how, struct against *ret)
{
	const char *text = ask_text(a, "against");
	const struct model *m = a->snapshot->model;
	bool moment = measuring_has_moment(how), pinned = how->measure == MEASURE_PINNED;
	uint64_t ns;

	ret->given = text != NULL;
	if (!text) {
		if (ask_has(a, "against_at"))
			return ask_fail(a, 400, "against_at", "it is for against=<recording>");
		return 0;
	}
	/* An id may be all digits. */
	if (strlen(text) != ID_SIZE - 1 && ask_time_text(text, m, &ns)) {
		if (!moment)
			return ask_fail(a, 400, "against",
					"a moment can be compared with measure=alive, peak or "
					"pinned");
		if (ask_has(a, "against_at"))
			return ask_fail(a, 400, "against_at", "it is for against=<recording>");
		ret->how = measuring_of(m, pinned ? MEASURE_PINNED : MEASURE_ALIVE_AT, ns);
		return ask_other(a, "against", NULL, &ret->other) ? 0 : -EINVAL;
	}
	if (!ask_other(a, "against", text, &ret->other))
		return -EINVAL;
	m = ret->other.snapshot->model;
	if (ask_time(a, "against_at", m, &ns))
		ret->how = measuring_of(m, pinned ? MEASURE_PINNED : MEASURE_ALIVE_AT, ns);
	else if (how->measure == MEASURE_ALIVE_AT)
		ret->how = measuring_of(m, MEASURE_ALIVE_AT, model_ns(a->snapshot->model, how->at));
	else if (how->measure == MEASURE_SHORT_LIVED)
		ret->how = measuring_of(m, MEASURE_SHORT_LIVED,
					model_ns(a->snapshot->model,
						 measure_stamp(a->snapshot->model, 0) + how->at));
	else
		ret->how = measuring_of(m, how->measure, 0);
	return 0;
}

static void add_tree(struct flame_layout *f, const struct view *v, const struct tree_options *o,
		     unsigned side, bool merge)
{
	struct tree_options with_kinds = *o;
	struct tree t;

	with_kinds.responsible = responsible_of_view(v);
	tree_init(&t, v, &with_kinds);
	flame_layout_add(f, &t, side, merge, 0);
	tree_release(&t);
}

static void write_against(struct json *j, const struct against *a)
{
	json_object(j, "against");
	JSON_MEMBERS(j, a->other.snapshot, id, name);
	ask_measuring_json(j, a->other.snapshot->model, &a->how);
	json_end_object(j);
}

static void flame_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_flame *f = answer;
	const struct tree_options *o = &f->options;

	ask_measuring_json(j, a->snapshot->model, &o->measuring);
	json_text(j, "weight", o->by_count ? "count" : "bytes");
	json_text(j, "direction", o->bottom_up ? "up" : "down");
	json_text(j, "by", tree_keys[o->key]);
	json_bool(j, "threads", o->by_thread);
	flame_layout_total(j, &f->layout, f->against.given);
	if (f->against.given)
		write_against(j, &f->against);
	flame_layout_json(j, &f->layout, f->against.given, out);
}

static int flame_compute(struct ask *a, void *answer)
{
	struct answer_flame *f = answer;
	const char *by = ask_text(a, "by");
	struct tree_options *o = &f->options;
	const struct view *v;

	*o = (struct tree_options){ .bottom_up = !strcmp(ask_text(a, "direction"), "up"),
				    .by_count = ask_by_count(a),
				    .by_thread = ask_bool(a, "threads") || !strcmp(by, "thread") };
	if (strcmp(by, "thread") != 0)
		o->key = ask_choice(a, "by", tree_keys, TREE_KEYS);
	flame_layout_init(&f->layout, o->by_count);
	if (ask_measuring(a, a->snapshot->model, &o->measuring) ||
	    find_against(a, &o->measuring, &f->against))
		return -EINVAL;
	if (ask_has(a, "a") && !a->snapshot->fleet)
		return ask_fail(a, 400, "a", "it is a part of a fleet");
	if (ask_narrow(a, "a") || !(v = ask_view(a)))
		return -EINVAL;
	if (!f->against
		     .given) /* two trees are laid over each other before the heaviest are known */
		o->max_nodes = ask_count(a, "limit") ? ask_count(a, "limit") : 1;
	add_tree(&f->layout, v, o, 0, f->against.given);
	if (f->against.given) {
		struct tree_options before = *o;

		before.measuring = f->against.how;
		add_tree(&f->layout, f->against.other.held->view, &before, 1, true);
		if (ask_check_source(a, f->against.other.held))
			return -EINVAL;
	}
	flame_layout_order(&f->layout, ask_count(a, "limit"));
	return 0;
}

static void flame_drop(void *answer)
{
	struct answer_flame *f = answer;

	flame_layout_release(&f->layout);
	ask_give(&f->against.other);
}

static const struct param_row params[] = {
	PARAMS_MEASURE("peak"),
	PARAM_WEIGHT,
	{ "direction", PARAM_CHOICE, "down",
	  "down: from where threads start; up: from the innermost functions", .values = "down|up" },
	{ "by", PARAM_CHOICE, "function", "what a node is; thread: functions below threads",
	  .values = "function|line|module|thread" },
	{ "threads", PARAM_BOOL, "false", "the first level are threads" },
	{ "limit", PARAM_COUNT, "20000", "nodes at most, the lightest are summed",
	  .max = LIMIT_MAX },
	{ "against", PARAM_TEXT, NULL,
	  "a recording's id, or a moment of this one: a difference; of a fleet: an expression" },
	{ "a", PARAM_TEXT, NULL, "of a fleet: the part that is compared, an expression",
	  .foreign = true },
	{ "against_at", PARAM_TIME, NULL, "with an id: the moment there" },
	{ 0 },
};

const struct question question_flame = {
	.name = "flame",
	.help = "a call tree in flat arrays, for drawing",
	.params = params,
	.filters = true,
	.fleets = true,
	.prefetch = (const struct prefetch[]){ { 5, "measure=peak" },
					       { 9, "measure=leaked" },
					       { 10, "measure=allocated" },
					       { 11, "measure=temporary" },
					       { 12, "measure=peak&direction=up" },
					       { 0 } },
	.size = sizeof(struct answer_flame),
	.compute = flame_compute,
	.write_members = flame_json,
	.release = flame_drop,
};
