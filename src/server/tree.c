/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/tree: the call tree, nested; and /allocation_ascii_tree, the same as text. */
#include <inttypes.h>
#include <string.h>

#include "answer/words.h"
#include "base/human.h"
#include "query/tree.h"
#include "server/request.h"
#include "server/tree_json.h"

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

/* What is known of a node as a frame. */
static void write_frame(struct json *j, const struct tree *t, const struct tree_node *node)
{
	const struct tree_name *n = &t->names[node->name];

	json_object(j, "value");
	json_number(j, "address", n->address);
	words_address(j, "address_s", n->address);
	json_number(j, "count", node->total.count);
	if (n->module)
		json_text(j, "library", path_base(locations_module_path(t->locations, n->module)));
	if (n->function) {
		json_text(j, "function", locations_string(t->locations, n->function));
		if (n->raw_function)
			json_text(j, "raw_function",
				  locations_string(t->locations, n->raw_function));
	}
	if (n->file)
		json_text(j, "source", locations_string(t->locations, n->file));
	if (n->line)
		json_number(j, "line", n->line);
	json_bool(j, "is_inline", false);
	json_end_object(j);
}

static void write_node(struct json *j, const struct tree *t, const struct tree_node *n)
{
	const struct model *m = t->model;
	uint64_t start = model_start_ns(m);
	struct buf text = { 0 };

	json_number(j, "size", n->total.bytes);
	json_number(j, "count", n->total.count);
	json_number(j, "first", n->total.count ? (start + model_ns(m, n->first)) / 1000000000 : 0);
	json_number(j, "last", n->total.count ? (start + model_ns(m, n->last)) / 1000000000 : 0);
	json_number(j, "self_size", n->self.bytes);
	json_number(j, "self_count", n->self.count);
	tree_name_text(t, n->name, &text);
	json_text(j, "name", text.data);
	buf_release(&text);
	if (n->hidden)
		json_number(j, "hidden", n->hidden);
	if (t->names[n->name].kind == TREE_FRAME)
		write_frame(j, t, n);
}

static int write_tree(const struct tree *t, struct sink *out)
{
	uint32_t depth = 0;
	struct json j;
	int error = 0;

	request_json(&j, out);
	for (uint32_t i = 0; i < t->count && !error; i++) {
		const struct tree_node *n = &t->nodes[i];

		for (; i && depth >= n->depth; depth--) {
			json_end_array(&j);
			json_end_object(&j);
		}
		json_object(&j, NULL);
		write_node(&j, t, n);
		json_array(&j, "children");
		depth = n->depth;
		error = sink_turn(out);
	}
	for (uint32_t i = 0; i <= depth && !error; i++) {
		json_end_array(&j);
		json_end_object(&j);
	}
	return error;
}

static int answer(struct request *r, struct sink *out)
{
	struct tree_options o = { .bottom_up = !strcmp(ask_text(&r->ask, "direction"), "up"),
				  .by_count = ask_by_count(&r->ask),
				  .by_thread = ask_bool(&r->ask, "threads"),
				  .min_share = ask_real(&r->ask, "min_share") / 100,
				  .max_depth = ask_count(&r->ask, "depth"),
				  .max_children = ask_count(&r->ask, "children") };
	const struct view *v;
	struct tree t;
	int error;

	if (o.bottom_up)
		o.max_nodes = NODES_MAX;
	for (unsigned i = 0; i < TREE_KEYS; i++)
		if (!strcmp(ask_text(&r->ask, "by"), tree_keys[i]))
			o.key = (enum tree_key)i;
	if (ask_measuring(&r->ask, r->ask.snapshot->model, &o.measuring) ||
	    !(v = ask_view(&r->ask)))
		return -1;
	tree_init(&t, v, &o);
	error = write_tree(&t, out);
	tree_release(&t);
	return error;
}

static void write_line(struct buf *out, const struct tree *t, const struct tree_node *n)
{
	const struct tree_name *name = &t->names[n->name];
	struct human size, first, last;

	buf_printf(out, "%10s %10" PRIu64 " %10s %10s ", human_size(&size, n->total.bytes),
		   n->total.count,
		   human_duration(&first, n->total.count ? model_ns(t->model, n->first) : 0),
		   human_duration(&last, n->total.count ? model_ns(t->model, n->last) : 0));
	for (uint32_t i = 0; i < n->depth; i++)
		buf_text(out, i % 4 == 3 ? "| " : "  ");
	if (name->kind == TREE_FRAME && name->file && name->line) {
		buf_printf(out, "%s:%u", path_base(locations_string(t->locations, name->file)),
			   name->line);
		if (name->function)
			buf_printf(out, " [%s]", locations_string(t->locations, name->function));
	} else {
		tree_name_text(t, n->name, out);
	}
	buf_char(out, '\n');
}

static int answer_text(struct request *r, struct sink *out)
{
	struct tree_options o = { .key = TREE_BY_LINE,
				  .measuring = measuring_of(r->ask.snapshot->model,
							    MEASURE_ALLOCATED, 0) };
	const struct view *v = ask_view(&r->ask);
	struct tree t;
	int error = 0;

	if (!v)
		return -1;
	tree_init(&t, v, &o);
	buf_printf(&out->buf, "%10s %10s %10s %10s %s\n", "SIZE", "COUNT", "FIRST", "LAST",
		   "SOURCE");
	for (uint32_t i = 0; i < t.count && !error; i++) {
		write_line(&out->buf, &t, &t.nodes[i]);
		error = sink_turn(out);
	}
	tree_release(&t);
	return error;
}

static const struct param_row params[] = {
	PARAMS_MEASURE("allocated"),
	PARAM_WEIGHT,
	{ "direction", PARAM_CHOICE, "down",
	  "down: from where threads start; up: from the innermost functions", .values = "down|up" },
	{ "by", PARAM_CHOICE, "function", "what a node is", .values = "function|line|module" },
	{ "threads", PARAM_BOOL, "false", "the first level are threads" },
	{ "min_share", PARAM_REAL, "0", "percent of the whole; what is lighter is put together" },
	{ "depth", PARAM_COUNT, "0", "levels at most; 0: all" },
	{ "children", PARAM_COUNT, "0", "branches of a node at most; 0: all" },
	{ 0 },
};

const struct route routes_tree[] = {
	{ "/data/{id}/tree", METHOD_GET, "the call tree of what matches", .params = params,
	  .filters = true, .way = ROUTE_STREAM, .answer = answer },
	{ "/data/{id}/allocation_ascii_tree", METHOD_GET, "the call tree as text",
	  .type = "text/plain; charset=utf-8", .filters = true, .way = ROUTE_STREAM,
	  .answer = answer_text },
	{ 0 },
};
