/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Bytehound's scripts and pages ask by other paths, or expect under other names: the questions
 * of src/answer, renamed on the way out.  Paths that both have in the same shape (allocations,
 * maps, …) are the questions' own.  Any thread. */
#include <string.h>

#include "answer/groups.h"
#include "base/xalloc.h"
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
	struct buf url = { 0 };

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
	buf_release(&url);
}

static int answer_allocation_groups(struct request *r, struct sink *out)
{
	struct answer_groups g = { 0 };
	struct answer written;
	struct json j;
	int error = groups_by(&r->ask, group_key_find("stack"), &g);

	if (!error) {
		snapshot_answer(r->ask.snapshot, &written, g.groups->view);
		written.graph = add_graph_urls;
		written.context = &r->ask;
		request_json(&j, out);
		error = groups_write(&r->ask, &g, &written, "allocations", &j, out);
		snapshot_answer_release(&written);
	}
	groups_drop(&g);
	return error;
}

static bool groups_are_many(struct request *r)
{
	return question_groups.is_long(&r->ask);
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

const struct route routes_compat_bytehound[] = {
	{ "/data/{id}/allocation_groups", METHOD_GET, "allocations by stack",
	  .params = group_params, .filters = true, .streams = groups_are_many,
	  .answer = answer_allocation_groups },
	{ 0 },
};
