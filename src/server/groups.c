/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/allocation_groups, /groups: allocations put together. */
#include <stdlib.h>
#include <string.h>

#include "answer/words.h"
#include "base/xalloc.h"
#include "query/group.h"
#include "query/spark.h"
#include "server/request.h"

#define CACHED_GROUPS 2000 /* more are streamed */
#define SPARKS_MAX 1000	   /* groups with curves */
#define SPARK_MAX 200	   /* points */

static bool streams(struct request *r)
{
	return ask_count(&r->ask, "count") > CACHED_GROUPS;
}

struct writing {
	struct request *r;
	struct sparks sparks;
	uint32_t *curve_of;
	struct buf query; /* of graphs: the filters */
};

/* The filters of the question, for the address of a picture. */
static void keep_filters(struct writing *w)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	const struct params *p = &w->r->ask.params;

	buf_text(&w->query, "");
	for (size_t i = 0; i < p->count; i++) {
		if (p->rows[i].row || !*p->rows[i].value || !strcmp(p->rows[i].name, "backtraces"))
			continue;
		buf_printf(&w->query, "&%s=", p->rows[i].name);
		for (const char *c = p->rows[i].value; *c; c++) {
			if (strchr(plain, *c))
				buf_char(&w->query, *c);
			else
				buf_printf(&w->query, "%%%02X", (unsigned char)*c);
		}
	}
}

static void add_graphs(const struct answer *a, struct json *j, uint32_t stack, bool matched)
{
	struct writing *w = a->context;
	auto_free char *url = xasprintf("/data/%s/graph?backtraces=%u%s", w->r->ask.snapshot->id,
					stack, matched ? w->query.data : "");
	auto_free char *preview = xasprintf("%s&preview=true", url);

	json_text(j, "graph_preview_url", preview);
	json_text(j, "graph_url", url);
}

static void add_spark(const struct answer *a, struct json *j, const struct group *g)
{
	const struct writing *w = a->context;
	const struct sparks *s = &w->sparks;
	uint32_t curve = w->curve_of[g->id];

	json_array(j, "spark");
	for (uint32_t i = 0; i < s->points; i++)
		json_real(j, NULL, (double)s->values[(size_t)curve * s->points + i], 0);
	json_end_array(j);
}

static void draw(struct writing *w, const struct groups *g, const struct page *page,
		 uint32_t points)
{
	uint32_t nodes = g->view->model->tables.nodes.count + 1;

	w->curve_of = xmalloc(nodes * sizeof(*w->curve_of));
	memset(w->curve_of, 0xff, nodes * sizeof(*w->curve_of));
	for (uint32_t i = 0; i < page->count; i++)
		w->curve_of[g->rows[page->rows[i]].id] = i;
	w->sparks = (struct sparks){
		.view = g->view, .curve_of = w->curve_of, .curves = page->count, .points = points
	};
	sparks_draw(&w->sparks);
}

static int write_groups(struct request *r, struct sink *out, const struct groups *g,
			const struct page *page, const char *title)
{
	bool stacks = g->key->kind == GROUP_STACK;
	uint32_t points = stacks ? ask_count(&r->ask, "spark") : 0;
	struct writing w = { .r = r };
	struct answer a;
	struct json j;
	int error = 0;

	snapshot_answer(r->ask.snapshot, &a, g->view);
	a.context = &w;
	a.no_stacks = param_row_find(r->route->params, "stacks") && !ask_bool(&r->ask, "stacks");
	if (ask_bool(&r->ask, "strip_template_args"))
		a.shorten = words_strip_templates;
	if (ask_bool(&r->ask, "generate_graphs")) {
		keep_filters(&w);
		a.graph = add_graphs;
	}
	if (points) {
		draw(&w, g, page, points);
		a.more = add_spark;
	}
	request_json(&j, out);
	json_object(&j, NULL);
	json_array(&j, title);
	for (uint32_t i = 0; i < page->count && !error; i++) {
		answer_group(&a, &j, g, &g->rows[page->rows[i]]);
		error = sink_turn(out);
	}
	json_end_array(&j);
	json_number(&j, "total_count", g->count);
	json_end_object(&j);
	snapshot_answer_release(&a);
	sparks_release(&w.sparks);
	free(w.curve_of);
	buf_release(&w.query);
	return error;
}

static int answer(struct request *r, struct sink *out, const struct group_key *key,
		  const char *title)
{
	uint32_t count = ask_count(&r->ask, "count");
	const char *by = ask_text(&r->ask, "sort_by");
	struct group_sort sort;
	const struct view *v;
	struct groups *g;
	struct page page;
	int error;

	if (!group_sort_find(key, by, &sort))
		return ask_fail(&r->ask, 400, "sort_by", "groups by %s cannot be sorted by '%.60s'",
				key->name, by);
	if (ask_count(&r->ask, "spark") && count > SPARKS_MAX)
		return ask_fail(&r->ask, 400, "spark", "with count=%u at most", SPARKS_MAX);
	v = ask_view(&r->ask);
	if (!v)
		return -1;
	g = groups_new(v, key);
	page = groups_page(g, sort, ask_descending(&r->ask), ask_count(&r->ask, "skip"), count);
	error = write_groups(r, out, g, &page, title);
	free(page.rows);
	groups_free(g);
	return error;
}

static int answer_stacks(struct request *r, struct sink *out)
{
	return answer(r, out, group_key_find("stack"), "allocations");
}

static int answer_groups(struct request *r, struct sink *out)
{
	return answer(r, out, group_key_find(ask_text(&r->ask, "by")), "groups");
}

static const struct param_row stack_params[] = {
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

static const struct param_row params[] = {
	{ "by", PARAM_CHOICE, "function", "what makes a group",
	  .values = "stack|function|source|module|thread|call|size|size_class|lifetime" },
	PARAMS_PAGE("100"),
	{ "sort_by", PARAM_TEXT, "only_matched.size",
	  "only_matched., all. or self. and one of group_sorts" },
	PARAM_ORDER("dsc"),
	{ 0 },
};

const struct route routes_groups[] = {
	{ "/data/{id}/allocation_groups", METHOD_GET, "allocations by stack",
	  .params = stack_params, .filters = true, .streams = streams, .answer = answer_stacks },
	{ "/data/{id}/groups", METHOD_GET, "allocations by something else", .params = params,
	  .filters = true, .streams = streams, .answer = answer_groups },
	{ 0 },
};
