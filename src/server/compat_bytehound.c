/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Bytehound's scripts and pages ask by other paths, or expect under other names: the questions
 * of src/answer, renamed on the way out.  Paths that both have in the same shape (allocations,
 * maps, …) are the questions' own.  Any thread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/groups.h"
#include "answer/timeline.h"
#include "answer/tree.h"
#include "answer/words.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/answer.h"
#include "server/request.h"

/* The filters of a request, for the address of a picture. */
static void add_filters(struct buf *out, const struct params *p)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (size_t i = 0; i < p->count; i++) {
		if (p->rows[i].row || !*p->rows[i].value || !strcmp(p->rows[i].name, "backtraces"))
			continue;
		buf_printf(out, "&%s=", p->rows[i].name);
		for (const char *c = p->rows[i].value; *c; c++) {
			if (strchr(plain, *c))
				buf_char(out, *c);
			else
				buf_printf(out, "%%%02X", (unsigned char)*c);
		}
	}
}

/* See struct answer: where the curve of a stack, or of what of it matches, is to be had. */
static void add_graph_urls(const struct answer *a, struct json *j, uint32_t stack, bool matched)
{
	const struct ask *ask = a->context;
	auto_buf struct buf url = { 0 };

	if (!ask_bool(ask, "generate_graphs")) {
		json_null(j, "graph_preview_url");
		json_null(j, "graph_url");
		return;
	}
	buf_printf(&url, "/data/%s/graph?backtraces=%u", ask->snapshot->id, stack);
	if (matched)
		add_filters(&url, &ask->params);
	buf_text(&url, "&preview=true");
	json_text(j, "graph_preview_url", url.data);
	url.data[url.size - strlen("&preview=true")] = 0;
	json_text(j, "graph_url", url.data);
}

static int answer_allocation_groups(struct request *r, struct sink *out)
{
	struct answer_groups g = { 0 };
	struct answer written;
	struct json j = { .out = &out->buf, .compact = true };
	int error = groups_by(&r->ask, group_key_find("stack"), &g);

	if (!error) {
		snapshot_answer(r->ask.snapshot, &written, g.groups->view);
		written.graph = add_graph_urls;
		written.context = &r->ask;
		json_object(&j, NULL);
		groups_write(&r->ask, &g, &written, "allocations", &j, out);
		json_end_object(&j);
		snapshot_answer_release(&written);
	}
	groups_drop(&g);
	return error;
}

static bool rows_are_many(struct request *r)
{
	return question_groups.is_long(&r->ask);
}

static void begin_stacks(struct request *r, struct answer *written, const struct view *v)
{
	snapshot_answer(r->ask.snapshot, written, v);
	if (ask_bool(&r->ask, "strip_template_args"))
		written->shorten = words_strip_templates;
}

static int answer_raw(struct request *r, struct sink *out)
{
	const struct view *v = ask_view(&r->ask);
	const struct model *m = r->ask.snapshot->model;
	const struct nodes *nodes = &m->tables.nodes;
	uint32_t *path = NULL;
	size_t room = 0;
	struct json j = { .out = &out->buf, .compact = true };
	char text[17];

	if (!v)
		return -1;
	json_array(&j, NULL);
	VIEW_EACH(v, 0, m->allocations.count, row)
	{
		size_t n = 0;

		for (uint32_t id = columns_stack(&m->allocations, row); node_is_known(nodes, id);
		     id = nodes->parent[id]) {
			*xpush(path, n, room) = id;
		}
		json_object(&j, NULL);
		json_array(&j, "backtrace");
		while (n--) {
			snprintf(text, sizeof(text), "%016" PRIX64,
				 (uint64_t)(nodes->frame[path[n]] & NODE_ADDRESS_MASK));
			json_text(&j, NULL, text);
		}
		json_end_array(&j);
		json_end_object(&j);
		if (sink_turn(out))
			break;
	}
	json_end_array(&j);
	free(path);
	return out->error;
}

/* The stacks that a view's rows have, by number, each with the call of its first row. */
static uint32_t *stacks_of(const struct view *v, uint32_t *ret_count, uint8_t **ret_calls)
{
	const struct model *m = v->model;
	uint32_t nodes = m->tables.nodes.count, n = 0;
	uint8_t *call = xcalloc((size_t)nodes + 1, 1); /* plus one; 0: not met */
	uint32_t *stacks;

	VIEW_EACH(v, 0, m->allocations.count, row)
	{
		uint32_t stack = columns_stack(&m->allocations, row);

		if (node_is_known(&m->tables.nodes, stack) && !call[stack]) {
			call[stack] = (uint8_t)(tags_call(columns_tags(&m->allocations, row)) + 1);
			n++;
		}
	}
	stacks = xmalloc(((size_t)n + 1) * sizeof(*stacks));
	n = 0;
	for (uint32_t i = 0; i < nodes; i++)
		if (call[i])
			stacks[n++] = i;
	*ret_count = n;
	*ret_calls = call;
	return stacks;
}

static int answer_backtraces(struct request *r, struct sink *out)
{
	const struct view *v = ask_view(&r->ask);
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count"), count, end;
	uint32_t *stacks;
	uint8_t *calls;
	struct answer written;
	struct json j = { .out = &out->buf, .compact = true };

	if (!v)
		return -1;
	stacks = stacks_of(v, &count, &calls);
	skip = skip < count ? skip : count;
	end = count - skip < most ? count : skip + most;
	begin_stacks(r, &written, v);
	json_object(&j, NULL);
	json_array(&j, "backtraces");
	for (uint32_t i = skip; i < end && !sink_turn(out); i++)
		answer_backtrace(&written, &j, NULL, stacks[i], calls[stacks[i]] - 1u);
	json_end_array(&j);
	JSON_EACH(&j, "ids", i, end - skip) {
		json_number(&j, NULL, stacks[skip + i]);
		sink_turn(out);
	}
	json_number(&j, "total_count", count);
	json_end_object(&j);
	snapshot_answer_release(&written);
	free(stacks);
	free(calls);
	return out->error;
}

static int answer_one_backtrace(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	const struct view *v = ask_view(&r->ask);
	char *end;
	unsigned long id = strtoul(r->args[1], &end, 10);
	struct answer written;
	struct json j = { .out = &out->buf, .compact = true };

	if (!v)
		return -1;
	if (*end || r->args[1][0] == '-' || id >= m->tables.nodes.count ||
	    !node_is_known(&m->tables.nodes, (uint32_t)id))
		return ask_fail(&r->ask, 404, NULL, "there is no stack '%.40s'", r->args[1]);
	begin_stacks(r, &written, v);
	json_object(&j, NULL);
	json_number(&j, "id", id);
	answer_backtrace(&written, &j, "frames", (uint32_t)id, words_call(m, (uint32_t)id));
	json_end_object(&j);
	snapshot_answer_release(&written);
	return 0;
}

/* What is known of a node as a frame. */
static void write_tree_frame(struct json *j, const struct tree *t, const struct tree_node *node)
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

static void write_tree_node(struct json *j, const struct tree *t, const struct tree_node *n)
{
	const struct model *m = t->model;
	uint64_t start = model_start_ns(m);
	auto_buf struct buf text = { 0 };

	json_number(j, "size", n->total.bytes);
	json_number(j, "count", n->total.count);
	json_number(j, "first", n->total.count ? (start + model_ns(m, n->first)) / 1000000000 : 0);
	json_number(j, "last", n->total.count ? (start + model_ns(m, n->last)) / 1000000000 : 0);
	json_number(j, "self_size", n->self.bytes);
	json_number(j, "self_count", n->self.count);
	tree_name_text(t, n->name, &text);
	json_text(j, "name", text.data);
	if (n->hidden)
		json_number(j, "hidden", n->hidden);
	if (t->names[n->name].kind == TREE_FRAME)
		write_tree_frame(j, t, n);
}

static int answer_tree(struct request *r, struct sink *out)
{
	auto_release(tree_release) struct tree t = { 0 };
	struct json j = { .out = &out->buf, .compact = true };
	int error = tree_compute(&r->ask, &t);

	return error ? error : tree_write_nodes(&t, NULL, &j, out, write_tree_node);
}

static void write_tree_line(struct buf *out, const struct tree *t, const struct tree_node *n)
{
	const struct tree_name *name = &t->names[n->name];

	buf_printf(out, "%10s %10" PRIu64 " %10s %10s ", size_text(n->total.bytes), n->total.count,
		   duration_text(n->total.count ? model_ns(t->model, n->first) : 0),
		   duration_text(n->total.count ? model_ns(t->model, n->last) : 0));
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

static int answer_ascii_tree(struct request *r, struct sink *out)
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
		write_tree_line(&out->buf, &t, &t.nodes[i]);
		error = sink_turn(out);
	}
	tree_release(&t);
	return error;
}

static int answer_timeline_leaked(struct request *r, struct sink *out)
{
	if (!r->ask.filter)
		r->ask.filter = filter_new();
	filter_parse(r->ask.filter, "leaked", NULL);
	return question_answer(&question_timeline, &r->ask, out);
}

static const struct param_row group_params[] = {
	PARAMS_PAGE("all"),
	{ "sort_by", PARAM_TEXT, "only_matched.min_timestamp",
	  "only_matched. or all. and one of group_sorts" },
	PARAM_ORDER("asc"),
	{ "generate_graphs", PARAM_BOOL, "false", "with addresses of graphs" },
	{ "spark", PARAM_COUNT, "0", "figures of each group's bytes alive over the run",
	  .max = SPARK_MAX },
	{ "stacks", PARAM_BOOL, "true", "with frames" },
	PARAM_STRIP,
	{ 0 },
};

static const struct param_row backtraces_params[] = {
	PARAMS_PAGE("all"),
	PARAM_STRIP,
	{ 0 },
};

static const struct param_row tree_params[] = {
	TREE_PARAMS("allocated"),
	{ 0 },
};

static const struct param_row backtrace_params[] = {
	PARAM_STRIP,
	{ 0 },
};

const struct route routes_compat_bytehound[] = {
	{ "/data/{id}/allocation_groups", METHOD_GET, "allocations by stack",
	  .params = group_params, .filters = true, .streams = rows_are_many,
	  .answer = answer_allocation_groups },
	{ "/data/{id}/timeline_leaked", METHOD_GET, "the timeline of what is never freed",
	  .params = timeline_params, .filters = true, .answer = answer_timeline_leaked },
	{ "/data/{id}/tree", METHOD_GET, "the call tree of what matches, as Bytehound has it",
	  .params = tree_params, .filters = true, .way = ROUTE_STREAM, .answer = answer_tree },
	{ "/data/{id}/allocation_ascii_tree", METHOD_GET, "the call tree as text",
	  .type = "text/plain; charset=utf-8", .filters = true, .way = ROUTE_STREAM,
	  .answer = answer_ascii_tree },
	{ "/data/{id}/raw_allocations", METHOD_GET, "the addresses of each allocation's stack",
	  .filters = true, .way = ROUTE_STREAM, .answer = answer_raw },
	{ "/data/{id}/backtraces", METHOD_GET, "all stacks that allocated",
	  .params = backtraces_params, .filters = true, .streams = rows_are_many,
	  .answer = answer_backtraces },
	{ "/data/{id}/backtrace/{backtrace_id}", METHOD_GET, "one stack",
	  .params = backtrace_params, .answer = answer_one_backtrace },
	{ 0 },
};
