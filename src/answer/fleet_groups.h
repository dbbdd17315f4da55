/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the questions fleet_groups, fleet_trend, fleet_growth and fleet_recordings answer. */
#include "answer/question.h"
#include "fleet/groups.h"
#include "fleet/growth.h"
#include "fleet/recordings.h"

struct answer_fleet_groups {
	struct fleet_range range;
	struct fleet_groups groups;
	const char *by, *label;
	uint32_t skip;
};
extern const struct question question_fleet_groups;

struct answer_fleet_trend {
	struct fleet_range range;
	struct fleet_trend trend;
	const char *by;
};
extern const struct question question_fleet_trend;

struct answer_fleet_growth {
	struct fleet_range range;
	struct fleet_growths growths;
	bool by_stack;
	uint32_t skip;
};
extern const struct question question_fleet_growth;

struct answer_fleet_recordings {
	struct fleet_range range;
	struct fleet_recordings recordings;
	uint32_t skip;
};
extern const struct question question_fleet_recordings;
