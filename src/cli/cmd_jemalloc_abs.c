/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc abs: large arenas in each snapshot; what jemabs printed, to the blank. */
#include <inttypes.h>

#include "cli/arenas.h"
#include "cli/command.h"

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

static bool print(struct buf *out, const struct arenas *s, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		const struct arenas_iteration *it = &s->iterations[i];

		buf_printf(out, "Absolutes from iteration # %" PRIu64 " above ", i);
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
	int status = arenas_load(&s, "jemalloc abs", argc, argv, 2);
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

const struct command command_jemalloc_abs = {
	.name = "jemalloc abs",
	.args = "[FILE] [MIB [START [END]]]",
	.help = "arenas of at least MIB (200), as jemabs",
	.examples = "  memoir jemalloc abs server.log\n"
		    "  memoir jemalloc abs server.log 1024 3 6   iterations 3, 4 and 5\n",
	.run = run,
	.link = "jemabs",
};
