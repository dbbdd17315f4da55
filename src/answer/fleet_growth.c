/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question fleet_growth: which functions' memory grows, in how many of a fleet's recordings. */
#include <errno.h>
#include <string.h>

#include "answer/fleet_asked.h"
#include "answer/fleet_groups.h"
#include "base/sink.h"

#define SPARKS_MAX 1000 /* rows with curves */

static int growth_compute(struct ask *a, void *answer)
{
	struct answer_fleet_growth *ret = answer;
	struct fleet_growth_options o = {
		.by_stack = !strcmp(ask_text(a, "by"), "stack"),
		.search = ask_text(a, "search"),
		.sort = ask_text(a, "sort_by"),
		.descending = ask_descending(a),
		.skip = ask_count(a, "skip"),
		.count = ask_count(a, "count"),
		.points = ask_count(a, "spark"),
	};
	struct err err = { .offset = ERR_NO_OFFSET };
	int error;

	ret->by_stack = o.by_stack;
	ret->skip = o.skip;
	if (o.count > SPARKS_MAX)
		return ask_fail(a, 400, "count", "at most %u", SPARKS_MAX);
	if (fleet_asked_range(a, &ret->range))
		return -EINVAL;
	error = fleet_growths_find(&ret->growths, &ret->range, &o, &err);
	return error ? fleet_asked_fail(a, error, &err) : 0;
}

static void write_stack(struct json *j, const char *stack)
{
	json_array(j, "functions");
	while (*stack) {
		size_t size = strcspn(stack, "\n");

		json_bytes(j, NULL, stack, size);
		stack += size + (stack[size] == '\n');
	}
	json_end_array(j);
}

static void growth_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_fleet_growth *r = answer;
	const struct fleet_growths *g = &r->growths;

	fleet_asked_json(j, &r->range);
	json_number(j, "every_s", r->range.every);
	json_real(j, "grown_bytes", g->grown, 0);
	json_number(j, "total_count", g->total);
	JSON_ROWS(j, "rows", i, g->count) {
		const struct fleet_growing *row = &g->rows[i];

		json_text(j, "name", row->name);
		json_text(j, "class", growth_classes[row->class]);
		JSON_MEMBERS(j, row, before_bytes, live_bytes, live_count, recordings, growing,
			     hosts, services);
		json_real(j, "growth_per_second", row->growth, 3);
		json_real(j, "grown_bytes", row->grown, 0);
		json_real(j, "share", row->share, 4);
		if (r->by_stack)
			write_stack(j, row->stack);
		if (row->spark) {
			JSON_EACH(j, "spark", k, g->points)
				json_number(j, NULL, row->spark[k]);
		}
		sink_turn(out);
	}
}

static void growth_drop(void *answer)
{
	struct answer_fleet_growth *g = answer;

	fleet_growths_release(&g->growths);
	fleet_range_release(&g->range);
}

static const struct param_row params[] = {
	{ "by", PARAM_CHOICE, "responsible", "what makes a row", .values = "responsible|stack",
	  .letter = 'b' },
	PARAMS_SINCE,
	{ "search", PARAM_TEXT, NULL, "only names that contain it, in any case" },
	{ "sort_by", PARAM_CHOICE, "growth", "what orders", .values = FLEET_GROWTH_SORTS,
	  .option = "sort", .letter = 's' },
	PARAM_ORDER("dsc"),
	PARAMS_PAGE("100"),
	{ "spark", PARAM_COUNT, "0", "figures of each row's bytes alive over the time",
	  .max = 200 },
	{ 0 },
};

const struct question question_fleet_growth = {
	.name = "fleet_growth",
	.path = "growth",
	.kind = "fleet",
	.help = "what grows in a fleet, and in how many of its recordings",
	.params = params,
	.filters = true,
	.fleets = true,
	.size = sizeof(struct answer_fleet_growth),
	.compute = growth_compute,
	.write_members = growth_json,
	.release = growth_drop,
};
