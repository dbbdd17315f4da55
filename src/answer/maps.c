/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question maps: memory maps, their parts, and what of them was used when. */
#include "answer/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/words.h"
#include "base/buf_text.h"
#include "base/map.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/measure.h"
#include "query/series.h"
#include "query/spark.h"

#define CACHED_ROWS 2000 /* more are not kept */

static bool maps_are_many(const struct ask *a)
{
	return ask_count(a, "count") > CACHED_ROWS;
}

int maps_choose(struct ask *a, struct map_filter *only, struct map_list **ret_list)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	for (const struct param_row *row = a->rows; row->name; row++) {
		const char *value = ask_text(a, row->name);

		/* Rows that are no filters of maps have other names. */
		if (value && *value && map_filter_set(only, row->name, value, &err) == -EINVAL)
			return ask_fail_err(a, row->name, &err);
	}
	*ret_list = map_list_new(a->snapshot->model, a->snapshot->locations, a->filter, only, &err);
	return *ret_list ? 0 : ask_fail(a, 400, "filter", "%s", err.text);
}

static int maps_compute(struct ask *a, void *answer)
{
	struct answer_maps *ret = answer;
	uint64_t ns;

	map_filter_init(&ret->only);
	if (maps_choose(a, &ret->only, &ret->list))
		return -EINVAL;
	ret->regions = ask_bool(a, "with_regions");
	ret->usage_history = ask_bool(a, "with_usage_history");
	ret->graphs = ask_bool(a, "generate_graphs");
	ret->spark = ask_count(a, "spark");
	if (ask_time(a, "at", a->snapshot->model, &ns))
		ret->list->at = measure_stamp(a->snapshot->model, ns);
	for (uint32_t i = 0; i < ret->list->maps->count; i++)
		if (view_has(ret->list->view, i)) {
			ret->total_rss += map_list_rss(ret->list, i);
			ret->total_peak_rss += ret->list->maps->rows[i].peak_rss;
		}
	ret->count =
		map_list_page(ret->list, map_sort_find(ask_text(a, "sort_by")), ask_descending(a),
			      ask_count(a, "skip"), ask_count(a, "count"), &ret->rows);
	return 0;
}

struct maps_writing {
	const struct answer_maps *maps;
	const char *id;	       /* the recording's */
	struct answer written; /* of the list's own view */
};

static void write_source(struct maps_writing *w, struct json *j, uint32_t number)
{
	const struct model *m = w->maps->list->shadow;
	const struct map_call *call;

	if (number == NO_CALL)
		return;
	call = &w->maps->list->maps->calls.rows[number];
	json_object(j, "source");
	answer_moment(&w->written, j, "timestamp", call->at);
	json_number(j, "thread",
		    call->thread < m->tables.threads.count
			    ? m->tables.threads.rows[call->thread].tid
			    : 0);
	json_text(j, "call", locations_call(w->maps->list->view->locations, call->call));
	json_number(j, "backtrace_id", answer_stack(m, call->stack));
	answer_put_stack(&w->written, j, "backtrace", call->stack, call->call);
	json_end_object(j);
}

static void write_permissions(struct json *j, unsigned flags)
{
	json_bool(j, "is_readable", flags & MAP_CAN_READ);
	json_bool(j, "is_writable", flags & MAP_CAN_WRITE);
	json_bool(j, "is_executable", flags & MAP_CAN_EXECUTE);
	json_bool(j, "is_shared", flags & MAP_IS_SHARED);
}

static void write_region(struct maps_writing *w, struct json *j, const struct map_region *r)
{
	const struct map_history *m = w->maps->list->maps;

	json_object(j, NULL);
	answer_address(j, r->address);
	answer_moment(&w->written, j, "timestamp", r->begun);
	json_number(j, "size", r->length);
	if (r->ended != NEVER) {
		json_object(j, "deallocation");
		answer_moment(&w->written, j, "timestamp", r->ended);
		JSON_ROWS(j, "sources", i, r->source_count) {
			const struct map_source *s = &m->sources[r->first_source + i];

			answer_address(j, s->address);
			json_number(j, "length", s->length);
			write_source(w, j, s->call);
		}
		json_end_object(j);
	}
	write_permissions(j, r->flags);
	json_number(j, "file_offset", r->offset);
	JSON_MEMBERS(j, r, inode, major, minor);
	json_text(j, "name", map_history_region_name(m, r));
	json_end_object(j);
}

static void write_usage(struct maps_writing *w, struct json *j, const struct map_usage *u)
{
	json_object(j, NULL);
	answer_moment(&w->written, j, "timestamp", u->at);
	json_number(j, "address_space", u->address_space);
	JSON_MEMBERS(j, &u->bytes, anonymous, shared_clean, shared_dirty, private_clean,
		     private_dirty, swap, rss);
	json_end_object(j);
}

struct growth {
	uint64_t bytes, calls;
	uint32_t call; /* the first */
};

ORDER(growth_order, struct growth, FALLING(bytes) ?: RISING(call))

/* The heap grows by many calls: what each stack has added to it. */
static void write_growth(struct maps_writing *w, struct json *j, const struct map_row *row)
{
	const struct map_history *m = w->maps->list->maps;
	auto_release(map_release) struct map place = { 0 };
	auto_free struct growth *sums = NULL;
	size_t count = 0, room = 0;

	for (uint32_t i = 0; (i = map_history_growth(m, row, i)) != NO_CALL; i++) {
		const struct map_call *c = &m->calls.rows[m->growths[i]];
		uint64_t at;

		if (map_number(&place, c->stack, &at))
			*xpush(sums, count, room) = (struct growth){ .call = m->growths[i] };
		sums[at].bytes += c->length;
		sums[at].calls++;
	}
	if (!count)
		return;
	SORT(sums, count, growth_order);
	JSON_EACH(j, "grown_by", i, count) {
		const struct map_call *c = &m->calls.rows[sums[i].call];

		json_object(j, NULL);
		json_number(j, "bytes", sums[i].bytes);
		json_number(j, "calls", sums[i].calls);
		json_number(j, "backtrace_id", answer_stack(w->maps->list->shadow, c->stack));
		answer_put_stack(&w->written, j, "backtrace", c->stack, c->call);
		json_end_object(j);
	}
}

/* What of it was resident, at equal steps of the run. */
static void write_spark(struct maps_writing *w, struct json *j, const struct map_row *row)
{
	const struct map_history *m = w->maps->list->maps;
	uint64_t from, to;

	series_whole(w->maps->list->shadow, &from, &to);
	JSON_EACH(j, "spark", i, w->maps->spark) {
		uint64_t at = from + (uint64_t)((double)(to - from) * (i + 1) / w->maps->spark);
		const struct map_usage *u = map_history_usage(m, row, at);

		json_number(j, NULL, u ? u->bytes.rss : 0);
	}
}

/* Where pictures of its curve are to be had. */
static void write_graphs(struct maps_writing *w, struct json *j, uint32_t map)
{
	auto_buf struct buf url = { 0 };

	if (!w->maps->graphs) {
		json_null(j, "graph_preview_url");
		json_null(j, "graph_url");
		return;
	}
	buf_printf(&url, "/data/%s/map_graph?map=%u&preview=true", w->id, map);
	json_text(j, "graph_preview_url", url.data);
	url.data[url.size - strlen("&preview=true")] = 0;
	json_text(j, "graph_url", url.data);
}

static void write_map(struct maps_writing *w, struct json *j, uint32_t map)
{
	const struct map_history *m = w->maps->list->maps;
	const struct map_row *row = &m->rows[map];

	json_object(j, NULL);
	json_number(j, "id", map);
	answer_address(j, row->address);
	answer_moment(&w->written, j, "timestamp", row->begun);
	json_number(j, "size", row->size);
	write_source(w, j, map_history_maker(m, row));
	if (row->ended != NEVER) {
		json_object(j, "deallocation");
		answer_moment(&w->written, j, "timestamp", row->ended);
		write_source(w, j, row->end_call);
		json_end_object(j);
	}
	write_permissions(j, row->flags);
	json_bool(j, "is_own", row->flags & MAP_IS_OWN);
	json_text(j, "name", map_history_name(m, row));
	json_number(j, "peak_rss", row->peak_rss);
	json_number(j, "rss", map_list_rss(w->maps->list, map));
	write_graphs(w, j, map);
	if (w->maps->spark)
		write_spark(w, j, row);
	if (w->maps->regions) {
		write_growth(w, j, row);
		JSON_EACH(j, "regions", i, row->region_count)
			write_region(w, j, &m->regions[row->first_region + i]);
	}
	if (w->maps->usage_history) {
		JSON_EACH(j, "usage_history", i, row->usage_count)
			write_usage(w, j, &m->usages[row->first_usage + i]);
	}
	json_end_object(j);
}

static void maps_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	struct maps_writing w = { .maps = answer, .id = a->snapshot->id };

	answer_init(&w.written, w.maps->list->view);
	w.written.no_stacks = !ask_bool(a, "stacks");
	if (ask_bool(a, "strip_template_args"))
		w.written.shorten = words_strip_templates;
	json_array(j, "maps");
	for (uint32_t i = 0; i < w.maps->count && !sink_turn(out); i++)
		write_map(&w, j, w.maps->rows[i]);
	json_end_array(j);
	json_number(j, "total_count", w.maps->list->view->count);
	json_number(j, "total_size", w.maps->list->view->bytes);
	JSON_MEMBERS(j, w.maps, total_rss, total_peak_rss);
	answer_release(&w.written);
}

static void maps_drop(void *answer)
{
	struct answer_maps *m = answer;

	free(m->rows);
	map_list_free(m->list);
}

static const struct param_row params[] = {
	PARAMS_PAGE("all"),
	{ "sort_by", PARAM_CHOICE, "timestamp", "what orders them",
	  .values = "timestamp|address|size|peak_rss|rss|lifetime|thread|name", .option = "sort",
	  .letter = 's' },
	PARAM_ORDER("asc"),
	{ "with_regions", PARAM_BOOL, "false", "the parts of each map, and what ended them",
	  .option = "regions" },
	{ "with_usage_history", PARAM_BOOL, "false", "what of each map was used when",
	  .option = "history" },
	{ "at", PARAM_TIME, NULL, "the moment of rss; the end if it is not given" },
	{ "generate_graphs", PARAM_BOOL, "false", "with addresses of pictures of their curves",
	  .foreign = true },
	{ "spark", PARAM_COUNT, "0", "figures of what of each was resident over the run",
	  .max = SPARK_MAX },
	{ "stacks", PARAM_BOOL, "true", "with frames" },
	PARAM_STRIP,
	PARAMS_MAP,
	{ 0 },
};

const struct question question_maps = {
	.name = "maps",
	.help = "memory maps: who made them, how much was resident",
	.params = params,
	.filters = true,
	.is_long = maps_are_many,
	.size = sizeof(struct answer_maps),
	.compute = maps_compute,
	.write_members = maps_json,
	.release = maps_drop,
};
