/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/allocations, /raw_allocations, /backtraces, /backtrace/{backtrace_id}: single
 * allocations and stacks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/words.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/sort.h"
#include "server/request.h"

#define CACHED_ROWS 2000 /* more are streamed */

static bool streams(struct request *r)
{
	return ask_count(&r->ask, "count") > CACHED_ROWS;
}

struct writing {
	struct answer answer;
	struct json j;
	struct sink *out;
};

static void begin(struct request *r, struct writing *w, const struct view *v, struct sink *out)
{
	snapshot_answer(r->ask.snapshot, &w->answer, v);
	w->answer.no_stacks =
		param_row_find(r->route->params, "stacks") && !ask_bool(&r->ask, "stacks");
	if (ask_bool(&r->ask, "strip_template_args"))
		w->answer.shorten = words_strip_templates;
	w->out = out;
	request_json(&w->j, out);
}

/* In the order of time nothing has to be sorted, or held. */
static int write_in_order(struct writing *w, const struct view *v, uint32_t skip, uint32_t count)
{
	uint32_t first, all = v->model->allocations.count;
	int error = 0;

	if (!count || !view_rows(v, skip, 1, &first))
		return 0;
	VIEW_EACH(v, first, all - first, row)
	{
		answer_allocation(&w->answer, &w->j, row);
		error = sink_turn(w->out);
		if (error || !--count)
			break;
	}
	return error;
}

static int write_sorted(struct writing *w, const struct page *page)
{
	int error = 0;

	for (uint32_t i = 0; i < page->count && !error; i++) {
		answer_allocation(&w->answer, &w->j, page->rows[i]);
		error = sink_turn(w->out);
	}
	return error;
}

static int answer_allocations(struct request *r, struct sink *out)
{
	const struct sort_key *key = sort_key_find(ask_text(&r->ask, "sort_by"));
	bool descending = ask_descending(&r->ask);
	uint32_t skip = ask_count(&r->ask, "skip"), count = ask_count(&r->ask, "count");
	const struct view *v = ask_view(&r->ask);
	struct page page = { 0 };
	struct writing w;
	int error;

	if (!v)
		return -1;
	begin(r, &w, v, out);
	json_object(&w.j, NULL);
	json_array(&w.j, "allocations");
	if (key->kind == SORT_TIMESTAMP && !descending) {
		error = write_in_order(&w, v, skip, count);
	} else {
		page = sort_page(v, key, descending, skip, count);
		error = write_sorted(&w, &page);
		free(page.rows);
	}
	json_end_array(&w.j);
	json_number(&w.j, "total_count", v->count);
	json_number(&w.j, "total_size", v->bytes);
	json_end_object(&w.j);
	snapshot_answer_release(&w.answer);
	return error;
}

static int answer_raw(struct request *r, struct sink *out)
{
	const struct view *v = ask_view(&r->ask);
	const struct model *m = r->ask.snapshot->model;
	const struct nodes *nodes = &m->tables.nodes;
	uint32_t *path = NULL;
	size_t room = 0;
	struct json j;
	int error = 0;
	char text[17];

	if (!v)
		return -1;
	request_json(&j, out);
	json_array(&j, NULL);
	VIEW_EACH(v, 0, m->allocations.count, row)
	{
		size_t n = 0;

		for (uint32_t id = m->allocations.stack[row]; node_is_known(nodes, id);
		     id = nodes->parent[id]) {
			path = xgrow(path, n, &room, sizeof(*path));
			path[n++] = id;
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
		error = sink_turn(out);
		if (error)
			break;
	}
	json_end_array(&j);
	free(path);
	return error;
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
		uint32_t stack = m->allocations.stack[row];

		if (node_is_known(&m->tables.nodes, stack) && !call[stack]) {
			call[stack] = (uint8_t)(tags_call(m->allocations.tags[row]) + 1);
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
	struct writing w;
	int error = 0;

	if (!v)
		return -1;
	stacks = stacks_of(v, &count, &calls);
	skip = skip < count ? skip : count;
	end = count - skip < most ? count : skip + most;
	begin(r, &w, v, out);
	json_object(&w.j, NULL);
	json_array(&w.j, "backtraces");
	for (uint32_t i = skip; i < end && !error; i++) {
		answer_backtrace(&w.answer, &w.j, NULL, stacks[i], calls[stacks[i]] - 1u);
		error = sink_turn(out);
	}
	json_end_array(&w.j);
	json_array(&w.j, "ids");
	for (uint32_t i = skip; i < end && !error; i++) {
		json_number(&w.j, NULL, stacks[i]);
		error = sink_turn(out);
	}
	json_end_array(&w.j);
	json_number(&w.j, "total_count", count);
	json_end_object(&w.j);
	snapshot_answer_release(&w.answer);
	free(stacks);
	free(calls);
	return error;
}

static int answer_one_backtrace(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	const struct view *v = ask_view(&r->ask);
	char *end;
	unsigned long id = strtoul(r->args[1], &end, 10);
	struct writing w;

	if (!v)
		return -1;
	if (*end || r->args[1][0] == '-' || id >= m->tables.nodes.count ||
	    !node_is_known(&m->tables.nodes, (uint32_t)id))
		return ask_fail(&r->ask, 404, NULL, "there is no stack '%.40s'", r->args[1]);
	begin(r, &w, v, out);
	json_object(&w.j, NULL);
	json_number(&w.j, "id", id);
	answer_backtrace(&w.answer, &w.j, "frames", (uint32_t)id, words_call(m, (uint32_t)id));
	json_end_object(&w.j);
	snapshot_answer_release(&w.answer);
	return 0;
}

static const struct param_row params[] = {
	PARAMS_PAGE("all"),
	{ "sort_by", PARAM_CHOICE, "timestamp", "what orders",
	  .values = "timestamp|address|size|usable_size|lifetime|deallocated|chain_lifetime|"
		    "chain_length|thread" },
	PARAM_ORDER("asc"),
	{ "stacks", PARAM_BOOL, "true", "with frames" },
	PARAM_STRIP,
	{ 0 },
};

static const struct param_row backtraces_params[] = {
	PARAMS_PAGE("all"),
	PARAM_STRIP,
	{ 0 },
};

static const struct param_row backtrace_params[] = {
	PARAM_STRIP,
	{ 0 },
};

const struct route routes_allocations[] = {
	{ "/data/{id}/allocations", METHOD_GET, "single allocations", .params = params,
	  .filters = true, .streams = streams, .answer = answer_allocations },
	{ "/data/{id}/raw_allocations", METHOD_GET, "the addresses of each allocation's stack",
	  .filters = true, .way = ROUTE_STREAM, .answer = answer_raw },
	{ "/data/{id}/backtraces", METHOD_GET, "all stacks that allocated",
	  .params = backtraces_params, .filters = true, .streams = streams,
	  .answer = answer_backtraces },
	{ "/data/{id}/backtrace/{backtrace_id}", METHOD_GET, "one stack",
	  .params = backtrace_params, .answer = answer_one_backtrace },
	{ 0 },
};
