/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question fleet_recordings: what was sent to a fleet, one row for each recording. */
#include <errno.h>
#include <string.h>

#include "answer/fleet_asked.h"
#include "answer/fleet_groups.h"
#include "base/sink.h"

static int recordings_compute(struct ask *a, void *answer)
{
	struct answer_fleet_recordings *ret = answer;
	struct fleet_listing how = {
		.id = ask_text(a, "id"),
		.sort = ask_text(a, "sort_by"),
		.descending = ask_descending(a),
		.skip = ask_count(a, "skip"),
		.count = ask_count(a, "count"),
	};
	struct err err = { .offset = ERR_NO_OFFSET };
	int error;

	ret->skip = how.skip;
	if (fleet_asked_range(a, &ret->range))
		return -EINVAL;
	error = fleet_recordings_find(&ret->recordings, &ret->range, &how, &err);
	return error ? fleet_asked_fail(a, error, &err) : 0;
}

static void write_labels(struct json *j, const char *labels)
{
	json_array(j, "labels");
	while (*labels) {
		size_t size = strcspn(labels, "\n");

		json_bytes(j, NULL, labels, size);
		labels += size + (labels[size] == '\n');
	}
	json_end_array(j);
}

static void recordings_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	static const char *const keys[] = {
		[FLEET_ID] = "id",	     [FLEET_KIND] = "kind",   [FLEET_SERVICE] = "service",
		[FLEET_HOST] = "host",	     [FLEET_BUILD] = "build", [FLEET_RELEASE] = "release",
		[FLEET_COMMAND] = "command", [FLEET_FILE] = "file",
	};
	const struct answer_fleet_recordings *r = answer;
	const struct fleet_recordings *l = &r->recordings;

	fleet_asked_json(j, &r->range);
	json_number(j, "total_count", l->total);
	JSON_ROWS(j, "recordings", i, l->count) {
		const struct fleet_recording *row = &l->rows[i];

		for (unsigned k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			json_text(j, keys[k], row->texts[k]);
		write_labels(j, row->texts[FLEET_LABEL_LIST]);
		JSON_MEMBERS(j, row, started, ended, pushed, pid, allocated_bytes, allocated_count,
			     leaked_bytes, leaked_count, peak_bytes, peak_count, live_bytes);
		json_real(j, "growth_per_second", row->growth, 3);
		sink_turn(out);
	}
}

static void recordings_drop(void *answer)
{
	struct answer_fleet_recordings *r = answer;

	fleet_recordings_release(&r->recordings);
	fleet_range_release(&r->range);
}

static const struct param_row params[] = {
	{ "id", PARAM_TEXT, NULL, "only those whose id begins so" },
	PARAMS_SINCE,
	{ "sort_by", PARAM_CHOICE, "started", "what orders", .values = FLEET_RECORDING_SORTS,
	  .option = "sort", .letter = 's' },
	PARAM_ORDER("dsc"),
	PARAMS_PAGE("100"),
	{ 0 },
};

const struct question question_fleet_recordings = {
	.name = "fleet_recordings",
	.path = "recordings",
	.kind = "fleet",
	.help = "what was sent to a fleet",
	.params = params,
	.filters = true,
	.fleets = true,
	.size = sizeof(struct answer_fleet_recordings),
	.compute = recordings_compute,
	.write_members = recordings_json,
	.release = recordings_drop,
};
