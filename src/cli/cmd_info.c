/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir info: what a recording holds, in figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/facts.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/about.h"
#include "cli/command.h"
#include "cli/cost.h"
#include "cli/modules.h"
#include "cli/naming.h"
#include "cli/open.h"
#include "cli/processes.h"
#include "cli/waiting.h"
#include "model/locations.h"
#include "model/stats.h"

#define MARKERS_SHOWN 20

extern const struct command command_processes;

static bool as_json, follow, no_cache;
static const char *color;
static struct term term;

static const struct command_option options[] = {
	FLAG("json", 0, "print JSON", &as_json),
	WAITING_ROWS,
	FLAG("follow", 'f', "the same, showing the totals as they grow", &follow),
	FLAG("no-cache", 0, "neither use nor make a cache of the recording", &no_cache),
	NAMING_ROWS,
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	{ 0 },
};

static void print_json(struct buf *out, const struct model *m, struct locations *locations,
		       const struct stack_counts *s)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	facts_json(&j, m, s);
	if (model_info(m, "environ"))
		facts_words_json(&j, m, "environ");
	modules_json(&j, m, locations);
	json_end_object(&j);
}

static void text_markers(struct buf *out, const struct model *m)
{
	const struct markers *t = &m->tables.markers;

	term_printf(&term, out, "\n  {dim}%-10s%s{}\n", "marker", "set at, name");
	for (size_t i = 0; i < t->count && i < MARKERS_SHOWN; i++) {
		buf_printf(out, "  %-10u%s%s", t->rows[i].value,
			   duration_text(model_ns(m, t->rows[i].stamp)),
			   t->rows[i].name[0] ? ", " : "");
		buf_printable(out, t->rows[i].name, strlen(t->rows[i].name));
		buf_char(out, '\n');
	}
	if (t->count > MARKERS_SHOWN)
		buf_printf(out, "  and %s more: memoir info --json shows all\n",
			   count_text(t->count - MARKERS_SHOWN));
}

static void print_text(struct buf *out, const struct model *m, struct locations *locations,
		       const struct stack_counts *s)
{
	about_text_program(out, &term, m);
	buf_char(out, '\n');
	about_line(out, &term, "events", "%s", count_text(m->totals.events));
	about_text_totals(out, &term, m, NULL);
	about_line(out, &term, "stacks",
		   "%s that allocate, %s that free; the deepest has %s frames",
		   count_text(s->stacks), count_text(s->free_stacks), count_text(s->deepest));
	cost_text(out, &term, m);
	about_text_loss(out, &term, m);
	if (m->tables.markers.count)
		text_markers(out, m);
	if (m->tables.module_count)
		modules_text(out, &term, m, locations);
}

static int run_info(int argc, char **argv)
{
	struct open_options how = { .follow = follow, .quiet = as_json, .no_cache = no_cache };
	struct locations_options names;
	struct stack_counts stacks;
	struct locations *locations;
	auto_buf struct buf out = { 0 };
	struct model *m;
	int status;

	term_init(&term, 1, color);
	if (argc == 1 && processes_is_folder(argv[0]))
		return answering_show(&command_processes, argv[0], as_json, color);
	m = open_recording("info", argc, argv, &how, &status);
	if (!m)
		return status;
	stats_count_stacks(m, &stacks);
	names = naming_locations();
	locations = locations_new(m, &names);
	if (as_json)
		print_json(&out, m, locations, &stacks);
	else
		print_text(&out, m, locations, &stacks);
	if (buf_flush(&out, 1))
		status = 1;
	locations_free(locations);
	model_free(m);
	return status;
}

const struct command command_info = {
	.name = "info",
	.args = "FILE|FOLDER",
	.help = "what a recording holds, in figures, or a folder of them as a tree",
	.examples = "  memoir info app.dat\n"
		    "  memoir info --json app.dat | jq .leaked_bytes\n"
		    "  memoir info --follow app.dat     while it is being recorded\n"
		    "  memoir info recordings/          the processes of memoir run --children\n",
	.options = options,
	.run = run_info,
};
