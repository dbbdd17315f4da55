/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc metrics: a snapshot in the text format of Prometheus, from a file (the last one
 * in it) or a running process; to a file that node_exporter's textfile collector reads, it is
 * written whole or not at all. */
#include <string.h>

#include "base/buf_type.h"
#include "base/sink.h"
#include "cli/command.h"
#include "cli/jemalloc/live.h"
#include "cli/jemalloc/stats_input.h"
#include "cli/say.h"
#include "jemalloc/metrics.h"

#define NAME "memoir jemalloc metrics"

static const char *output;

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE", "write this instead of standard output", &output),
	LIVE_OPTIONS,
	{ 0 },
};

static int write_metrics(struct stats *s)
{
	struct err err = { .offset = ERR_NO_OFFSET };
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
	return e ? say_failed(NAME, output ? output : "standard output", &err) : 0;
}

static int run_jemalloc_metrics(int argc, char **argv)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *name = argc ? argv[0] : NULL;
	auto_buf struct buf body = { 0 };
	struct snapshots r;
	struct stats s;
	struct fetch f;
	int status;

	if (live_is_file(argc, argv)) {
		if (snapshots_open(&r, name, &err))
			return say_failed(NAME, name, &err);
	} else {
		status = live_fetch(&f, NAME, argc, argv);
		if (status)
			return status;
		name = f.name;
		if (fetch_once(&f, &body, &err))
			return say_failed(NAME, name, &err);
		snapshots_memory(&r, body.data, body.size);
	}
	stats_init(&s);
	status = stats_input(NAME, name, &r, stats_input_keep_last, &s);
	if (r.documents)
		status |= write_metrics(&s);
	stats_release(&s);
	snapshots_close(&r);
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
	.run = run_jemalloc_metrics,
};
