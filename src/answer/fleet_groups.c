/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question fleet_groups: a fleet's services, hosts, builds, labels or days, with what they
 * hold and how it grows. */
#include "answer/fleet_groups.h"

#include <errno.h>
#include <string.h>

#include "answer/fleet_asked.h"
#include "base/sink.h"

#define SPARKS_MAX 1000 /* rows with curves */

static int groups_compute(struct ask *a, void *answer)
{
	struct answer_fleet_groups *ret = answer;
	struct fleet_grouping how = {
		.by = ask_text(a, "by"),
		.label = ask_text(a, "label_name"),
		.search = ask_text(a, "search"),
		.sort = ask_text(a, "sort_by"),
		.descending = ask_descending(a),
		.skip = ask_count(a, "skip"),
		.count = ask_count(a, "count"),
		.points = ask_count(a, "spark"),
	};
	struct err err = { .offset = ERR_NO_OFFSET };
	int error;

	ret->by = how.by;
	ret->label = how.label;
	ret->skip = how.skip;
	if (!strcmp(how.by, "label") && !how.label)
		return ask_fail(a, 400, "label_name", "which label? label_name=zone");
	if (how.points && how.count > SPARKS_MAX)
		return ask_fail(a, 400, "spark", "with count=%u at most", SPARKS_MAX);
	if (fleet_asked_range(a, &ret->range))
		return -EINVAL;
	error = fleet_groups_find(&ret->groups, &ret->range, &how, &err);
	return error ? fleet_asked_fail(a, error, &err) : 0;
}

static void groups_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_fleet_groups *g = answer;

	fleet_asked_json(j, &g->range);
	json_text(j, "by", g->by);
	json_number(j, "total_count", g->groups.total);
	json_object(j, "total");
	json_number(j, "recordings", g->groups.recordings);
	json_number(j, "live_bytes", g->groups.live_bytes);
	json_number(j, "live_count", g->groups.live_count);
	json_real(j, "growth_per_second", g->groups.growth, 3);
	json_end_object(j);
	JSON_ROWS(j, "groups", i, g->groups.count) {
		const struct fleet_group *row = &g->groups.rows[i];

		JSON_MEMBERS(j, row, name, recordings, hosts, services, builds, started, ended,
			     live_bytes, live_count, before_bytes);
		json_real(j, "growth_per_second", row->growth, 3);
		JSON_MEMBERS(j, row, peak_bytes, leaked_bytes, allocated_bytes);
		if (row->spark) {
			JSON_EACH(j, "spark", k, g->groups.points)
				json_number(j, NULL, row->spark[k]);
		}
		sink_turn(out);
	}
}

static void groups_drop(void *answer)
{
	struct answer_fleet_groups *g = answer;

	fleet_groups_release(&g->groups);
	fleet_range_release(&g->range);
}

static const struct param_row params[] = {
	{ "by", PARAM_CHOICE, "service", "what is a row", .values = FLEET_KEYS, .letter = 'b' },
	{ "label_name", PARAM_TEXT, NULL, "with by=label: which one" },
	PARAMS_SINCE,
	{ "search", PARAM_TEXT, NULL, "only names that contain it, in any case" },
	{ "sort_by", PARAM_CHOICE, "live", "what orders", .values = FLEET_GROUP_SORTS,
	  .option = "sort", .letter = 's' },
	PARAM_ORDER("dsc"),
	PARAMS_PAGE("200"),
	{ "spark", PARAM_COUNT, "0", "figures of each row's bytes alive over the time",
	  .max = 200 },
	{ 0 },
};

const struct question question_fleet_groups = {
	.name = "fleet_groups",
	.path = "groups",
	.kind = "fleet",
	.help = "a fleet's services, hosts, builds, labels or days",
	.params = params,
	.filters = true,
	.fleets = true,
	.size = sizeof(struct answer_fleet_groups),
	.compute = groups_compute,
	.write_members = groups_json,
	.release = groups_drop,
};
