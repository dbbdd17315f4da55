/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about fleets.  See fleet_asked.h. */
#include "answer/fleet_asked.h"

#include <errno.h>

#include "answer/kind_fleet.h"
#include "query/value.h"

#define NS UINT64_C(1000000000)

static int read_moment(struct ask *a, const char *name, uint64_t *ret_seconds)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *text = ask_text(a, name);
	struct value v;
	bool unix_time;

	if (!text)
		return 0;
	if (value_parse(&v, ARG_TIME, text, &err))
		return ask_fail_err(a, name, &err);
	unix_time = v.kind == VALUE_UNIX;
	*ret_seconds = v.number / NS;
	value_release(&v);
	return unix_time ? 0
			 : ask_fail(a, 400, name,
				    "'%.40s': a fleet has no beginning; give a date "
				    "and a time",
				    text);
}

int fleet_asked_fail(struct ask *a, int error, const struct err *err)
{
	return ask_fail(a, error == -EINVAL ? 400 : 502, error == -EINVAL ? "filter" : NULL, "%s",
			err->text);
}

int fleet_asked_range(struct ask *a, struct fleet_range *ret_range)
{
	const struct opened_fleet *f = a->snapshot->fleet;
	struct err err = { .offset = ERR_NO_OFFSET };
	struct fleet_wanted w = { 0 };
	const char *last = ask_text(a, "last");
	struct value v;
	int error;

	*ret_range = (struct fleet_range){ 0 };
	if (read_moment(a, "since", &w.since) || read_moment(a, "until", &w.until))
		return -EINVAL;
	if (last && w.since)
		return ask_fail(a, 400, "last", "since=… says it already");
	if (last && !value_parse(&v, ARG_DURATION, last, NULL)) {
		w.last = v.number / NS ? v.number / NS : 1;
		value_release(&v);
	}
	error = fleet_range_find(ret_range, &f->fleet, &f->facts, a->filter, &w, &err);
	return error ? fleet_asked_fail(a, error, &err) : 0;
}

void fleet_asked_json(struct json *j, const struct fleet_range *r)
{
	json_number(j, "since", r->first);
	json_number(j, "until", r->last ? r->last + r->step : 0);
	json_number(j, "step_s", r->step);
}
