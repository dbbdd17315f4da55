/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc report: statistics as one page that needs nothing else. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/say.h"
#include "jemalloc/report.h"

#define NAME "memoir jemalloc report"
#define KEPT 300	  /* snapshots of a file that can be looked at */
#define BYTES (24u << 20) /* of all files' together, which a browser opens at once */

static const char *output;

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE", "write to this file (- or none: standard output)", &output),
	{ 0 },
};

/* One line for each thing that is wrong with a file; what there is of it is shown. */
static int read_file(struct history *h, const char *path, size_t share)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_release(snapshots_close) struct snapshots r = { 0 };
	int error;

	history_init(h, !strcmp(path, "-") ? "standard input" : path_base(path), KEPT, share);
	error = snapshots_open(&r, path, &err);
	if (!error)
		error = history_read(h, &r, NULL, NULL, &err);
	if (error)
		say_failed(NAME, path, &err);
	for (size_t at = 0; !error && at < h->problems.size;
	     at += strlen(h->problems.data + at) + 1)
		fprintf(stderr, NAME ": %s, %s\n", path, h->problems.data + at);
	return error || h->problem_count;
}

static int write_page(struct history *files, size_t count)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct sink sink;
	int error = 0;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (output)
		error = sink_to_file(&sink, output, sink_codec_of(output), &err);
	else
		sink_to_fd(&sink, 1, SINK_PLAIN);
	if (!error) {
		report_write(&sink, files, count);
		error = sink_finish(&sink, &err);
	}
	return error ? say_failed(NAME, output, &err) : 0;
}

static int run_jemalloc_report(int argc, char **argv)
{
	auto_free struct history *files = NULL;
	int status = 0;
	size_t count = 0;

	if (output && !strcmp(output, "-"))
		output = NULL;
	if (!argc || (!output && isatty(1)))
		return say_wrong(NAME, argc ? "a page is not for a terminal; give -o FILE.html"
					    : "of which file? - is standard input");
	files = xcalloc((size_t)argc, sizeof(*files));
	for (int i = 0; i < argc; i++) {
		status |= read_file(&files[count], argv[i], BYTES / (unsigned)argc);
		if (files[count].snapshots)
			count++;
		else
			history_release(&files[count]);
	}
	if (count)
		status |= write_page(files, count);
	for (size_t i = 0; i < count; i++)
		history_release(&files[i]);
	return status;
}

const struct command command_jemalloc_report = {
	.name = "jemalloc report",
	.args = "FILE…",
	.help = "statistics as one page for a browser",
	.examples = "  memoir jemalloc report stats.json -o stats.html\n"
		    "  memoir jemalloc report before.json after.json -o compared.html\n",
	.options = options,
	.run = run_jemalloc_report,
};
