/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the questions that only a fleet answers have in common: its time, and faults. */
#include "answer/ask.h"
#include "fleet/range.h"

#define PARAMS_SINCE                                                                               \
	{ "since", PARAM_TIME, NULL, "from this date and time on" },                               \
		{ "until", PARAM_TIME, NULL, "before this date and time" },                        \
	{                                                                                          \
		"last", PARAM_DURATION, NULL, "only so long before the end: 24h, 7d"               \
	}

/* What since, until, last and the filter say: 0, or -EINVAL after ask_fail().  To be released. */
int fleet_asked_range(struct ask *a, struct fleet_range *ret_range);
/* What the server did not like: -EINVAL always. */
int fleet_asked_fail(struct ask *a, int error, const struct err *err);
/* "since", "until", "step_s": what was looked at. */
void fleet_asked_json(struct json *j, const struct fleet_range *r);
