/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question maps: memory maps, their parts, and what of them was used when. */
#include "answer/maps.h"

#include <errno.h>
#include <stdlib.h>

#include "answer/words.h"
#include "base/sink.h"
#include "query/answer.h"

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

	map_filter_init(&ret->only);
	if (maps_choose(a, &ret->only, &ret->list))
		return -EINVAL;
	ret->regions = ask_bool(a, "with_regions");
	ret->usage_history = ask_bool(a, "with_usage_history");
	ret->count =
		map_list_page(ret->list, map_sort_find(ask_text(a, "sort_by")), ask_descending(a),
			      ask_count(a, "skip"), ask_count(a, "count"), &ret->rows);
	return 0;
}

struct maps_writing {
	const struct answer_maps *maps;
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
	json_number(j, "inode", r->inode);
	json_number(j, "major", r->major);
	json_number(j, "minor", r->minor);
	json_text(j, "name", map_history_region_name(m, r));
	json_end_object(j);
}

static void write_usage(struct maps_writing *w, struct json *j, const struct map_usage *u)
{
	json_object(j, NULL);
	answer_moment(&w->written, j, "timestamp", u->at);
	json_number(j, "address_space", u->address_space);
	json_number(j, "anonymous", u->bytes.anonymous);
	json_number(j, "shared_clean", u->bytes.shared_clean);
	json_number(j, "shared_dirty", u->bytes.shared_dirty);
	json_number(j, "private_clean", u->bytes.private_clean);
	json_number(j, "private_dirty", u->bytes.private_dirty);
	json_number(j, "swap", u->bytes.swap);
	json_number(j, "rss", u->bytes.rss);
	json_end_object(j);
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
	write_source(w, j, row->call);
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
	json_null(j, "graph_preview_url");
	json_null(j, "graph_url");
	if (w->maps->regions) {
		JSON_EACH(j, "regions", i, row->region_count)
			write_region(w, j, &m->regions[row->first_region + i]);
	}
	if (w->maps->usage_history) {
		JSON_EACH(j, "usage_history", i, row->usage_count)
			write_usage(w, j, &m->usages[row->first_usage + i]);
	}
	json_end_object(j);
}

static int maps_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	struct maps_writing w = { .maps = answer };
	int error = 0;

	answer_init(&w.written, w.maps->list->view);
	w.written.no_stacks = !ask_bool(a, "stacks");
	if (ask_bool(a, "strip_template_args"))
		w.written.shorten = words_strip_templates;
	json_object(j, NULL);
	json_array(j, "maps");
	for (uint32_t i = 0; i < w.maps->count && !error; i++) {
		write_map(&w, j, w.maps->rows[i]);
		error = sink_turn(out);
	}
	json_end_array(j);
	json_number(j, "total_count", w.maps->list->view->count);
	json_end_object(j);
	answer_release(&w.written);
	return error;
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
	  .values = "timestamp|address|size|peak_rss", .option = "sort", .letter = 's' },
	PARAM_ORDER("asc"),
	{ "with_regions", PARAM_BOOL, "false", "the parts of each map, and what ended them",
	  .option = "regions" },
	{ "with_usage_history", PARAM_BOOL, "false", "what of each map was used when",
	  .option = "history" },
	{ "generate_graphs", PARAM_BOOL, "false", "no effect", .foreign = true },
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
	.write_json = maps_json,
	.release = maps_drop,
};
