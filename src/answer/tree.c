/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question tree: who called whom, and what it weighs. */
#include "answer/tree.h"

#include <errno.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/path.h"
#include "base/sink.h"

/* From the inside every frame of every stack may be a node of its own: a million stacks would make
 * a hundred million. */
#define NODES_MAX (1u << 20)

void tree_json_name(struct json *j, const struct tree *t, uint32_t name)
{
	const struct tree_name *n = &t->names[name];
	struct buf text = { 0 };

	tree_name_text(t, name, &text);
	json_text(j, "name", text.data);
	buf_release(&text);
	if (n->kind != TREE_FRAME)
		return;
	if (n->function)
		json_text(j, "function", locations_string(t->locations, n->function));
	if (n->file)
		json_text(j, "file", locations_string(t->locations, n->file));
	if (n->line)
		json_number(j, "line", n->line);
	if (n->module)
		json_text(j, "module", path_base(locations_module_path(t->locations, n->module)));
	if (n->address)
		json_number(j, "address", n->address);
}

int tree_compute(struct ask *a, void *answer)
{
	struct tree_options o = { .key = ask_choice(a, "by", tree_keys, TREE_KEYS),
				  .bottom_up = !strcmp(ask_text(a, "direction"), "up"),
				  .by_count = ask_by_count(a),
				  .by_thread = ask_bool(a, "threads"),
				  .min_share = ask_real(a, "min_share") / 100,
				  .max_depth = ask_count(a, "depth"),
				  .max_children = ask_count(a, "children") };
	const struct view *v;

	if (o.bottom_up)
		o.max_nodes = NODES_MAX;
	if (ask_measuring(a, a->snapshot->model, &o.measuring) || !(v = ask_view(a)))
		return -EINVAL;
	tree_init(answer, v, &o);
	return 0;
}

int tree_write_nodes(const struct tree *t, const char *key, struct json *j, struct sink *out,
		     void (*write)(struct json *j, const struct tree *t, const struct tree_node *n))
{
	uint32_t depth = 0;
	int error = 0;

	for (uint32_t i = 0; i < t->count && !error; i++) {
		const struct tree_node *n = &t->nodes[i];

		for (; i && depth >= n->depth; depth--) {
			json_end_array(j);
			json_end_object(j);
		}
		json_object(j, i ? NULL : key);
		write(j, t, n);
		json_array(j, "children");
		depth = n->depth;
		error = sink_turn(out);
	}
	for (uint32_t i = 0; i <= depth && !error; i++) {
		json_end_array(j);
		json_end_object(j);
	}
	return error;
}

static void write_node(struct json *j, const struct tree *t, const struct tree_node *n)
{
	tree_json_name(j, t, n->name);
	JSON_MEMBERS(j, &n->total, bytes, count);
	json_number(j, "self_bytes", n->self.bytes);
	json_number(j, "self_count", n->self.count);
	json_number(j, "first_ns", n->total.count ? model_ns(t->model, n->first) : 0);
	json_number(j, "last_ns", n->total.count ? model_ns(t->model, n->last) : 0);
	if (n->hidden)
		json_number(j, "hidden", n->hidden);
}

static void tree_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct tree *t = answer;

	ask_measuring_json(j, a->snapshot->model, &t->options.measuring);
	json_text(j, "weight", t->options.by_count ? "count" : "bytes");
	json_text(j, "direction", t->options.bottom_up ? "up" : "down");
	json_text(j, "by", tree_keys[t->options.key]);
	json_bool(j, "threads", t->options.by_thread);
	tree_write_nodes(t, "tree", j, out, write_node);
}

static void tree_drop(void *answer)
{
	tree_release(answer);
}

static bool tree_is_long(const struct ask *a)
{
	return true;
}

static const struct param_row params[] = {
	TREE_PARAMS("peak"),
	{ 0 },
};

const struct question question_tree = {
	.name = "tree",
	.path = "call_tree",
	.help = "the call tree of what matches",
	.params = params,
	.filters = true,
	.fleets = true,
	.is_long = tree_is_long,
	.size = sizeof(struct tree),
	.compute = tree_compute,
	.write_members = tree_json,
	.release = tree_drop,
};
