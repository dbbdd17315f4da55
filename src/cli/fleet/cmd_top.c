/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet top: what each function, line or module holds in all recordings together. */
#include "answer/functions.h"
#include "cli/answering.h"
#include "cli/fleet/fleet_options.h"
#include "cli/printers.h"

static const struct command_option options[] = {
	FLEET_ROW,
	FLAG("full", 0, "names as long as they are", &functions_print_full),
	{ 0 },
};

static const struct answering answering = {
	.question = &question_functions,
	.defaults = "count=20",
	.fleet = true,
	.print = functions_print,
};

const struct command command_fleet_top = {
	.name = "fleet top",
	.args = "",
	.help = "who holds the memory of a fleet",
	.examples = "  memoir fleet top -m leaked -F 'service = shop'\n"
		    "  memoir fleet top --at 2026-05-04T12:00 -F 'host ~ \"^eu-\"'\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
