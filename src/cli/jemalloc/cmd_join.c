/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc join: a heap profile dump beside the statistics of the same moment; who keeps the
 * memory that nobody uses.
 *
 * From two files, or from a running process's agent, which is asked for statistics before and after
 * the dump: where they differ much, that is said. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/jemalloc/heap_input.h"
#include "cli/jemalloc/heap_naming.h"
#include "cli/jemalloc/join_print.h"
#include "client/agents.h"
#include "heap/join.h"
#include "jemalloc/merge.h"
#include "jemalloc/snapshots.h"

#define NAME "memoir jemalloc join"
#define TIMEOUT_MS 60000

static bool as_json, as_csv, by_lines, full;
static uint64_t top = UINT64_MAX;
static const char *color, *program;

static const struct command_option options[] = {
	{ "top", 'n', "N", "stacks and classes at most (10; all of them in JSON and CSV)",
	  COMMAND_NUMBER, &top },
	{ "lines", 0, NULL, "stacks of source lines instead of functions", COMMAND_FLAG,
	  &by_lines },
	{ "full", 0, NULL, "every frame of a stack", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	{ "csv", 0, NULL, "print CSV: a row for each stack and size class", COMMAND_FLAG, &as_csv },
	{ "program", 0, "FILE", "the program, where it is not where the dump says", COMMAND_TEXT,
	  &program },
	AGENT_TOKEN_ROWS,
	HEAP_NAMING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

struct shown {
	struct profile profile;
	struct stats stats;
	struct join join;
	struct term term;
	struct buf out;
};

static int wrong(const char *text)
{
	fprintf(stderr, NAME ": %s\n", text);
	return 2;
}

static int say(const char *path, const struct err *err)
{
	if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, NAME ": %s: %s\n", path, err->text);
	else
		fprintf(stderr, NAME ": %s: at byte %" PRIu64 ": %s\n", path, err->offset,
			err->text);
	return 1;
}

/* The last snapshot of a file becomes `stats`; 0, or 1 after saying what is wrong. */
static int take_stats(struct stats *stats, struct snapshots *r, const char *path)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	bool any = false;
	int n, status = 0;

	while ((n = snapshots_next(r, &err)) == 1 || n == -EBADMSG) {
		struct stats other = *stats;

		if (n != 1) {
			status = say(path, &err);
			continue;
		}
		*stats = r->stats;
		r->stats = other;
		any = true;
	}
	if (n)
		return say(path, &err);
	if (!any && !status) {
		fprintf(stderr, NAME ": %s holds no jemalloc statistics: %s\n", path,
			snapshots_guess(r));
		status = 1;
	}
	return status;
}

static int read_stats(struct stats *stats, const char *path)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshots r;
	int status = snapshots_open(&r, path, &err) ? say(path, &err) : take_stats(stats, &r, path);

	snapshots_close(&r);
	return status;
}

static int ask_stats(const struct agents_entry *agent, struct stats *stats)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct buf body = { 0 };
	struct snapshots r;
	int e = agents_ask(agent, "GET", "/stats?J", TIMEOUT_MS, &body, &err);
	int status = e == -EINVAL ? wrong(err.text) : e ? say(agent->address, &err) : 0;

	if (!status) {
		snapshots_memory(&r, body.data, body.size);
		status = take_stats(stats, &r, agent->address);
		snapshots_close(&r);
	}
	buf_release(&body);
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

static int from_agent(struct shown *s, const char *word)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct buf dump = { 0 };
	struct agents_entry agent;
	struct stats before;
	int status;

	if (agents_find(word, &agent, &err)) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 1;
	}
	stats_init(&before);
	status = ask_stats(&agent, &before);
	if (!status)
		status = heap_input_ask(&dump, &agent, &err) ? say(agent.address, &err) : 0;
	if (!status)
		status = ask_stats(&agent, &s->stats);
	if (!status) {
		say_changes(&before, &s->stats);
		status = heap_input_take(&s->profile, NAME, agent.address, &dump, 1);
	}
	stats_release(&before);
	buf_release(&dump);
	return status;
}

static int show(struct shown *s)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const struct stats_arena *a = stats_merge(&s->stats);
	const struct join_print print = { .profile = &s->profile,
					  .stats = &s->stats,
					  .join = &s->join,
					  .term = &s->term,
					  .out = &s->out,
					  .top = top,
					  .full = full };

	if (profile_finish(&s->profile, &err) ||
	    (a ? join_make(&s->join, &s->profile, &s->stats, a, &err)
	       : err_set(&err, -ENODATA, "the statistics have no arena: print them without a"))) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 1;
	}
	heap_naming_warn(NAME, &s->profile.locations);
	(as_json ? join_print_json : as_csv ? join_print_csv : join_print_text)(&print);
	return buf_flush(&s->out, 1) ? 1 : 0;
}

static int run(int argc, char **argv)
{
	struct heap_locations_options where;
	struct profile_options how = { .detail = by_lines ? PROFILE_LINES : PROFILE_FUNCTIONS,
				       .thread = PROFILE_ALL_THREADS };
	struct shown s = { 0 };
	int status;

	if (argc < 1 || argc > 2)
		return wrong("a dump and statistics, or a process with an agent; see " NAME
			     " --help");
	if (as_json && as_csv)
		return wrong("JSON or CSV, not both");
	term_init(&s.term, 1, color);
	where = heap_naming_options(NAME, program, argv, argc == 2);
	profile_init(&s.profile, &how, &where);
	stats_init(&s.stats);
	if (argc == 1)
		status = from_agent(&s, argv[0]);
	else
		status = read_stats(&s.stats, argv[1]) |
			 heap_input_add(&s.profile, NAME, argv[0], 1);
	/* What a damaged dump has is shown; without it or without statistics there is nothing. */
	if (s.profile.sample_count && s.stats.arena_count)
		status |= show(&s);
	else if (!status)
		status = wrong("there is no stack in the dump") - 1;
	join_release(&s.join);
	stats_release(&s.stats);
	profile_release(&s.profile);
	buf_release(&s.out);
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
	.run = run,
};
