/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet: many recordings of many hosts, in a ClickHouse server.  A group: each command is a
 * file of its own. */
#include <stddef.h>

#include "cli/command.h"

#define COMMAND(name) extern const struct command command_##name;
#include "cli/fleet.inc"
#undef COMMAND

static const struct command *const members[] = {
#define COMMAND(name) &command_##name,
#include "cli/fleet.inc"
#undef COMMAND
	NULL,
};

const struct command command_fleet = {
	.name = "fleet",
	.args = "COMMAND …",
	.help = "recordings of many hosts, in a ClickHouse server",
	.examples = "  export MEMOIR_FLEET=clickhouse://db.example:8123/memoir\n"
		    "  memoir fleet init\n"
		    "  memoir fleet push --service shop app.dat\n"
		    "  memoir fleet top -F 'service = shop and host ~ \"^eu-\"'\n",
	.stops_at_first_argument = true,
	.members = members,
};
