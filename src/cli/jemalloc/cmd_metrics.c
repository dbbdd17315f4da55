/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc metrics: a snapshot in the text format of Prometheus, from a file (the last one
 * in it) or a running process; to a file that node_exporter's textfile collector reads, it is
 * written whole or not at all. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sink.h"
#include "cli/command.h"
#include "cli/jemalloc/live.h"
#include "jemalloc/metrics.h"
#include "jemalloc/snapshots.h"

#define NAME "memoir jemalloc metrics"

static const char *output;

static const struct command_option options[] = {
	{ "output", 'o', "FILE", "write this instead of standard output", COMMAND_TEXT, &output },
	LIVE_OPTIONS,
	{ 0 },
};

static bool is_file(int argc, char **argv)
{
	return argc == 1 && !live_pid && strncmp(argv[0], "http://", 7) != 0 &&
	       strncmp(argv[0], "unix:", 5) != 0;
}

/* The last snapshot of what `r` reads; 0, or 1 after saying what is wrong. */
static int last(struct snapshots *r, struct stats *ret_stats, const char *name)
{
	struct err err = { .text = "" };
	int n, status = 0;

	while ((n = snapshots_next(r, &err)) == 1 || n == -EBADMSG) {
		if (n == 1) {
			struct stats other = *ret_stats;

			*ret_stats = r->stats;
			r->stats = other;
			continue;
		}
		fprintf(stderr, NAME ": %s, offset %" PRIu64 ": %s\n", name, err.offset, err.text);
		status = 1;
	}
	if (n)
		fprintf(stderr, NAME ": %s: %s\n", name, err.text);
	else if (!r->documents && !status)
		fprintf(stderr, NAME ": %s holds no jemalloc statistics: %s\n", name,
			snapshots_guess(r));
	return status || n || !r->documents;
}

static int write_metrics(struct stats *s)
{
	struct err err = { .text = "" };
	struct sink out;
	int e = 0;

	if (output)
		e = sink_to_file(&out, output, SINK_PLAIN, &err);
	else
		sink_to_fd(&out, 1, SINK_PLAIN);
	if (!e) {
		metrics_write(&out.buf, s);
		e = sink_finish(&out, &err);
	}
	if (e)
		fprintf(stderr, NAME ": %s: %s\n", output ? output : "standard output", err.text);
	return e ? 1 : 0;
}

static int run(int argc, char **argv)
{
	struct err err = { .text = "" };
	struct buf body = { 0 };
	struct snapshots r;
	struct stats s;
	struct fetch f;
	int status = 0;

	if (is_file(argc, argv)) {
		if (snapshots_open(&r, argv[0], &err)) {
			fprintf(stderr, NAME ": %s: %s\n", argv[0], err.text);
			return 1;
		}
	} else {
		status = live_fetch(&f, "jemalloc metrics", argc, argv);
		if (status)
			return status;
		if (fetch_once(&f, &body, &err)) {
			fprintf(stderr, NAME ": %s: %s\n", f.name, err.text);
			buf_release(&body);
			return 1;
		}
		snapshots_memory(&r, body.data, body.size);
	}
	stats_init(&s);
	status = last(&r, &s, is_file(argc, argv) ? argv[0] : f.name);
	if (r.documents)
		status |= write_metrics(&s);
	stats_release(&s);
	snapshots_close(&r);
	buf_release(&body);
	return status;
}

const struct command command_jemalloc_metrics = {
	.name = "jemalloc metrics",
	.args = "FILE | ADDRESS | COMMAND ARGUMENT…",
	.help = "a snapshot as Prometheus text",
	.examples =
		"  memoir jemalloc metrics stats.json\n"
		"  memoir jemalloc metrics -o /var/lib/node/app.prom http://localhost:7000/stats\n",
	.options = options,
	.begins_command = live_begins_command,
	.run = run,
};
