/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir timeline: what was alive, allocated and freed over time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/shape.h"
#include "cli/waiting.h"
#include "query/series.h"

#define LABEL 11    /* columns before the chart */
#define HEIGHT 12   /* rows of it */
#define BUCKETS 200 /* of JSON and CSV */

static bool as_json, as_csv;
static uint64_t buckets;
static const char *color, *from_text, *to_text;

static const struct command_option options[] = {
	{ "from", 0, "TIME", "begin there: 1.5s after the start, 50%, a date", COMMAND_TEXT,
	  &from_text },
	{ "to", 0, "TIME", "end there", COMMAND_TEXT, &to_text },
	{ "buckets", 'n', "N", "parts of the time (200; as a chart: its columns)", COMMAND_NUMBER,
	  &buckets },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	{ "csv", 0, NULL, "print CSV", COMMAND_FLAG, &as_csv },
	WAITING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

/* The figures of a bucket, by the name that JSON and CSV have for them. */
#define COLUMNS_OF_POINT(X)                                                                        \
	X(bytes)                                                                                   \
	X(count)                                                                                   \
	X(most_bytes)                                                                              \
	X(most_count)                                                                              \
	X(allocated_bytes)                                                                         \
	X(allocated_count)                                                                         \
	X(freed_bytes)                                                                             \
	X(freed_count)                                                                             \
	X(leaked_bytes)                                                                            \
	X(leaked_count)

struct shown {
	const struct model *m;
	const struct view *view;
	struct series s;
	struct term term;
};

static uint64_t edge_ns(const struct shown *t, uint32_t bucket)
{
	return model_ns(t->m, series_edge(&t->s, bucket));
}

static double bucket_seconds(const struct shown *t)
{
	uint64_t ns = model_ns(t->m, t->s.to) - model_ns(t->m, t->s.from);

	return ns ? (double)ns / 1e9 / t->s.count : 0;
}

static void print_json(const struct shown *t, struct buf *out)
{
	double seconds = bucket_seconds(t);
	uint64_t bytes = t->s.before.bytes, count = t->s.before.count;
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	about_json_program(&j, t->m);
	about_json_loss(&j, t->m);
	json_number(&j, "from_ns", model_ns(t->m, t->s.from));
	json_number(&j, "to_ns", model_ns(t->m, t->s.to));
	json_object(&j, "before");
	json_number(&j, "bytes", bytes);
	json_number(&j, "count", count);
	json_end_object(&j);
	json_array(&j, "points");
	for (uint32_t i = 0; i < t->s.count; i++) {
		const struct series_point *p = &t->s.points[i];

		json_object(&j, NULL);
		json_number(&j, "from_ns", edge_ns(t, i));
		json_number(&j, "to_ns", edge_ns(t, i + 1));
#define X(name) json_number(&j, #name, p->name);
		COLUMNS_OF_POINT(X)
#undef X
		json_number(&j, "most_at_ns", model_ns(t->m, p->most_at));
		json_real(&j, "bytes_delta", (double)(int64_t)(p->bytes - bytes), 0);
		json_real(&j, "count_delta", (double)(int64_t)(p->count - count), 0);
		json_real(&j, "allocations_per_second",
			  seconds > 0 ? (double)p->allocated_count / seconds : 0, 1);
		json_real(&j, "frees_per_second",
			  seconds > 0 ? (double)p->freed_count / seconds : 0, 1);
		json_end_object(&j);
		bytes = p->bytes;
		count = p->count;
	}
	json_end_array(&j);
	json_end_object(&j);
}

static void print_csv(const struct shown *t, struct buf *out)
{
	buf_text(out, "from_ns,to_ns");
#define X(name) buf_text(out, "," #name);
	COLUMNS_OF_POINT(X)
#undef X
	buf_text(out, ",most_at_ns\n");
	for (uint32_t i = 0; i < t->s.count; i++) {
		const struct series_point *p = &t->s.points[i];

		buf_printf(out, "%" PRIu64 ",%" PRIu64, edge_ns(t, i), edge_ns(t, i + 1));
#define X(name) buf_printf(out, ",%" PRIu64, p->name);
		COLUMNS_OF_POINT(X)
#undef X
		buf_printf(out, ",%" PRIu64 "\n", model_ns(t->m, p->most_at));
	}
}

static void print_chart(const struct shown *t, struct buf *out, uint64_t most)
{
	struct human label;

	for (unsigned row = HEIGHT; row-- > 0;) {
		bool marked = (row + 1) % 4 == 0;

		human_size(&label, (uint64_t)((double)most * (row + 1) / HEIGHT));
		buf_printf(out, "%s%*s %s%s", term_style(&t->term, STYLE_DIM), LABEL - 2,
			   marked ? label.text : "", marked ? "\xe2\x94\xa4" : "\xe2\x94\x82",
			   term_style(&t->term, STYLE_PLAIN));
		buf_text(out, term_style(&t->term, STYLE_NUMBER));
		for (uint32_t i = 0; i < t->s.count; i++) {
			uint64_t n = shape_eighths(t->s.points[i].most_bytes, most, HEIGHT);

			shape_cell(out, n > row * 8 ? n - row * 8 : 0);
		}
		buf_printf(out, "%s\n", term_style(&t->term, STYLE_PLAIN));
	}
}

static void print_axis(const struct shown *t, struct buf *out)
{
	struct human a, b, c;
	size_t used;

	buf_printf(out, "%s%*s \xe2\x94\x94", term_style(&t->term, STYLE_DIM), LABEL - 2, "0 B");
	for (uint32_t i = 0; i < t->s.count; i++)
		buf_text(out, "\xe2\x94\x80");
	human_duration(&a, edge_ns(t, 0));
	human_duration(&b, edge_ns(t, t->s.count / 2));
	human_duration(&c, edge_ns(t, t->s.count));
	buf_char(out, '\n');
	buf_repeat(out, ' ', LABEL);
	buf_text(out, a.text);
	used = text_columns(a.text);
	if (t->s.count / 2 > used + 1) {
		buf_repeat(out, ' ', t->s.count / 2 - used);
		buf_text(out, b.text);
		used = t->s.count / 2 + text_columns(b.text);
	}
	if (t->s.count > used + text_columns(c.text) + 1) {
		buf_repeat(out, ' ', t->s.count - used - text_columns(c.text));
		buf_text(out, c.text);
	}
	buf_printf(out, "%s\n", term_style(&t->term, STYLE_PLAIN));
}

enum unit { UNIT_BYTES, UNIT_COUNT, UNIT_RATE };

/* One line of cells for a figure, and what its highest stands for. */
static void print_line(const struct shown *t, struct buf *out, const char *label, size_t offset,
		       enum unit unit)
{
	double seconds = bucket_seconds(t);
	uint64_t most = 0;
	struct human a;

	for (uint32_t i = 0; i < t->s.count; i++) {
		uint64_t v = *(const uint64_t *)((const char *)&t->s.points[i] + offset);

		most = v > most ? v : most;
	}
	buf_printf(out, "%*s ", LABEL - 1, label);
	buf_text(out, term_style(&t->term, STYLE_NUMBER));
	for (uint32_t i = 0; i < t->s.count; i++)
		shape_cell(out, shape_eighths(
					*(const uint64_t *)((const char *)&t->s.points[i] + offset),
					most, 1));
	if (unit == UNIT_RATE)
		human_count(&a, seconds > 0 ? (uint64_t)((double)most / seconds + 0.5) : 0);
	else if (unit == UNIT_COUNT)
		human_count(&a, most);
	else
		human_size(&a, most);
	buf_printf(out, "%s %s%s\n", term_style(&t->term, STYLE_PLAIN), a.text,
		   unit == UNIT_RATE ? "/s" : "");
}

static void print_text(const struct shown *t, struct buf *out)
{
	const struct series_point *top = &t->s.points[0];
	struct human a, b, c;

	for (uint32_t i = 1; i < t->s.count; i++)
		if (t->s.points[i].most_bytes > top->most_bytes)
			top = &t->s.points[i];
	about_text_program(out, &t->term, t->m);
	about_text_loss(out, &t->term, t->m);
	buf_printf(out, "\n%sBYTES ALIVE%s  ", term_style(&t->term, STYLE_TITLE),
		   term_style(&t->term, STYLE_PLAIN));
	if (!top->most_count) {
		buf_text(out, "nothing was alive\n");
		shape_removed(out, &t->term, t->m);
		return;
	}
	buf_printf(out, "at most %s in %s blocks, %s after the start\n",
		   human_size(&a, top->most_bytes), human_count(&b, top->most_bytes_count),
		   human_duration(&c, model_ns(t->m, top->most_at)));
	shape_removed(out, &t->term, t->m);
	buf_char(out, '\n');
	print_chart(t, out, top->most_bytes);
	print_axis(t, out);
	buf_char(out, '\n');
	print_line(t, out, "blocks", offsetof(struct series_point, most_count), UNIT_COUNT);
	print_line(t, out, "allocated", offsetof(struct series_point, allocated_count), UNIT_RATE);
	print_line(t, out, "freed", offsetof(struct series_point, freed_count), UNIT_RATE);
	print_line(t, out, "leaked", offsetof(struct series_point, leaked_bytes), UNIT_BYTES);
}

/* Which stretch was asked for; false after saying what is wrong. */
static bool find_stretch(const struct model *m, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t ns;

	series_whole(m, ret_from, ret_to);
	if (from_text) {
		if (!shape_time("timeline", "from", m, from_text, &ns))
			return false;
		*ret_from = measure_stamp(m, ns);
	}
	if (to_text) {
		if (!shape_time("timeline", "to", m, to_text, &ns))
			return false;
		*ret_to = measure_stamp(m, ns);
	}
	if (*ret_to > *ret_from)
		return true;
	fprintf(stderr, "memoir timeline: there is nothing between --from and --to\n");
	return false;
}

static int run(int argc, char **argv)
{
	struct open_options how = { .quiet = as_json || as_csv };
	struct shown t = { 0 };
	struct buf out = { 0 };
	struct opened o;
	uint64_t from, to;

	term_init(&t.term, 1, color);
	if (buckets > SERIES_MAX) {
		fprintf(stderr, "memoir timeline: --buckets is at most %u\n", SERIES_MAX);
		return 2;
	}
	if (!open_view("timeline", argc, argv, &how, &o))
		return o.status;
	t.m = o.model;
	t.view = o.view;
	if (!find_stretch(o.model, &from, &to)) {
		opened_release(&o);
		return 2;
	}
	if (!as_json && !as_csv)
		buckets = buckets ? buckets : t.term.width - LABEL - 12;
	series_init(&t.s, o.view, from, to, (uint32_t)(buckets ? buckets : BUCKETS));
	if (as_json)
		print_json(&t, &out);
	else if (as_csv)
		print_csv(&t, &out);
	else
		print_text(&t, &out);
	if (buf_flush(&out, 1))
		o.status = 1;
	buf_release(&out);
	series_release(&t.s);
	opened_release(&o);
	return o.status;
}

const struct command command_timeline = {
	.name = "timeline",
	.args = "FILE",
	.help = "what was alive, allocated and freed over time",
	.examples = "  memoir timeline app.dat\n"
		    "  memoir timeline --from 10s --to 12s app.dat\n"
		    "  memoir timeline -F 'function ~ \"parse\"' app.dat\n"
		    "  memoir timeline --csv -n 1000 app.dat > app.csv\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
