/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc: what jemalloc says about itself.  A group: each command is a file of its own. */
#include <stddef.h>

#include "cli/command.h"

#define COMMAND(name) extern const struct command command_##name;
#include "cli/jemalloc.inc"
#undef COMMAND

static const struct command *const members[] = {
#define COMMAND(name) &command_##name,
#include "cli/jemalloc.inc"
#undef COMMAND
	NULL,
};

const struct command command_jemalloc = {
	.name = "jemalloc",
	.args = "COMMAND …",
	.help = "statistics that jemalloc printed",
	.examples = "  memoir jemalloc stats server.log\n"
		    "  memoir jemalloc watch http://localhost:7000/stats\n"
		    "  memoir jemalloc del server.log\n"
		    "  memoir jemalloc abs server.log 1024 3 6\n",
	.stops_at_first_argument = true,
	.members = members,
};
