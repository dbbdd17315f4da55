/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc growth: heap profile dumps in a row; which functions hold more and more.
 *
 * Compared by names, so the dumps may be of several runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/jemalloc/heap_options.h"
#include "cli/jemalloc/plot.h"
#include "cli/say.h"
#include "cli/table.h"
#include "heap/dump_order.h"
#include "heap/dump_series.h"
#include "heap/report.h"

#define NAME "memoir jemalloc growth"
#define TOP 20
#define LISTED 12 /* dumps that are listed one by one */
#define CURVE 24  /* columns of a row's curve */

static bool by_stacks, as_given;
static uint64_t top = UINT64_MAX;

static const struct command_option options[] = {
	FLAG("stacks", 0, "a row for each stack", &by_stacks),
	FLAG("as-given", 0, "keep the order of the command line", &as_given),
	VALUE("top", 'n', "N", "rows at most (20; all of them in JSON and CSV)", &top),
	{ 0 },
};

static const char *amount(struct human *h, const struct dump_series *s, double value, bool sign)
{
	int64_t rounded = llround(fmax(fmin(value, 0x1p62), -0x1p62));
	struct human number;

	if (heap_counts_objects(s->measure))
		human_signed_count(&number, rounded);
	else
		human_signed_size(&number, rounded);
	snprintf(h->text, sizeof(h->text), "%s%.46s", sign && rounded > 0 ? "+" : "", number.text);
	return h->text;
}

static void print_dumps(const struct dump_series *s, bool named, const struct term *term,
			struct buf *out)
{
	struct human h;

	buf_printf(out, "%zu dumps, %s\n\n", s->dump_count,
		   as_given ? "as they were given"
		   : named  ? "in the order of their numbers"
			    : "in the order in which they were written");
	for (size_t i = 0; i < s->dump_count; i++) {
		if (s->dump_count > LISTED && i >= LISTED / 2 && i < s->dump_count - LISTED / 2) {
			if (i == LISTED / 2)
				buf_printf(out, "%14s\n", "…");
			continue;
		}
		buf_printf(out, "%12s  ", amount(&h, s, s->total[i], false));
		buf_printable(out, s->names[i], strlen(s->names[i]));
		buf_char(out, '\n');
	}
	if (s->dump_count < 3)
		return;
	buf_char(out, '\n');
	plot(out, term, "ALL OF IT", s->total, s->dump_count, !heap_counts_objects(s->measure));
}

static void print_rows(const struct dump_series *s, const struct term *term, struct buf *out)
{
	const struct table_column columns[] = { { "change" },
						{ "first" },
						{ "last" },
						{ "per dump" },
						{ "steady", .narrow = 90 },
						{ "curve", .left = true, .style = STYLE_NUMBER },
						{ by_stacks ? "stack" : "function", .left = true,
						  .style = STYLE_FUNCTION },
						{ 0 } };
	auto_buf struct buf text = { 0 };
	auto_release(table_release) struct table t = { 0 };
	struct human h;

	term_printf(term, out, "\n{title}GROWTH{}  %s\n\n",
		    by_stacks	       ? "by stack"
		    : heap_options.cum ? "by function, with what it calls"
				       : "by function");
	table_init(&t, columns);
	for (size_t i = 0; i < s->row_count && i < (top == UINT64_MAX ? TOP : top); i++) {
		const struct dump_series_row *r = &s->rows[i];

		table_cell(&t, amount(&h, s, r->change, true));
		table_cell(&t, amount(&h, s, r->values[0], false));
		table_cell(&t, amount(&h, s, r->values[s->dump_count - 1], false));
		table_cell(&t, amount(&h, s, r->slope, true));
		table_cellf(&t, "%.0f %%", r->fit * 100);
		buf_clear(&text);
		plot_line(&text, r->values, s->dump_count, CURVE);
		table_cell(&t, text.data);
		buf_clear(&text);
		dump_series_put_name(&text, s, r, heap_options.full ? SIZE_MAX : 4);
		table_cell(&t, text.data);
	}
	table_print(&t, term, heap_options.full, out);
}

static int show(const struct dump_series *s, bool named)
{
	auto_buf struct buf out = { 0 };
	struct term term;
	struct json j = { .out = &out };
	int status;

	term_init(&term, 1, heap_options.color);
	if (heap_options.json) {
		dump_series_write_json(&j, s, top);
	} else if (heap_options.csv) {
		dump_series_write_csv(&out, s, top);
	} else {
		print_dumps(s, named, &term, &out);
		print_rows(s, &term, &out);
	}
	status = buf_flush(&out, 1) ? 1 : 0;
	return status;
}

static int compare_dumps(struct profile *p, const char **paths, size_t count)
{
	auto_free size_t *sample_ends = xcalloc(count, sizeof(*sample_ends));
	struct err err = { .offset = ERR_NO_OFFSET };
	bool named = !as_given && dump_order(paths, count);
	struct dump_series series;
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		status |= heap_options_add(p, NAME, paths[i], 1);
		sample_ends[i] = p->sample_count;
	}
	/* A dump that is missing would look like memory that was freed. */
	if (status)
		return status;
	if (profile_finish(p, &err))
		return say_failed(NAME, NULL, &err);
	heap_options_warn(NAME, &p->locations);
	dump_series_compute(&series, p, paths, sample_ends, count,
			    by_stacks	       ? DUMP_SERIES_STACKS
			    : heap_options.cum ? DUMP_SERIES_CUM
					       : DUMP_SERIES_FLAT,
			    p->options.measure);
	status = show(&series, named);
	dump_series_release(&series);
	return status;
}

static int run_jemalloc_growth(int argc, char **argv)
{
	const char **paths = (const char **)argv;
	struct heap_locations_options where;
	struct profile_options how;
	struct profile p;
	int status = 2;

	if (argc < 2)
		return say_wrong(NAME, "two dumps or more; see " NAME " --help");
	if (heap_options.json && heap_options.csv)
		return say_wrong(NAME, "JSON or CSV, not both");
	if (heap_options.cum && by_stacks)
		return say_wrong(NAME, "--cum is for functions, --stacks for stacks");
	if (heap_options_profile(NAME, &how)) {
		where = heap_options_locations(NAME, heap_options.program, paths, (size_t)argc);
		profile_init(&p, &how, &where);
		status = compare_dumps(&p, paths, (size_t)argc);
		profile_release(&p);
	}
	heap_options_release(&how);
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
	.more_options = heap_options_rows,
	.shared = OF_GROWTH,
	.run = run_jemalloc_growth,
};
