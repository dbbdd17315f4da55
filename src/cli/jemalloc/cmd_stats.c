/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc stats: a snapshot of jemalloc's statistics as tables, or all of a file's as JSON
 * or CSV.
 *
 * A file is read once, from its start to its end, and only the last snapshot (for the tables) and
 * a bounded history of size classes are kept. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/jemalloc/stats_tables.h"
#include "jemalloc/merge.h"
#include "jemalloc/snapshots.h"
#include "jemalloc/stats_write.h"

#define NAME "memoir jemalloc stats"

static bool as_json, with_settings, human;
static const char *arena_word, *sort_word, *only_word, *csv_word, *color;

static const struct command_option options[] = {
	{ "arena", 'a', "ID", "bins and the like of this arena (merged)", COMMAND_TEXT,
	  &arena_word },
	{ "sort", 's', "FIELD", "rows of tables by this field, most first", COMMAND_TEXT,
	  &sort_word },
	{ "only", 0, "TABLE", "show this table: summary, waterfall, advice, bins …", COMMAND_TEXT,
	  &only_word },
	{ "human", 'H', NULL, "bytes as 1.5 MiB", COMMAND_FLAG, &human },
	{ "settings", 0, NULL, "show jemalloc's configuration too", COMMAND_FLAG, &with_settings },
	{ "json", 0, NULL, "print JSON, with all snapshots and fields", COMMAND_FLAG, &as_json },
	{ "csv", 0, "TABLE", "print this table of all snapshots as CSV", COMMAND_TEXT, &csv_word },
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

struct output {
	struct buf out;
	struct json json;
	struct stats_tables tables;
	struct stats_csv csv;
	const char *path;
	struct growth growth; /* of the file */
	struct stats last;
	bool printed; /* something, for the blank line between files */
	int status;
};

static void say(struct output *o, const struct err *err)
{
	if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, NAME ": %s: %s\n", o->path, err->text);
	else
		fprintf(stderr, NAME ": %s, offset %" PRIu64 ": %s\n", o->path, err->offset,
			err->text);
	o->status = 1;
}

static void one_snapshot(struct output *o, struct snapshots *r)
{
	const struct stats_arena *whole = stats_merge(&r->stats);

	growth_add(&o->growth, &r->stats, whole, r->time_ns);
	if (as_json) {
		stats_write(&o->json, NULL, &r->stats,
			    &(struct stats_origin){ o->path, r->document, r->time_ns });
	} else if (csv_word) {
		o->csv.file = o->path;
		o->csv.number = r->documents - 1;
		o->csv.time_ns = r->time_ns;
		stats_csv(&o->out, &o->csv, &r->stats);
	}
	if (o->out.size >= 1 << 16 && buf_flush(&o->out, 1)) /* a series may be long */
		o->status = 1;
}

static void keep(struct stats *last, struct snapshots *r)
{
	struct stats other = *last;

	*last = r->stats;
	r->stats = other;
}

static void print_text(struct output *o, uint64_t count)
{
	struct stats *s = &o->last;
	const struct stats_arena *a = stats_tables_arena(s, arena_word);
	const struct term *t = o->tables.term;
	const char *version = *s->version ? s->version : "(version not said)";

	if (arena_word && !a) {
		fprintf(stderr, NAME ": %s: there is no arena '%s' in it\n", o->path, arena_word);
		o->status = 1;
		return;
	}
	if (o->printed)
		buf_char(&o->out, '\n');
	o->printed = true;
	buf_printf(&o->out, "%s%s%s: jemalloc ", term_style(t, STYLE_STRONG), o->path,
		   term_style(t, STYLE_PLAIN));
	/* The commit of a release is for programs. */
	buf_printable(&o->out, version,
		      o->tables.columns && strstr(version, "-0-g")
			      ? (size_t)(strstr(version, "-0-g") - version)
			      : strlen(version));
	if (count > 1)
		buf_printf(&o->out, ", the last of %" PRIu64 " snapshots", count);
	buf_char(&o->out, '\n');
	stats_tables_print(&o->out, &o->tables, s, a, &o->growth);
}

/* What is there is shown; what is not is said once. */
static void say_missing(struct output *o, const struct stats *s)
{
	const char *missing = stats_missing(s);

	if (!missing || o->status)
		return;
	fprintf(stderr, NAME ": %s: %s\n", o->path, missing);
	o->status = 1;
}

static void series_end(struct output *o, struct json *series, uint64_t count)
{
	json_object(series, NULL);
	json_text(series, "file", o->path);
	json_number(series, "snapshots", count);
	growth_write(series, "growth", &o->growth);
	json_end_object(series);
}

static int one_file(struct output *o, struct json *series)
{
	struct err err = { .text = "" };
	struct snapshots r;
	int n = snapshots_open(&r, o->path, &err);

	o->status = 0;
	stats_init(&o->last);
	if (!n)
		while ((n = snapshots_next(&r, &err)) == 1 || n == -EBADMSG) {
			if (n == 1) {
				one_snapshot(o, &r);
				keep(&o->last, &r);
			} else {
				say(o, &err);
			}
		}
	if (n) {
		say(o, &err);
	} else if (!r.documents) {
		if (!o->status)
			fprintf(stderr, NAME ": %s holds no jemalloc statistics: %s\n", o->path,
				snapshots_guess(&r));
		o->status = 1;
	}
	if (r.documents) {
		if (as_json)
			series_end(o, series, r.documents);
		else if (csv_word)
			stats_csv_growth(&o->out, &o->csv, &o->growth);
		else
			print_text(o, r.documents);
		say_missing(o, &o->last);
	}
	stats_release(&o->last);
	growth_release(&o->growth);
	snapshots_close(&r);
	return o->status;
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

static int run(int argc, char **argv)
{
	struct buf series_text = { 0 };
	struct output o = { 0 };
	struct json series;
	struct term term;
	char room[320];
	const char *wrong = wrong_usage(argc, &term, room);
	int status = 0;

	if (wrong) {
		fprintf(stderr, NAME ": %s\n", wrong);
		return 2;
	}
	o.tables = (struct stats_tables){ .term = &term,
					  .columns = isatty(1) ? term.wide : 0,
					  .arena = arena_word,
					  .sort = sort_word,
					  .only = only_word,
					  .human = human,
					  .settings = with_settings };
	o.csv = (struct stats_csv){ .tables = &o.tables, .name = csv_word };
	json_init(&o.json, &o.out);
	json_init(&series, &series_text);
	if (as_json) {
		json_object(&o.json, NULL);
		json_array(&o.json, "snapshots");
		json_array(&series, NULL);
	}
	for (int i = 0; i < argc; i++) {
		o.path = argv[i];
		status |= one_file(&o, &series);
	}
	if (as_json) {
		json_end_array(&o.json);
		json_end_array(&series);
		json_written(&o.json, "series", series_text.data, series_text.size - 1);
		json_end_object(&o.json);
	}
	if (buf_flush(&o.out, 1))
		status = 1;
	buf_release(&o.out);
	buf_release(&series_text);
	return status;
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
	.run = run,
};
