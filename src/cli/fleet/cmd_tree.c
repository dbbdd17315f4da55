/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet tree: one call tree of all recordings together. */
#include "answer/tree.h"
#include "cli/answering.h"
#include "cli/fleet/fleet_options.h"
#include "cli/printers.h"

static const struct command_option options[] = {
	FLEET_ROW,
	ANSWERING_FLAG("bottom-up", 'u', "direction=up",
		       "from the innermost functions to their callers"),
	FLAG("full", 0, "names as long as they are", &tree_print_full),
	{ 0 },
};

static const struct answering answering = {
	.question = &question_tree,
	.defaults = "min_share=1",
	.fleet = true,
	.print = tree_print,
};

const struct command command_fleet_tree = {
	.name = "fleet tree",
	.args = "",
	.help = "one call tree of all recordings of a fleet",
	.examples = "  memoir fleet tree -m leaked -F 'service = shop'\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
