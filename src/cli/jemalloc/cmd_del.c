/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc del: how arenas changed since one snapshot; what jemdel printed, to the blank.
 *
 * Its numbers are threshold, first, start, end, and `first` is what all others are compared with.
 */
#include "cli/jemalloc/arenas.h"

static int run_jemalloc_del(int argc, char **argv)
{
	return arenas_run("memoir jemalloc del", ARENA_SERIES_DEL, argc, argv);
}

const struct command command_jemalloc_del = {
	.name = "jemalloc del",
	.args = "[FILE] [MIB [FIRST [START [END]]]]",
	.help = "arenas that changed by MIB (200) since FIRST, as jemdel",
	.examples =
		"  memoir jemalloc del server.log\n"
		"  memoir jemalloc del server.log 100 2 3 6   3, 4 and 5 against 2\n"
		"  memoir jemalloc del --consecutive --rate --field small_nmalloc server.log\n"
		"  memoir jemalloc del --csv --totals --field total,stats.resident server.log\n",
	.options = arenas_del_options,
	.run = run_jemalloc_del,
	.link = "jemdel",
};
