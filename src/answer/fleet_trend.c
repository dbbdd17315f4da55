/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question fleet_trend: what a fleet held over time, and the heaviest parts of it. */
#include <errno.h>
#include <string.h>

#include "answer/fleet_asked.h"
#include "answer/fleet_groups.h"
#include "base/sink.h"

static int trend_compute(struct ask *a, void *answer)
{
	struct answer_fleet_trend *ret = answer;
	const char *label = ask_text(a, "label_name");
	struct err err = { .offset = ERR_NO_OFFSET };
	uint32_t count = ask_count(a, "count");
	int error;

	ret->by = ask_text(a, "by");
	if (!strcmp(ret->by, "all"))
		ret->by = NULL;
	if (ret->by && !strcmp(ret->by, "label") && !label)
		return ask_fail(a, 400, "label_name", "which label? label_name=zone");
	if (fleet_asked_range(a, &ret->range))
		return -EINVAL;
	error = fleet_trend_find(&ret->trend, &ret->range, ask_count(a, "points"), ret->by, label,
				 count, &err);
	return error ? fleet_asked_fail(a, error, &err) : 0;
}

static void write_curve(struct json *j, const struct fleet_trend *t, const struct fleet_curve *c)
{
#define COLUMN(field)                                                                              \
	json_array(j, #field);                                                                     \
	for (uint32_t i = 0; i < t->points; i++)                                                   \
		json_number(j, NULL, c->field[i]);                                                 \
	json_end_array(j);
	COLUMN(live_bytes)
	COLUMN(live_count)
	COLUMN(allocated_bytes)
	COLUMN(freed_bytes)
	COLUMN(recordings)
#undef COLUMN
}

static void trend_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_fleet_trend *r = answer;
	const struct fleet_trend *t = &r->trend;

	fleet_asked_json(j, &r->range);
	json_number(j, "width_s", t->width);
	JSON_EACH(j, "xs", i, t->points)
		json_number(j, NULL, t->begin + (uint64_t)i * t->width);
	if (t->count) {
		json_object(j, "all");
		write_curve(j, t, &t->curves[0]);
		json_end_object(j);
	}
	JSON_PAGE(j, "curves", i, 1, SIZE_MAX, t->count) {
		json_text(j, "name", t->curves[i].name);
		write_curve(j, t, &t->curves[i]);
		sink_turn(out);
	}
}

static void trend_drop(void *answer)
{
	struct answer_fleet_trend *t = answer;

	fleet_trend_release(&t->trend);
	fleet_range_release(&t->range);
}

static const struct param_row params[] = {
	{ "by", PARAM_CHOICE, "all", "what the heaviest have curves of their own of",
	  .values = "all|" FLEET_KEYS, .letter = 'b' },
	{ "label_name", PARAM_TEXT, NULL, "with by=label: which one" },
	PARAMS_SINCE,
	{ "points", PARAM_COUNT, "300", "moments at most", .max = FLEET_POINTS_MAX },
	{ "count", PARAM_COUNT, "8", "of the heaviest", .max = 50, .letter = 'n' },
	{ 0 },
};

const struct question question_fleet_trend = {
	.name = "fleet_trend",
	.path = "trend",
	.kind = "fleet",
	.help = "what a fleet held over time",
	.params = params,
	.filters = true,
	.fleets = true,
	.size = sizeof(struct answer_fleet_trend),
	.compute = trend_compute,
	.write_members = trend_json,
	.release = trend_drop,
};
