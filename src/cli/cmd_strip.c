/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir strip: a recording without what was freed soon, but with all its totals. */
#include <string.h>

#include "base/human.h"
#include "cli/command.h"
#include "cli/save.h"
#include "cli/waiting.h"
#include "query/value.h"
#include "rewrite/strip.h"

static const char *path;
static uint64_t threshold_ns = STRIP_ALL;

static const char *set_threshold(const struct command_option *row, const char *value)
{
	static struct err err; /* outlives the call: what is wrong is printed later */
	struct value v;

	if (value_parse(&v, ARG_DURATION, value, &err))
		return err.text;
	threshold_ns = v.number;
	value_release(&v);
	return NULL;
}

static const struct command_option options[] = {
	VALUE("output", 'o', "OUT", "the file to write; needed", &path),
	CALL("threshold", 't', "DURATION", "keep what lived longer than this: 10ms, 2s, 5m …",
	     set_threshold),
	WAITING_ROW,
	{ 0 },
};

static int run_strip(int argc, char **argv)
{
	struct strip_result result = { 0 };
	struct strip_options how = { .threshold_ns = threshold_ns };
	struct err err;
	struct save s;
	int status = save_open(&s, "strip", argc, argv, path, NULL), error;

	if (status)
		return status;
	how.progress = save_progress;
	how.context = &s;
	error = strip(&s.source, s.input, s.output, &how, &result, &err);
	status = save_close(&s, error, &err, &result.loss);
	if (s.size)
		save_say(&s, "; %s of %s allocations removed (%s)", count_text(result.removed),
			 count_text(result.allocations), size_text(result.removed_bytes));
	return status;
}

const struct command command_strip = {
	.name = "strip",
	.args = "FILE",
	.help = "leave out what was freed soon; the totals stay",
	.examples =
		"  memoir strip -o leaks.dat app.dat          only what was never freed\n"
		"  memoir strip -t 10s -o long.dat app.dat    and what lived longer than that\n",
	.options = options,
	.run = run_strip,
};
