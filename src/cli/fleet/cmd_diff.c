/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet diff: two parts of a fleet beside each other: builds, days, hosts. */
#include "answer/diff.h"
#include "cli/answering.h"
#include "cli/fleet/fleet_options.h"
#include "cli/printers.h"

static const struct command_option options[] = {
	FLEET_ROW,
	ANSWERING_FLAG("count", 0, "weight=count", "compare blocks, not bytes"),
	FLAG("full", 0, "show every frame, names as long as they are", &diff_print_full),
	{ 0 },
};

static const struct answering answering = {
	.question = &question_diff,
	.words = (const char *const[]){ "a", "b", NULL },
	.defaults = "count=10",
	.fleet = true,
	.print = diff_print,
};

const struct command command_fleet_diff = {
	.name = "fleet diff",
	.args = "BEFORE AFTER",
	.help = "two parts of a fleet beside each other",
	.examples =
		"  memoir fleet diff 'release = 4.1' 'release = 4.2'\n"
		"  memoir fleet diff --at-a 2026-05-04 --at-b 2026-05-11 'host = a' 'host = a'\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
