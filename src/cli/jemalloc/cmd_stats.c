/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc stats: a snapshot of jemalloc's statistics as tables, or all of a file's as JSON
 * or CSV.
 *
 * A file is read once, from its start to its end, and only the last snapshot (for the tables) and
 * a bounded history of size classes are kept. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/jemalloc/stats_input.h"
#include "cli/jemalloc/stats_print.h"
#include "cli/say.h"
#include "jemalloc/merge.h"
#include "jemalloc/stats_write.h"

#define NAME "memoir jemalloc stats"

static bool as_json, with_settings, human;
static const char *arena_word, *sort_word, *only_word, *csv_word, *color;

static const struct command_option options[] = {
	VALUE("arena", 'a', "ID", "bins and the like of this arena (merged)", &arena_word),
	VALUE("sort", 's', "FIELD", "rows of tables by this field, most first", &sort_word),
	VALUE("only", 0, "TABLE", "show this table: summary, waterfall, advice, bins …",
	      &only_word),
	FLAG("human", 'H', "bytes as 1.5 MiB", &human),
	FLAG("settings", 0, "show jemalloc's configuration too", &with_settings),
	FLAG("json", 0, "print JSON, with all snapshots and fields", &as_json),
	VALUE("csv", 0, "TABLE", "print this table of all snapshots as CSV", &csv_word),
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	{ 0 },
};

struct output {
	struct buf out;
	struct json json, series;
	struct stats_print print;
	struct stats_csv csv;
	const char *path;
	struct growth growth; /* of the file */
	struct stats last;
	uint64_t count;
	bool printed; /* something, for the blank line between files */
	int status;
};

static void take_snapshot(void *context, struct snapshots *r)
{
	struct output *o = context;

	o->count = r->documents;
	growth_add(&o->growth, &r->stats, stats_merge(&r->stats), r->time_ns);
	if (as_json) {
		stats_write(&o->json, NULL, &r->stats,
			    &(struct stats_origin){ o->path, r->document, r->time_ns });
	} else if (csv_word) {
		o->csv.file = o->path;
		o->csv.number = r->documents - 1;
		o->csv.time_ns = r->time_ns;
		stats_csv_write(&o->out, &o->csv, &r->stats);
	}
	if (o->out.size >= 1 << 16 && buf_flush(&o->out, 1)) /* a series may be long */
		o->status = 1;
	stats_input_keep_last(&o->last, r);
}

static int print_text(struct output *o)
{
	struct stats *s = &o->last;
	const struct stats_arena *a = stats_tables_arena(s, arena_word);
	const struct term *t = o->print.term;
	const char *version = *s->version ? s->version : "(version not said)";

	if (arena_word && !a) {
		fprintf(stderr, NAME ": %s: there is no arena '%s' in it\n", o->path, arena_word);
		return 1;
	}
	if (o->printed)
		buf_char(&o->out, '\n');
	o->printed = true;
	term_printf(t, &o->out, "{strong}%s{}: jemalloc ", o->path);
	/* The commit of a release is for programs. */
	buf_printable(&o->out, version,
		      o->print.columns && strstr(version, "-0-g")
			      ? (size_t)(strstr(version, "-0-g") - version)
			      : strlen(version));
	if (o->count > 1)
		buf_printf(&o->out, ", the last of %" PRIu64 " snapshots", o->count);
	buf_char(&o->out, '\n');
	stats_print(&o->print, s, a, &o->growth);
	return 0;
}

static int show_file(struct output *o, const char *path)
{
	const char *missing;
	int status;

	o->path = path;
	o->count = 0;
	stats_init(&o->last);
	status = stats_input_file(NAME, path, take_snapshot, o);
	if (o->count) {
		if (as_json) {
			json_object(&o->series, NULL);
			json_text(&o->series, "file", o->path);
			json_number(&o->series, "snapshots", o->count);
			growth_write(&o->series, "growth", &o->growth);
			json_end_object(&o->series);
		} else if (csv_word) {
			stats_csv_write_growth(&o->out, &o->csv, &o->growth);
		} else {
			status |= print_text(o);
		}
		/* What is there is shown; what is not is said once. */
		missing = stats_missing(&o->last);
		if (missing && !status) {
			fprintf(stderr, NAME ": %s: %s\n", o->path, missing);
			status = 1;
		}
	}
	stats_release(&o->last);
	growth_release(&o->growth);
	return status;
}

static const char *wrong_usage(int argc, struct term *term, char room[320])
{
	const char *table = csv_word ? csv_word : only_word;

	if (!argc)
		return "of which file? - is standard input";
	if (sort_word && !stats_tables_field(sort_word)) {
		snprintf(room, 320,
			 "there is no field '%.60s' to sort by; allocated, nmalloc, size …",
			 sort_word);
		return room;
	}
	if (table && !stats_tables_has(table)) {
		char word[64];
		const char *nearest =
			nearest_in_list(table, stats_tables_names, word, sizeof(word));

		snprintf(room, 320, "there is no table '%.60s'; %s%s%s", table,
			 nearest ? "did you mean '" : "there are ",
			 nearest ? nearest : stats_tables_names, nearest ? "'?" : "");
		return room;
	}
	if (as_json && csv_word)
		return "JSON or CSV, not both";
	term_init(term, 1, color);
	return NULL;
}

static int run_jemalloc_stats(int argc, char **argv)
{
	auto_buf struct buf series_text = { 0 };
	struct output o = { 0 };
	struct term term;
	char room[320];
	const char *wrong = wrong_usage(argc, &term, room);

	if (wrong)
		return say_wrong(NAME, "%s", wrong);
	o.print = (struct stats_print){ .term = &term,
					.out = &o.out,
					.columns = isatty(1) ? term.wide : 0,
					.sort = sort_word,
					.only = only_word,
					.human = human,
					.settings = with_settings };
	o.csv = (struct stats_csv){ .name = csv_word, .arena = arena_word, .sort = sort_word };
	o.json = (struct json){ .out = &o.out };
	o.series = (struct json){ .out = &series_text };
	if (as_json) {
		json_object(&o.json, NULL);
		json_array(&o.json, "snapshots");
		json_array(&o.series, NULL);
	}
	for (int i = 0; i < argc; i++)
		o.status |= show_file(&o, argv[i]);
	if (as_json) {
		json_end_array(&o.json);
		json_end_array(&o.series);
		json_written(&o.json, "series", series_text.data, series_text.size - 1);
		json_end_object(&o.json);
	}
	if (buf_flush(&o.out, 1))
		o.status = 1;
	buf_release(&o.out);
	return o.status;
}

const struct command command_jemalloc_stats = {
	.name = "jemalloc stats",
	.args = "FILE…",
	.help = "snapshots as tables, JSON or CSV; advice",
	.examples = "  memoir jemalloc stats stats.json\n"
		    "  memoir jemalloc stats --arena 0 --sort allocated server.log\n"
		    "  memoir jemalloc stats --only advice server.log.gz\n"
		    "  memoir jemalloc stats --json series.txt\n"
		    "  memoir jemalloc stats --csv bins series.txt > bins.csv\n",
	.options = options,
	.run = run_jemalloc_stats,
};
