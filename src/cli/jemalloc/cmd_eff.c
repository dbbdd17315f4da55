/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc eff: how much of what arenas have mapped is in use; what jemeff printed, to the
 * blank. */
#include "cli/jemalloc/arenas.h"

static int run_jemalloc_eff(int argc, char **argv)
{
	return arenas_run("memoir jemalloc eff", ARENA_SERIES_EFF, argc, argv);
}

const struct command command_jemalloc_eff = {
	.name = "jemalloc eff",
	.args = "[FILE] [MIB [START [END]]]",
	.help = "use of what arenas have mapped, as jemeff",
	.examples = "  memoir jemalloc eff server.log\n"
		    "  memoir jemalloc eff server.log 200 0 2   iterations 0 and 1\n",
	.options = arenas_options,
	.run = run_jemalloc_eff,
	.link = "jemeff",
};
