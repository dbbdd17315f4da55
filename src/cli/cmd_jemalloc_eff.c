/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc eff: how much of what arenas have mapped is in use; what jemeff printed, to the
 * blank. */
#include <inttypes.h>

#include "cli/arenas.h"
#include "cli/command.h"

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

static bool print(struct buf *out, const struct arenas *s, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		const struct arenas_iteration *it = &s->iterations[i];

		buf_printf(out, "Efficiency from iteration # %" PRIu64 " above ", i);
		arenas_threshold(out, s);
		buf_text(out, ":\n");
		for (size_t k = it->first; k < it->first + it->count; k++) {
			if (!arenas_whole(s, i, &s->arenas[k]))
				return false;
			print_arena(out, s, &s->arenas[k]);
		}
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct buf out = { 0 };
	struct arenas s;
	int status = arenas_load(&s, "jemalloc eff", argc, argv, 2);
	uint64_t to = s.number_count > 1 ? s.number[1] : s.count;

	if (!status) {
		status = s.status;
		if (!arenas_range(&s, s.number[0], to) || !print(&out, &s, s.number[0], to))
			status = 1;
		if (buf_flush(&out, 1))
			status = 1;
	}
	buf_release(&out);
	arenas_release(&s);
	return status;
}

const struct command command_jemalloc_eff = {
	.name = "jemalloc eff",
	.args = "[FILE] [MIB [START [END]]]",
	.help = "use of what arenas have mapped, as jemeff",
	.examples = "  memoir jemalloc eff server.log\n"
		    "  memoir jemalloc eff server.log 200 0 2   iterations 0 and 1\n",
	.run = run,
	.link = "jemeff",
};
