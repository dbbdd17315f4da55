/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc abs: large arenas in each snapshot; what jemabs printed, to the blank. */
#include "cli/jemalloc/arenas.h"

static int run_jemalloc_abs(int argc, char **argv)
{
	return arenas_run("memoir jemalloc abs", ARENA_SERIES_ABS, argc, argv);
}

const struct command command_jemalloc_abs = {
	.name = "jemalloc abs",
	.args = "[FILE] [MIB [START [END]]]",
	.help = "arenas of at least MIB (200), as jemabs",
	.examples = "  memoir jemalloc abs server.log\n"
		    "  memoir jemalloc abs server.log 1024 3 6   iterations 3, 4 and 5\n"
		    "  memoir jemalloc abs --plot --totals --field total,active server.log\n"
		    "  memoir jemalloc abs --csv --field bin.4096.curregs server.log\n",
	.options = arenas_options,
	.run = run_jemalloc_abs,
	.link = "jemabs",
};
