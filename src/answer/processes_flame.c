/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question processes_flame: one flame graph of all recordings of a folder.  Its first level are
 * processes by what they called themselves; those of one name are one. */
#include <errno.h>
#include <string.h>

#include "answer/flame_layout.h"
#include "answer/folder.h"
#include "answer/processes.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/sink.h"
#include "query/responsible.h"

#define LIMIT_MAX 200000

struct answer_processes_flame {
	struct tree_options options;
	struct flame_layout layout;
};

static void add_process(struct flame_layout *f, const struct view *v, const struct tree_options *o)
{
	struct tree_options with_kinds = *o;
	auto_buf struct buf label = { 0 };
	uint32_t under;
	struct tree t;

	with_kinds.responsible = responsible_of_view(v);
	tree_init(&t, v, &with_kinds);
	process_label(v->model, &label);
	buf_char(&label, 0);
	under = flame_layout_child(
		f, 0, flame_layout_name(f, FLAME_LAYOUT_PROCESS, label.data, "", "", 0));
	flame_layout_add(f, &t, 0, true, under);
	flame_layout_weigh(f, 0, 0, &t.nodes[0].total);
	tree_release(&t);
}

static int processes_flame_compute(struct ask *a, void *answer)
{
	struct answer_processes_flame *ret = answer;
	struct folder *folder = a->snapshot->folder;
	struct tree_options *o = &ret->options;
	struct err err;

	*o = (struct tree_options){ .bottom_up = !strcmp(ask_text(a, "direction"), "up"),
				    .by_count = ask_by_count(a),
				    .key = ask_choice(a, "by", tree_keys, TREE_KEYS) };
	flame_layout_init(&ret->layout, o->by_count);
	flame_layout_child(&ret->layout, 0,
			   flame_layout_name(&ret->layout, FLAME_LAYOUT_ROOT, "all", "", "", 0));
	for (size_t i = 0; i < folder->count; i++) {
		struct snapshot *s = folder_take(folder, i, &err);
		struct other other;
		bool ok = s && ask_other_view(a, s, &other);

		if (ok) {
			o->measuring =
				measuring_of(s->model, measure_find(ask_text(a, "measure")), 0);
			add_process(&ret->layout, other.held->view, o);
			ask_give(&other);
		}
		snapshot_drop(s);
		if (s && !ok)
			return -EINVAL;
	}
	flame_layout_order(&ret->layout, ask_count(a, "limit"));
	return 0;
}

static void processes_flame_json(struct ask *a, const void *answer, struct json *j,
				 struct sink *out)
{
	const struct answer_processes_flame *f = answer;
	const struct flame_layout_node *root = &f->layout.nodes[0];

	json_text(j, "measure", ask_text(a, "measure"));
	json_text(j, "weight", f->options.by_count ? "count" : "bytes");
	json_text(j, "direction", f->options.bottom_up ? "up" : "down");
	json_text(j, "by", tree_keys[f->options.key]);
	json_object(j, "total");
	JSON_MEMBERS(j, &root->total[0], bytes, count);
	json_end_object(j);
	flame_layout_json(j, &f->layout, false, out);
}

static void processes_flame_drop(void *answer)
{
	struct answer_processes_flame *f = answer;

	flame_layout_release(&f->layout);
}

static const struct param_row params[] = {
	{ "measure", PARAM_CHOICE, "peak", "what is weighed, in each process",
	  .values = "peak|leaked|allocated|temporary" },
	PARAM_WEIGHT,
	{ "direction", PARAM_CHOICE, "down",
	  "down: from where threads start; up: from the innermost functions", .values = "down|up" },
	{ "by", PARAM_CHOICE, "function", "what a node is", .values = "function|line|module" },
	{ "limit", PARAM_COUNT, "20000", "nodes at most, the lightest are summed",
	  .max = LIMIT_MAX },
	{ 0 },
};

const struct question question_processes_flame = {
	.name = "processes_flame",
	.path = "flame",
	.help = "one call tree of all recordings of a folder, below their processes, for drawing",
	.kind = "processes",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_processes_flame),
	.compute = processes_flame_compute,
	.write_members = processes_flame_json,
	.release = processes_flame_drop,
};
