/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc extract: what extract-jem-stats made of a log, jemdata.py, to the byte. */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/say.h"
#include "jemalloc/jemdata.h"

#define NAME "memoir jemalloc extract"

static const char *output = "jemdata.py";

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE", "write this (jemdata.py)", &output),
	{ 0 },
};

/* The log that was written to last, as the server names them. */
static char *newest(void)
{
	struct timespec best = { 0 };
	char *found = NULL;
	glob_t g;

	if (glob("/tmp/aerospike-console.*", GLOB_NOSORT, NULL, &g))
		return NULL;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct stat st;

		if (stat(g.gl_pathv[i], &st) || st.st_mtim.tv_sec < best.tv_sec ||
		    (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec <= best.tv_nsec))
			continue;
		best = st.st_mtim;
		free(found);
		found = xstrdup(g.gl_pathv[i]);
	}
	globfree(&g);
	return found;
}

static int run_jemalloc_extract(int argc, char **argv)
{
	auto_free char *found = argc ? NULL : newest();
	const char *path = argc ? argv[0] : found;
	struct err err = { .text = "" };
	struct snapshots r;
	struct sink out;
	int e;

	if (argc > 1)
		return say_wrong(NAME, "one file, not %d; - is standard input", argc);
	if (!path)
		return say_wrong(NAME, "of which file? There is no /tmp/aerospike-console.*");
	if (snapshots_open(&r, path, &err)) {
		fprintf(stderr, "Error!  File %s not found!  (%s)\n", path, err.text);
		return 1;
	}
	e = sink_to_file(&out, output, SINK_PLAIN, &err);
	if (e) {
		snapshots_close(&r);
		return say_failed(NAME, output, &err);
	}
	printf("Extracting data from %s....", path);
	fflush(stdout);
	e = jemdata_write(&r, &out, &err);
	snapshots_close(&r);
	if (e)
		fprintf(stderr, "\n" NAME ": %s, offset %" PRIu64 ": %s\n", path, err.offset,
			err.text);
	/* What was before the damage is kept. */
	if (sink_finish(&out, &err)) {
		fprintf(stderr, "\n" NAME ": %s: %s\n", output, err.text);
		return 1;
	}
	puts("Done.");
	return e ? 1 : 0;
}

const struct command command_jemalloc_extract = {
	.name = "jemalloc extract",
	.args = "[FILE]",
	.help = "jemdata.py for the old tools, as extract-jem-stats",
	.examples = "  memoir jemalloc extract server.log\n"
		    "  memoir jemalloc extract -o other.py series.json.gz\n",
	.options = options,
	.run = run_jemalloc_extract,
	.link = "extract-jem-stats",
};
