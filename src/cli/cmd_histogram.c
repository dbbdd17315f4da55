/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir histogram: how large blocks are, and how long they live. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/args.h"
#include "cli/shape.h"
#include "cli/waiting.h"
#include "query/histogram.h"

#define LABEL 21 /* columns of a bin's name */

static struct shape_measure measure;
static bool as_json, as_csv, by_count, by_bytes;
static uint64_t top = 10;
static const char *color;

static const struct command_option options[] = {
	SHAPE_MEASURE_OPTIONS(measure),
	{ "count", 0, NULL, "bars and order by blocks (as for lifetimes)", COMMAND_FLAG,
	  &by_count },
	{ "bytes", 0, NULL, "bars and order by bytes (as for sizes)", COMMAND_FLAG, &by_bytes },
	{ "top", 'n', "N", "single sizes to list (10)", COMMAND_NUMBER, &top },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	{ "csv", 0, NULL, "print CSV", COMMAND_FLAG, &as_csv },
	WAITING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

/* A power of ten of ns: "100 µs". */
static void decade(struct buf *out, uint64_t ns)
{
	static const char *const units[] = { "ns", "\xc2\xb5s", "ms", "s" };
	unsigned unit = 0;

	for (; unit < 3 && ns >= 1000; unit++)
		ns /= 1000;
	buf_printf(out, "%" PRIu64 " %s", ns, units[unit]);
}

/* "64 B … 127 B", "1 µs … 10 µs", "never freed" */
static void bin_name(struct buf *out, enum histogram_kind kind, const struct histogram_bin *b)
{
	struct human from, to;

	if (b->never) {
		buf_text(out, "never freed");
	} else if (kind == HISTOGRAM_LIFETIME) {
		if (!b->from)
			buf_text(out, "below ");
		else
			decade(out, b->from);
		if (b->to == NEVER)
			buf_text(out, " and more");
		else if (b->from)
			buf_text(out, " \xe2\x80\xa6 ");
		if (b->to != NEVER)
			decade(out, b->to);
	} else if (b->to - b->from <= 1) {
		human_size(&from, b->from);
		buf_text(out, from.text);
	} else if (b->from < 1024) {
		buf_printf(out, "%" PRIu64 " \xe2\x80\xa6 %" PRIu64 " B", b->from, b->to - 1);
	} else {
		buf_printf(out, "%s \xe2\x80\xa6 %s", human_size(&from, b->from),
			   human_size(&to, b->to));
	}
}

static uint64_t value_of(const struct weight *w, bool count)
{
	return count ? w->count : w->bytes;
}

/* Decades beyond the longest life say nothing. */
static bool is_beyond(const struct histogram *h, unsigned bin)
{
	for (unsigned i = bin; i < h->count && !h->bins[i].never; i++)
		if (h->bins[i].weight.count)
			return false;
	return h->kind == HISTOGRAM_LIFETIME && !h->bins[bin].never;
}

static void print_bins(struct buf *out, const struct term *t, const struct histogram *h, bool count)
{
	unsigned columns = t->width > LABEL + 42 ? t->width - LABEL - 40 : 10;
	uint64_t most = 0;

	for (unsigned i = 0; i < h->count; i++)
		if (value_of(&h->bins[i].weight, count) > most)
			most = value_of(&h->bins[i].weight, count);
	buf_printf(out, "%s%*s %11s %10s%s\n", term_style(t, STYLE_DIM), LABEL,
		   histogram_kinds[h->kind], "blocks", "bytes", term_style(t, STYLE_PLAIN));
	for (unsigned i = 0; i < h->count; i++) {
		const struct histogram_bin *b = &h->bins[i];
		uint64_t value = value_of(&b->weight, count);
		struct buf name = { 0 };
		struct human a, c, d;

		if (is_beyond(h, i))
			continue;
		bin_name(&name, h->kind, b);
		if (text_columns(name.data) < LABEL)
			buf_repeat(out, ' ', LABEL - text_columns(name.data));
		buf_printf(out, "%s %11s %10s  %s", name.data, human_count(&a, b->weight.count),
			   human_size(&c, b->weight.bytes), term_style(t, STYLE_NUMBER));
		shape_bar(out, most ? (double)value / (double)most : 0, columns);
		buf_printf(out, "%s%8s\n", term_style(t, STYLE_PLAIN),
			   value ? human_share(&d, value, value_of(&h->total, count)) : "");
		buf_release(&name);
	}
}

static void print_sizes(struct buf *out, const struct term *t, const struct histogram *h,
			bool count)
{
	struct human a, b, c, d;

	if (!top || !h->size_count)
		return;
	buf_printf(out, "\n%sSIZES%s  %s different ones; most %s first\n\n",
		   term_style(t, STYLE_TITLE), term_style(t, STYLE_PLAIN),
		   human_count(&a, h->size_count), count ? "blocks" : "bytes");
	for (uint32_t i = 0; i < h->size_count && i < top; i++) {
		const struct size_row *s = &h->sizes[i];

		human_count(&a, s->size);
		human_count(&b, s->weight.count);
		buf_printf(out, "%*s B %11s %10s  %s%8s%s", LABEL - 2, a.text, b.text,
			   human_size(&c, s->weight.bytes), term_style(t, STYLE_NUMBER),
			   human_share(&d, value_of(&s->weight, count), value_of(&h->total, count)),
			   term_style(t, STYLE_PLAIN));
		if (s->slack)
			buf_printf(out, "%s  and %s slack%s", term_style(t, STYLE_DIM),
				   human_size(&a, s->slack), term_style(t, STYLE_PLAIN));
		buf_char(out, '\n');
	}
}

static void print_text(struct buf *out, const struct term *t, const struct model *m,
		       const struct measuring *how, const struct histogram *h, bool count)
{
	struct human a, b;

	about_text_program(out, t, m);
	about_text_loss(out, t, m);
	buf_printf(out, "\n%s%s%s  ", term_style(t, STYLE_TITLE),
		   h->kind == HISTOGRAM_SIZE ? "SIZE" : "LIFETIME", term_style(t, STYLE_PLAIN));
	if (!h->total.count)
		buf_text(out, "nothing was ");
	else
		buf_printf(out, "%s in %s block%s ", human_size(&a, h->total.bytes),
			   human_count(&b, h->total.count), h->total.count == 1 ? "" : "s");
	shape_measure_title(out, m, how);
	buf_char(out, '\n');
	shape_removed(out, t, m);
	if (!h->total.count)
		return;
	buf_char(out, '\n');
	print_bins(out, t, h, count);
	print_sizes(out, t, h, count);
}

static void json_weight(struct json *j, const struct weight *w, uint64_t slack)
{
	json_number(j, "count", w->count);
	json_number(j, "bytes", w->bytes);
	json_number(j, "slack_bytes", slack);
}

static void print_json(struct buf *out, const struct model *m, const struct measuring *how,
		       const struct histogram *h)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	about_json_program(&j, m);
	about_json_loss(&j, m);
	json_text(&j, "histogram", histogram_kinds[h->kind]);
	shape_measure_json(&j, m, how);
	json_number(&j, "count", h->total.count);
	json_number(&j, "bytes", h->total.bytes);
	json_array(&j, "bins");
	for (unsigned i = 0; i < h->count; i++) {
		const struct histogram_bin *b = &h->bins[i];

		json_object(&j, NULL);
		if (b->never)
			json_null(&j, "from");
		else
			json_number(&j, "from", b->from);
		if (b->to == NEVER)
			json_null(&j, "to");
		else
			json_number(&j, "to", b->to);
		json_bool(&j, "never_freed", b->never);
		json_weight(&j, &b->weight, b->slack);
		json_end_object(&j);
	}
	json_end_array(&j);
	if (h->kind == HISTOGRAM_SIZE) {
		json_array(&j, "sizes");
		for (uint32_t i = 0; i < h->size_count && i < top; i++) {
			json_object(&j, NULL);
			json_number(&j, "size", h->sizes[i].size);
			json_weight(&j, &h->sizes[i].weight, h->sizes[i].slack);
			json_end_object(&j);
		}
		json_end_array(&j);
	}
	json_end_object(&j);
}

static void print_csv(struct buf *out, const struct histogram *h)
{
	buf_text(out, "from,to,count,bytes,slack_bytes\n");
	for (unsigned i = 0; i < h->count; i++) {
		const struct histogram_bin *b = &h->bins[i];

		if (!b->never)
			buf_printf(out, "%" PRIu64, b->from);
		buf_char(out, ',');
		if (b->to != NEVER)
			buf_printf(out, "%" PRIu64, b->to);
		buf_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", b->weight.count,
			   b->weight.bytes, b->slack);
	}
}

static int run(int argc, char **argv)
{
	struct open_options how = { .quiet = as_json || as_csv };
	struct measuring measuring;
	struct histogram h;
	struct term term;
	struct buf out = { 0 };
	struct opened o;
	unsigned kind;

	term_init(&term, 1, color);
	if (!shape_measure_check("histogram", &measure))
		return 2;
	if (!argc) {
		fprintf(stderr, "memoir histogram: size or lifetime?\n");
		return 2;
	}
	for (kind = 0; kind < HISTOGRAM_KINDS && strcmp(argv[0], histogram_kinds[kind]) != 0;)
		kind++;
	if (kind == HISTOGRAM_KINDS) {
		struct buf wrong = { 0 };

		args_suggest(argv[0], "size, lifetime", &wrong);
		fprintf(stderr, "memoir histogram: of what? size or lifetime, not '%s'%s\n",
			argv[0], wrong.data ? wrong.data : "");
		buf_release(&wrong);
		return 2;
	}
	if (!open_view("histogram", argc - 1, argv + 1, &how, &o))
		return o.status;
	measuring = shape_measuring(o.model, &measure, MEASURE_ALLOCATED);
	histogram_init(&h, o.view, &measuring, kind);
	by_count = by_count || (!by_bytes && kind == HISTOGRAM_LIFETIME);
	if (by_count)
		histogram_by_count(&h);
	if (as_json)
		print_json(&out, o.model, &measuring, &h);
	else if (as_csv)
		print_csv(&out, &h);
	else
		print_text(&out, &term, o.model, &measuring, &h, by_count);
	if (buf_flush(&out, 1))
		o.status = 1;
	buf_release(&out);
	histogram_release(&h);
	opened_release(&o);
	return o.status;
}

const struct command command_histogram = {
	.name = "histogram",
	.args = "size|lifetime FILE",
	.help = "how large blocks are, or how long they live",
	.examples = "  memoir histogram size app.dat\n"
		    "  memoir histogram lifetime -F 'size >= 1M' app.dat\n"
		    "  memoir histogram size --measure peak --json app.dat\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
