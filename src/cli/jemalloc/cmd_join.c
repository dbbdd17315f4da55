/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc join: a heap profile dump beside the statistics of the same moment; who keeps the
 * memory that nobody uses.
 *
 * From two files, or from a running process's agent, which is asked for statistics before and after
 * the dump: where they differ much, that is said. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/jemalloc/heap_options.h"
#include "cli/jemalloc/join_print.h"
#include "cli/jemalloc/stats_input.h"
#include "cli/say.h"
#include "jemalloc/merge.h"

#define NAME "memoir jemalloc join"
#define TIMEOUT_MS 60000

static uint64_t top = UINT64_MAX;

static const struct command_option options[] = {
	VALUE("top", 'n', "N", "stacks and classes at most (10; all of them in JSON and CSV)",
	      &top),
	AGENT_TOKEN_ROWS,
	{ 0 },
};

static int ask_stats(const struct agents_entry *agent, struct stats *stats)
{
	auto_buf struct buf body = { 0 };
	struct snapshots r;
	int status = agent_ask(NAME, agent, "GET", "/stats?J", TIMEOUT_MS, &body);

	if (!status) {
		snapshots_memory(&r, body.data, body.size);
		status = stats_input(NAME, agent->address, &r, stats_input_keep_last, stats);
		snapshots_close(&r);
	}
	return status;
}

/* What the program did between the two, in hundredths of what it has. */
static void say_changes(const struct stats *before, const struct stats *after)
{
	double x = (double)before->total[STATS_TOTAL_ALLOCATED];
	double y = (double)after->total[STATS_TOTAL_ALLOCATED];
	double change = x > 0 ? fabs(y - x) / x * 100 : 0;

	if (change > 1)
		fprintf(stderr,
			NAME ": while the dump was taken, what is allocated changed by %.0f %%: "
			     "the shares are that much off\n",
			change);
}

static int from_agent(const char *word, struct profile *p, struct stats *stats)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_buf struct buf dump = { 0 };
	struct agents_entry agent;
	struct stats before;
	int status;

	if (agents_find(word, &agent, &err))
		return say_failed(NAME, NULL, &err);
	stats_init(&before);
	status = ask_stats(&agent, &before);
	if (!status)
		status = heap_options_ask(&dump, &agent, &err)
				 ? say_failed(NAME, agent.address, &err)
				 : 0;
	if (!status)
		status = ask_stats(&agent, stats);
	if (!status) {
		say_changes(&before, stats);
		status = heap_options_take(p, NAME, agent.address, &dump, 1);
	}
	stats_release(&before);
	return status;
}

static int show(struct profile *p, struct stats *stats)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const struct stats_arena *a = stats_merge(stats);
	auto_buf struct buf out = { 0 };
	auto_release(join_release) struct join join = { 0 };
	struct term term;
	struct json json = { .out = &out };
	int error = profile_finish(p, &err);

	if (!error)
		error = a ? join_compute(&join, p, stats, a, &err)
			  : err_set(&err, -ENODATA,
				    "the statistics have no arena: print them without a");
	if (error)
		return say_failed(NAME, NULL, &err);
	heap_options_warn(NAME, &p->locations);
	term_init(&term, 1, heap_options.color);
	if (heap_options.json)
		join_write_json(&json, &join, top);
	else if (heap_options.csv)
		join_write_csv(&out, &join, top);
	else
		join_print(&out, &term, &join, top, heap_options.full);
	return buf_flush(&out, 1) ? 1 : 0;
}

static int run_jemalloc_join(int argc, char **argv)
{
	struct heap_locations_options where;
	struct profile_options how;
	struct profile p;
	struct stats stats;
	int status;

	if (argc < 1 || argc > 2)
		return say_wrong(NAME,
				 "a dump and statistics, or a process with an agent; see " NAME
				 " --help");
	if (heap_options.json && heap_options.csv)
		return say_wrong(NAME, "JSON or CSV, not both");
	heap_options_profile(NAME, &how);
	where = heap_options_locations(NAME, heap_options.program, (const char **)argv, argc == 2);
	profile_init(&p, &how, &where);
	stats_init(&stats);
	if (argc == 1)
		status = from_agent(argv[0], &p, &stats);
	else
		status = stats_input_file(NAME, argv[1], stats_input_keep_last, &stats) |
			 heap_options_add(&p, NAME, argv[0], 1);
	/* What a damaged dump has is shown; without it or without statistics there is nothing. */
	if (p.sample_count && stats.arena_count)
		status |= show(&p, &stats);
	else if (!status)
		status = say_wrong(NAME, "there is no stack in the dump") - 1;
	stats_release(&stats);
	profile_release(&p);
	return status;
}

const struct command command_jemalloc_join = {
	.name = "jemalloc join",
	.args = "DUMP STATISTICS | PID | ADDRESS",
	.help = "who keeps unused memory: a heap dump beside statistics",
	.examples = "  memoir jemalloc join out.heap stats.json\n"
		    "  memoir jemalloc join 1234\n"
		    "  memoir jemalloc join --csv http://localhost:7790 > join.csv\n",
	.options = options,
	.more_options = heap_options_rows,
	.shared = OF_JOIN,
	.run = run_jemalloc_join,
};
