/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/maps and /timeline_maps: memory maps, and what they used over time. */
#include <stdlib.h>

#include "answer/words.h"
#include "query/map_answer.h"
#include "server/request.h"

#define CACHED_ROWS 2000 /* more are streamed */

static bool streams(struct request *r)
{
	return ask_count(&r->ask, "count") > CACHED_ROWS;
}

/* The maps that were asked for; NULL after ask_fail(&->ask). */
static struct map_list *list_of(struct request *r, bool own)
{
	struct map_filter only;
	struct map_list *list;
	struct err err = { .offset = ERR_NO_OFFSET };

	map_filter_init(&only);
	if (!own)
		only.flags[MAP_FILTER_OWN] = -1;
	for (const struct map_filter_row *row = map_filter_rows; row->name; row++) {
		const char *value = ask_text(&r->ask, row->name);

		if (value && *value && map_filter_set(&only, row->name, value, &err)) {
			ask_fail_err(&r->ask, row->name, &err);
			return NULL;
		}
	}
	if (ask_has(&r->ask, "bytehound") &&
	    map_filter_set(&only, "bytehound", ask_text(&r->ask, "bytehound"), &err)) {
		ask_fail_err(&r->ask, "bytehound", &err);
		return NULL;
	}
	list = map_list_new(r->ask.snapshot->model, r->ask.snapshot->locations, r->ask.filter,
			    &only, &err);
	if (!list)
		ask_fail(&r->ask, 400, "filter", "%s", err.text);
	return list;
}

static int answer_maps(struct request *r, struct sink *out)
{
	struct map_list *list = list_of(r, true);
	struct map_answer a;
	uint32_t *rows, n;
	struct json j;
	int error = 0;

	if (!list)
		return -1;
	map_answer_init(&a, list);
	a.regions = ask_bool(&r->ask, "with_regions");
	a.usage_history = ask_bool(&r->ask, "with_usage_history");
	a.answer.no_stacks = !ask_bool(&r->ask, "stacks");
	if (ask_bool(&r->ask, "strip_template_args"))
		a.answer.shorten = words_strip_templates;
	n = map_list_page(list, map_sort_find(ask_text(&r->ask, "sort_by")),
			  ask_descending(&r->ask), ask_count(&r->ask, "skip"),
			  ask_count(&r->ask, "count"), &rows);
	request_json(&j, out);
	json_object(&j, NULL);
	json_array(&j, "maps");
	for (uint32_t i = 0; i < n && !error; i++) {
		map_answer_map(&a, &j, rows[i]);
		error = sink_turn(out);
	}
	json_end_array(&j);
	json_number(&j, "total_count", list->view->count);
	json_end_object(&j);
	free(rows);
	map_answer_release(&a);
	map_list_free(list);
	return error;
}

static int answer_timeline(struct request *r, struct sink *out)
{
	struct map_list *list = list_of(r, false);
	struct map_answer a;
	struct json j;

	if (!list)
		return -1;
	map_answer_init(&a, list);
	request_json(&j, out);
	map_answer_timeline(&a, &j, ask_count(&r->ask, "points"));
	map_answer_release(&a);
	map_list_free(list);
	return 0;
}

#define FLAG(name, help)                                                                           \
	{                                                                                          \
		name, PARAM_CHOICE, NULL, help, .values = "only_true|only_false|yes|no"            \
	}
/* What only maps can be asked for. */
#define PARAMS_MAP                                                                                 \
	{ "id", PARAM_NUMBER, NULL, "only the map of this number" },                               \
		{ "peak_rss_min", PARAM_TEXT, NULL, "so much of it, or more, was resident" },      \
		{ "peak_rss_max", PARAM_TEXT, NULL, "never more than this was" },                  \
		FLAG("readable", "may it be read?"), FLAG("writable", "may it be written to?"),    \
		FLAG("executable", "may it be executed?"),                                         \
		FLAG("shared", "is it shared with others?"),                                       \
		FLAG("jemalloc", "did jemalloc map it?"),                                          \
		FLAG("memoir", "is it the recorder's own?"), FLAG("bytehound", "the same")

static const struct param_row map_params[] = {
	PARAMS_PAGE("all"),
	{ "sort_by", PARAM_CHOICE, "timestamp", "what orders them",
	  .values = "timestamp|address|size|peak_rss" },
	PARAM_ORDER("asc"),
	{ "with_regions", PARAM_BOOL, "false", "the parts of each map, and what ended them" },
	{ "with_usage_history", PARAM_BOOL, "false", "what of each map was used when" },
	{ "generate_graphs", PARAM_BOOL, "false", "no effect" },
	{ "stacks", PARAM_BOOL, "true", "frames too" },
	PARAM_STRIP,
	PARAMS_MAP,
	{ 0 },
};

static const struct param_row timeline_params[] = {
	{ "points", PARAM_COUNT, "10000", "at most", .max = 100000 },
	PARAMS_MAP,
	{ 0 },
};

const struct route routes_maps[] = {
	{ "/data/{id}/maps", METHOD_GET, "memory maps: who made them, how much was resident",
	  .params = map_params, .filters = true, .streams = streams, .answer = answer_maps },
	{ "/data/{id}/timeline_maps", METHOD_GET, "what memory maps used over time",
	  .params = timeline_params, .filters = true, .answer = answer_timeline },
	{ 0 },
};
