/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc eff: how much of what arenas have mapped is in use; what jemeff printed, to the
 * blank. */
#include <inttypes.h>

#include "cli/command.h"
#include "cli/jemalloc/arenas.h"
#include "cli/jemalloc/arenas_series.h"

static void print_arena(struct buf *out, const struct arenas *s, const struct arenas_row *a)
{
	const uint64_t *v = a->value;

	if (!arenas_passes(s, (int64_t)v[ARENAS_TOTAL]) &&
	    !arenas_passes(s, (int64_t)v[ARENAS_ACTIVE]) &&
	    !arenas_passes(s, (int64_t)v[ARENAS_MAPPED]))
		return;
	buf_printf(out, "arena:  %" PRIu64 "  total:  ", a->id);
	arenas_size(out, (int64_t)v[ARENAS_TOTAL]);
	buf_text(out, " (");
	arenas_share(out, v[ARENAS_TOTAL], v[ARENAS_MAPPED]);
	buf_text(out, ") active:  ");
	arenas_size(out, (int64_t)v[ARENAS_ACTIVE]);
	buf_text(out, "  (");
	arenas_share(out, v[ARENAS_ACTIVE], v[ARENAS_MAPPED]);
	buf_text(out, ") mapped:  ");
	arenas_size(out, (int64_t)v[ARENAS_MAPPED]);
	buf_char(out, '\n');
}

static int run(int argc, char **argv)
{
	if (arenas_series_wanted())
		return arenas_series_run("jemalloc eff", ARENAS_SERIES_EFF, argc, argv);
	return arenas_print("jemalloc eff", argc, argv, "Efficiency", print_arena);
}

const struct command command_jemalloc_eff = {
	.name = "jemalloc eff",
	.args = "[FILE] [MIB [START [END]]]",
	.help = "use of what arenas have mapped, as jemeff",
	.examples = "  memoir jemalloc eff server.log\n"
		    "  memoir jemalloc eff server.log 200 0 2   iterations 0 and 1\n",
	.options = arenas_series_options,
	.run = run,
	.link = "jemeff",
};
