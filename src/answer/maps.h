/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the questions maps and timeline_maps answer: memory maps one by one, and what all of them
 * together used over time.  Any thread. */
#include "answer/question.h"
#include "query/map_series.h"

struct answer_maps {
	struct map_filter only;
	struct map_list *list;
	uint32_t *rows, count;		     /* numbers of maps: a page of the list */
	bool regions, usage_history, graphs; /* to be shown too */
	uint32_t spark;			     /* figures of what was resident; 0: none */
	uint64_t total_rss, total_peak_rss;
};

struct answer_timeline_maps {
	struct map_filter only;
	struct map_list *list;
	struct map_point *points;
	size_t count;
};

extern const struct question question_maps, question_timeline_maps;

/* The maps that an ask's filters and the rows of PARAMS_MAP choose: 0, or -EINVAL after ask_fail().
 * `only` must outlive the list. */
int maps_choose(struct ask *a, struct map_filter *only, struct map_list **ret_list);

#define PARAM_MAP_FLAG(name, help, ...)                                                            \
	{                                                                                          \
		name, PARAM_CHOICE, NULL, help,                                                    \
			.values = "only_true|only_false|yes|no" __VA_ARGS__                        \
	}
/* What only maps can be asked for. */
#define PARAMS_MAP                                                                                 \
	{ "id", PARAM_NUMBER, NULL, "only the map of this number" },                               \
		{ "name", PARAM_TEXT, NULL, "this is a part of its name" },                        \
		{ "holds", PARAM_TEXT, NULL, "this address is in it" },                            \
		{ "peak_rss_min", PARAM_TEXT, NULL, "so much of it, or more, was resident" },      \
		{ "peak_rss_max", PARAM_TEXT, NULL, "never more than this was" },                  \
		PARAM_MAP_FLAG("readable", "may it be read?"),                                     \
		PARAM_MAP_FLAG("writable", "may it be written to?"),                               \
		PARAM_MAP_FLAG("executable", "may it be executed?"),                               \
		PARAM_MAP_FLAG("shared", "is it shared with others?"),                             \
		PARAM_MAP_FLAG("jemalloc", "did jemalloc map it?"),                                \
		PARAM_MAP_FLAG("memoir", "is it the recorder's own?"),                             \
		PARAM_MAP_FLAG("bytehound", "the same", , .foreign = true)
