/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir report: what made up the peak, what leaked, who allocates most, and what for nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/waiting.h"
#include "model/stats.h"

static uint64_t top = 10;
static bool as_json, follow, full;
static const char *color;

static const struct command_option options[] = {
	{ "top", 'n', "N", "stacks in each part (10)", COMMAND_NUMBER, &top },
	{ "full", 0, NULL, "show every frame, and whole paths", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	WAITING_ROWS,
	{ "follow", 'f', NULL, "the same, showing the totals as they grow", COMMAND_FLAG, &follow },
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct open_options how = { .follow = follow, .quiet = as_json };
	struct report r = { .top = top > UINT32_MAX ? UINT32_MAX : (uint32_t)top, .full = full };
	struct buf out = { 0 };
	struct opened o;

	term_init(&r.term, 1, color);
	if (!open_view("report", argc, argv, &how, &o))
		return o.status;
	r.model = o.model;
	r.locations = o.locations;
	r.view = o.view;
	if (o.view->bits)
		stats_sum_selected(o.model, o.view->bits, &r.sums);
	else
		stats_sum_stacks(o.model, &r.sums);
	if (as_json)
		report_json(&r, &out);
	else
		report_text(&r, &out);
	if (buf_flush(&out, 1))
		o.status = 1;
	buf_release(&out);
	free(r.frames);
	stack_sums_release(&r.sums);
	opened_release(&o);
	return o.status;
}

const struct command command_report = {
	.name = "report",
	.args = "FILE",
	.help = "the peak, leaks, most and temporary allocations",
	.examples = "  memoir report app.dat            the ten largest of everything\n"
		    "  memoir report -n 3 --full app.dat\n"
		    "  memoir report -F 'size >= 1M and not function ~ \"^std::\"' app.dat\n"
		    "  memoir report --json app.dat | jq '.leaks.stacks[0]'\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
