/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc growth: heap profile dumps in a row; which functions hold more and more.
 *
 * Compared by names, so the dumps may be of several runs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/json.h"
#include "base/pattern.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/jemalloc/dump_order.h"
#include "cli/jemalloc/heap_input.h"
#include "cli/jemalloc/heap_naming.h"
#include "cli/jemalloc/plot.h"
#include "cli/table.h"
#include "cli/text.h"
#include "heap/dump_series.h"
#include "heap/report.h"

#define NAME "memoir jemalloc growth"
#define TOP 20
#define LISTED 12 /* dumps that are listed one by one */
#define CURVE 24  /* columns of a row's curve */

static bool by_lines, by_cum, by_stacks, as_given, as_json, as_csv;
static bool inuse_space, inuse_objects, alloc_space, alloc_objects, full;
static uint64_t top = UINT64_MAX;
static const char *focus_word, *ignore_word, *color, *program;

static const struct command_option options[] = {
	{ "cum", 0, NULL, "with what a function's callees hold", COMMAND_FLAG, &by_cum },
	{ "stacks", 0, NULL, "a row for each stack", COMMAND_FLAG, &by_stacks },
	{ "lines", 0, NULL, "source lines instead of functions", COMMAND_FLAG, &by_lines },
	{ "inuse_space", 0, NULL, "bytes that are alive (this is what is done)", COMMAND_FLAG,
	  &inuse_space },
	{ "inuse_objects", 0, NULL, "objects that are alive", COMMAND_FLAG, &inuse_objects },
	{ "alloc_space", 0, NULL, "all bytes ever, with prof_accum", COMMAND_FLAG, &alloc_space },
	{ "alloc_objects", 0, NULL, "all objects ever, with prof_accum", COMMAND_FLAG,
	  &alloc_objects },
	{ "focus", 0, "REGEX", "only stacks through this function, source or address", COMMAND_TEXT,
	  &focus_word },
	{ "ignore", 0, "REGEX", "no stacks through it", COMMAND_TEXT, &ignore_word },
	{ "as-given", 0, NULL, "keep the order of the command line", COMMAND_FLAG, &as_given },
	{ "top", 'n', "N", "rows at most (20; all of them in JSON and CSV)", COMMAND_NUMBER, &top },
	{ "full", 0, NULL, "do not shorten names", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	{ "csv", 0, NULL, "print CSV, with a column for each dump", COMMAND_FLAG, &as_csv },
	{ "program", 0, "FILE", "the program, where it is not where the dumps say", COMMAND_TEXT,
	  &program },
	HEAP_NAMING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

struct shown {
	struct profile profile;
	struct dump_series series;
	struct dump_order *dumps;
	size_t *sample_ends;
	size_t count;
	bool named; /* ordered by names */
	enum heap_measure measure;
	struct term term;
	struct buf out;
};

static int wrong(const char *text)
{
	fprintf(stderr, NAME ": %s\n", text);
	return 2;
}

static enum heap_measure measure(void)
{
	if (inuse_objects)
		return HEAP_INUSE_OBJECTS;
	if (alloc_space)
		return HEAP_ALLOC_SPACE;
	return alloc_objects ? HEAP_ALLOC_OBJECTS : HEAP_INUSE_SPACE;
}

static const char *amount(struct human *h, const struct shown *s, double value, bool sign)
{
	double size = fmin(fabs(value), 0x1p62);
	uint64_t rounded = (uint64_t)llround(size);
	struct human number;

	if (heap_counts_objects(s->measure))
		human_count(&number, rounded);
	else
		human_size(&number, rounded);
	snprintf(h->text, sizeof(h->text), "%s%.40s",
		 !rounded    ? ""
		 : value < 0 ? "-"
		 : sign	     ? "+"
			     : "",
		 number.text);
	return h->text;
}

/* A function's name, or "inner ← outer". */
static void put_what(const struct shown *s, struct buf *out, const struct dump_series_row *r,
		     size_t most)
{
	const struct profile *p = &s->profile;
	const struct profile_stack *k;
	const char *name;

	if (s->series.kind != DUMP_SERIES_STACKS) {
		name = strings_at(&p->names, (uint32_t)r->what);
		buf_printable(out, name, strlen(name));
		return;
	}
	k = &p->stacks[r->what];
	if (!k->frame_count)
		buf_text(out, "(no stack)");
	for (size_t i = 0; i < k->frame_count && i < most; i++) {
		name = strings_at(&p->names, p->frames[k->frame + i]);
		if (i)
			buf_text(out, " ← ");
		buf_printable(out, name, strlen(name));
	}
	if (k->frame_count > most)
		buf_text(out, " ← …");
}

static void print_dumps(struct shown *s)
{
	struct human h;

	buf_printf(&s->out, "%zu dumps, %s\n\n", s->count,
		   as_given   ? "as they were given"
		   : s->named ? "in the order of their numbers"
			      : "in the order in which they were written");
	for (size_t i = 0; i < s->count; i++) {
		if (s->count > LISTED && i >= LISTED / 2 && i < s->count - LISTED / 2) {
			if (i == LISTED / 2)
				buf_printf(&s->out, "%14s\n", "…");
			continue;
		}
		buf_printf(&s->out, "%12s  ", amount(&h, s, s->series.total[i], false));
		buf_printable(&s->out, s->dumps[i].path, strlen(s->dumps[i].path));
		buf_char(&s->out, '\n');
	}
	if (s->count < 3)
		return;
	buf_char(&s->out, '\n');
	plot(&s->out, &s->term, "ALL OF IT", s->series.total, s->count,
	     !heap_counts_objects(s->measure));
}

static void print_rows(struct shown *s)
{
	const struct table_column columns[] = {
		{ "change", "change" },
		{ "first", "first" },
		{ "last", "last" },
		{ "per dump", "slope" },
		{ "steady", "fit", .narrow = 90 },
		{ "curve", "curve", .left = true, .style = STYLE_NUMBER },
		{ by_stacks ? "stack" : "function", "name", .left = true, .style = STYLE_FUNCTION },
		{ 0 }
	};
	struct buf text = { 0 };
	struct table t;
	struct human h;

	buf_printf(&s->out, "\n%sGROWTH%s  %s\n\n", term_style(&s->term, STYLE_TITLE),
		   term_style(&s->term, STYLE_PLAIN),
		   by_stacks ? "by stack"
		   : by_cum  ? "by function, with what it calls"
			     : "by function");
	table_init(&t, columns);
	for (size_t i = 0; i < s->series.row_count && i < (top == UINT64_MAX ? TOP : top); i++) {
		const struct dump_series_row *r = &s->series.rows[i];

		table_cell(&t, amount(&h, s, r->change, true));
		table_cell(&t, amount(&h, s, r->values[0], false));
		table_cell(&t, amount(&h, s, r->values[s->count - 1], false));
		table_cell(&t, amount(&h, s, r->slope, true));
		table_cellf(&t, "%.0f %%", r->fit * 100);
		buf_clear(&text);
		plot_line(&text, r->values, s->count, CURVE);
		table_cell(&t, text.data);
		buf_clear(&text);
		put_what(s, &text, r, full ? SIZE_MAX : 4);
		table_cell(&t, text.data);
	}
	table_print(&t, &s->term, full, &s->out);
	table_release(&t);
	buf_release(&text);
}

static const char *const measure_names[] = { "inuse_space", "inuse_objects", "alloc_space",
					     "alloc_objects" };

static void print_json(struct shown *s)
{
	const struct profile *p = &s->profile;
	struct json j;

	json_init(&j, &s->out);
	json_object(&j, NULL);
	json_text(&j, "measure", measure_names[s->measure]);
	json_array(&j, "dumps");
	for (size_t i = 0; i < s->count; i++) {
		json_object(&j, NULL);
		json_text(&j, "file", s->dumps[i].path);
		json_real(&j, "total", s->series.total[i], 2);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "rows");
	for (size_t i = 0; i < s->series.row_count && i < top; i++) {
		const struct dump_series_row *r = &s->series.rows[i];

		json_object(&j, NULL);
		if (by_stacks) {
			const struct profile_stack *k = &p->stacks[r->what];

			json_array(&j, "frames");
			for (size_t n = 0; n < k->frame_count; n++)
				json_text(&j, NULL, strings_at(&p->names, p->frames[k->frame + n]));
			json_end_array(&j);
		} else {
			json_text(&j, "name", strings_at(&p->names, (uint32_t)r->what));
		}
		json_real(&j, "change", r->change, 2);
		json_real(&j, "slope", r->slope, 2);
		json_real(&j, "fit", r->fit, 4);
		json_array(&j, "values");
		for (size_t n = 0; n < s->count; n++)
			json_real(&j, NULL, r->values[n], 2);
		json_end_array(&j);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
}

static void print_csv(struct shown *s)
{
	struct buf text = { 0 };

	buf_text(&s->out, "change,slope,fit");
	for (size_t i = 0; i < s->count; i++)
		csv_cell(&s->out, s->dumps[i].path);
	csv_cell(&s->out, by_stacks ? "stack" : "name");
	csv_end(&s->out);
	for (size_t i = 0; i < s->series.row_count && i < top; i++) {
		const struct dump_series_row *r = &s->series.rows[i];

		buf_printf(&s->out, "%.2f,%.2f,%.4f", r->change, r->slope, r->fit);
		for (size_t n = 0; n < s->count; n++)
			buf_printf(&s->out, ",%.2f", r->values[n]);
		buf_clear(&text);
		put_what(s, &text, r, SIZE_MAX);
		csv_cell(&s->out, text.data);
		csv_end(&s->out);
	}
	buf_release(&text);
}

static int show(struct shown *s, int argc, char **argv)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int status = 0;

	s->count = (size_t)argc;
	s->dumps = xcalloc(s->count, sizeof(*s->dumps));
	s->sample_ends = xcalloc(s->count, sizeof(*s->sample_ends));
	s->named = dump_order_make(s->dumps, argv, s->count);
	for (size_t i = 0; i < s->count; i++) {
		if (as_given)
			s->dumps[i].path = argv[i];
		status |= heap_input_add(&s->profile, NAME, s->dumps[i].path, 1);
		s->sample_ends[i] = s->profile.sample_count;
	}
	/* A dump that is missing would look like memory that was freed. */
	if (status)
		return status;
	if (profile_finish(&s->profile, &err)) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 1;
	}
	heap_naming_warn(NAME, &s->profile.locations);
	s->measure = measure();
	dump_series_make(&s->series, &s->profile, s->sample_ends, s->count,
			 by_stacks ? DUMP_SERIES_STACKS
			 : by_cum  ? DUMP_SERIES_CUM
				   : DUMP_SERIES_FLAT,
			 s->measure);
	if (as_json) {
		print_json(s);
	} else if (as_csv) {
		print_csv(s);
	} else {
		print_dumps(s);
		print_rows(s);
	}
	return buf_flush(&s->out, 1) ? 1 : 0;
}

static int run(int argc, char **argv)
{
	struct profile_options how = { .detail = by_lines ? PROFILE_LINES : PROFILE_FUNCTIONS,
				       .thread = PROFILE_ALL_THREADS };
	struct shown s = { 0 };
	int status = 2;

	if (argc < 2)
		return wrong("two dumps or more; see " NAME " --help");
	if (as_json && as_csv)
		return wrong("JSON or CSV, not both");
	if (by_cum && by_stacks)
		return wrong("--cum is for functions, --stacks for stacks");
	term_init(&s.term, 1, color);
	if (heap_input_pattern(NAME, "focus", focus_word, &how.focus) &&
	    heap_input_pattern(NAME, "ignore", ignore_word, &how.ignore)) {
		struct heap_locations_options where =
			heap_naming_options(NAME, program, argv, argc);

		profile_init(&s.profile, &how, &where);
		status = show(&s, argc, argv);
		profile_release(&s.profile);
	}
	pattern_free((struct pattern *)how.focus);
	pattern_free((struct pattern *)how.ignore);
	dump_series_release(&s.series);
	free(s.dumps);
	free(s.sample_ends);
	buf_release(&s.out);
	return status;
}

const struct command command_jemalloc_growth = {
	.name = "jemalloc growth",
	.args = "DUMP DUMP…",
	.help = "heap profile dumps in a row; what grows",
	.examples = "  memoir jemalloc growth jeprof.12.*.heap\n"
		    "  memoir jemalloc growth --cum --focus handle_request *.heap\n"
		    "  memoir jemalloc growth --stacks --json first.heap second.heap\n",
	.options = options,
	.run = run,
};
