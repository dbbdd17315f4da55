/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question timeline_maps: what memory maps used over time. */
#include <errno.h>
#include <stdlib.h>

#include "answer/maps.h"

static int timeline_maps_compute(struct ask *a, void *answer)
{
	struct answer_timeline_maps *ret = answer;

	map_filter_init(&ret->only);
	/* What the program has, not what watching it takes. */
	ret->only.flags[MAP_FILTER_OWN] = -1;
	if (maps_choose(a, &ret->only, &ret->list))
		return -EINVAL;
	ret->count = map_series(ret->list, ask_count(a, "points"), &ret->points);
	return 0;
}

/* "xs" (milliseconds since 1970), and an array for each figure. */
static void timeline_maps_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_timeline_maps *shown = answer;
	const struct model *m = a->snapshot->model;
	const struct map_point *points = shown->points;
	uint64_t start = model_start_ns(m);

	JSON_EACH(j, "xs", i, shown->count)
		json_number(j, NULL, (start + model_ns(m, points[i].at)) / 1000000);
#define COLUMN(name)                                                                               \
	json_array(j, #name);                                                                      \
	for (size_t i = 0; i < shown->count; i++)                                                  \
		json_number(j, NULL, points[i].name);                                              \
	json_end_array(j);
	COLUMN(address_space)
	COLUMN(rss)
	COLUMN(anonymous)
	COLUMN(dirty)
	COLUMN(clean)
	COLUMN(swap)
	COLUMN(mapped)
#undef COLUMN
}

static void timeline_maps_drop(void *answer)
{
	struct answer_timeline_maps *t = answer;

	free(t->points);
	map_list_free(t->list);
}

static const struct param_row params[] = {
	{ "points", PARAM_COUNT, "10000", "at most", .max = 100000 },
	PARAMS_MAP,
	{ 0 },
};

const struct question question_timeline_maps = {
	.name = "timeline_maps",
	.help = "what memory maps used over time",
	.params = params,
	.filters = true,
	.prefetch = (const struct prefetch[]){ { 3, "" }, { 0 } },
	.size = sizeof(struct answer_timeline_maps),
	.compute = timeline_maps_compute,
	.write_members = timeline_maps_json,
	.release = timeline_maps_drop,
};
