/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc abs: large arenas in each snapshot; what jemabs printed, to the blank. */
#include <inttypes.h>

#include "cli/command.h"
#include "cli/jemalloc/arenas.h"
#include "cli/jemalloc/arenas_series.h"

static void print_arena(struct buf *out, const struct arenas *s, const struct arenas_row *a)
{
	static const char *const names[] = { "total", "active", "mapped" };

	for (unsigned i = 0; i < ARENAS_VALUES; i++) {
		if (!arenas_passes(s, (int64_t)a->value[i]))
			continue;
		buf_printf(out, "arena:  %" PRIu64 "  %s:  ", a->id, names[i]);
		arenas_size(out, (int64_t)a->value[i]);
		buf_char(out, '\n');
	}
}

static int run(int argc, char **argv)
{
	if (arenas_series_wanted())
		return arenas_series_run("jemalloc abs", ARENAS_SERIES_ABS, argc, argv);
	return arenas_print("jemalloc abs", argc, argv, "Absolutes", print_arena);
}

const struct command command_jemalloc_abs = {
	.name = "jemalloc abs",
	.args = "[FILE] [MIB [START [END]]]",
	.help = "arenas of at least MIB (200), as jemabs",
	.examples = "  memoir jemalloc abs server.log\n"
		    "  memoir jemalloc abs server.log 1024 3 6   iterations 3, 4 and 5\n"
		    "  memoir jemalloc abs --plot --totals --field total,active server.log\n"
		    "  memoir jemalloc abs --csv --field bin.4096.curregs server.log\n",
	.options = arenas_series_options,
	.run = run,
	.link = "jemabs",
};
