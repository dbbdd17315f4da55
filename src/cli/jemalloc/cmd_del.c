/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc del: how arenas changed since one snapshot; what jemdel printed, to the blank.
 *
 * Its numbers are threshold, first, start, end, and `first` is what all others are compared with.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/jemalloc/arenas.h"
#include "cli/jemalloc/arenas_series.h"

static void print_delta(struct buf *out, const struct arenas *s, const struct arenas_row *before,
			const struct arenas_row *after, unsigned what, const char *name)
{
	int64_t delta = (int64_t)(after->value[what] - before->value[what]);

	if (!arenas_passes(s, delta))
		return;
	buf_printf(out, "arena:  %" PRIu64 "  delta %s:  ", before->id, name);
	arenas_size(out, delta);
	buf_char(out, '\n');
}

static bool print_arenas(struct buf *out, const struct arenas *s, uint64_t first, uint64_t last)
{
	const struct arenas_iteration *it = &s->iterations[first];

	for (size_t k = it->first; k < it->first + it->count; k++) {
		const struct arenas_row *before = &s->arenas[k];
		const struct arenas_row *after = arenas_find(s, last, before->id);

		if (!after) {
			fprintf(stderr,
				"memoir %s: arena %" PRIu64 " of iteration %" PRIu64
				" is not in %" PRIu64 "\n",
				s->command, before->id, first, last);
			continue;
		}
		if (!arenas_whole(s, first, before) || !arenas_whole(s, last, after))
			return false;
		print_delta(out, s, before, after, ARENAS_TOTAL, "total");
		print_delta(out, s, before, after, ARENAS_MAPPED, "mapped");
	}
	it = &s->iterations[last];
	for (size_t k = it->first; k < it->first + it->count; k++)
		if (!arenas_find(s, first, s->arenas[k].id))
			fprintf(stderr,
				"memoir %s: arena %" PRIu64 " of iteration %" PRIu64
				" was not in %" PRIu64 "\n",
				s->command, s->arenas[k].id, last, first);
	return true;
}

static bool print(struct buf *out, const struct arenas *s, uint64_t first, uint64_t from,
		  uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		buf_printf(out, "Deltas from iteration # %" PRIu64 " to %" PRIu64 " above ", first,
			   i);
		arenas_threshold(out, s);
		buf_text(out, ":\n");
		if (!print_arenas(out, s, first, i))
			return false;
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct buf out = { 0 };
	uint64_t from, to;
	struct arenas s;
	int status;

	if (arenas_series_wanted())
		return arenas_series_run("jemalloc del", ARENAS_SERIES_DEL, argc, argv);
	status = arenas_load(&s, "jemalloc del", argc, argv, 3);
	from = s.number_count > 1 ? s.number[1] : 1;
	to = s.number_count > 2 ? s.number[2] : s.count;
	if (!status) {
		status = s.status;
		if (!arenas_range(&s, s.number[0], s.number[0] + 1) ||
		    !arenas_range(&s, from, to) || !print(&out, &s, s.number[0], from, to))
			status = 1;
		if (buf_flush(&out, 1))
			status = 1;
	}
	buf_release(&out);
	arenas_release(&s);
	return status;
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
	.options = arenas_series_del_options,
	.run = run,
	.link = "jemdel",
};
