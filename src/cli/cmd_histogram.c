/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir histogram: how large blocks are, and how long they live. */
#include <inttypes.h>

#include "answer/histogram.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/shape.h"

#define LABEL 21 /* columns of a bin's name */

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
	struct human from;

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
		buf_printf(out, "%s \xe2\x80\xa6 %s", human_size(&from, b->from), size_text(b->to));
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
	term_printf(t, out, "{dim}%*s %11s %10s{}\n", LABEL, histogram_kinds[h->kind], "blocks",
		    "bytes");
	for (unsigned i = 0; i < h->count; i++) {
		const struct histogram_bin *b = &h->bins[i];
		uint64_t value = value_of(&b->weight, count);
		struct buf name = { 0 };

		if (is_beyond(h, i))
			continue;
		bin_name(&name, h->kind, b);
		if (text_columns(name.data) < LABEL)
			buf_repeat(out, ' ', LABEL - text_columns(name.data));
		term_printf(t, out, "%s %11s %10s  {number}", name.data,
			    count_text(b->weight.count), size_text(b->weight.bytes));
		shape_bar(out, most ? (double)value / (double)most : 0, columns);
		term_printf(t, out, "{}%8s\n",
			    value ? share_text(value, value_of(&h->total, count)) : "");
		buf_release(&name);
	}
}

static void print_sizes(struct buf *out, const struct term *t, const struct histogram *h,
			bool count, uint32_t top)
{
	struct human a, b;

	if (!top || !h->size_count)
		return;
	term_printf(t, out, "\n{title}SIZES{}  %s different ones; most %s first\n\n",
		    human_count(&a, h->size_count), count ? "blocks" : "bytes");
	for (uint32_t i = 0; i < h->size_count && i < top; i++) {
		const struct size_row *s = &h->sizes[i];

		human_count(&a, s->size);
		human_count(&b, s->weight.count);
		term_printf(t, out, "%*s B %11s %10s  {number}%8s{}", LABEL - 2, a.text, b.text,
			    size_text(s->weight.bytes),
			    share_text(value_of(&s->weight, count), value_of(&h->total, count)));
		if (s->slack)
			term_printf(t, out, "{dim}  and %s slack{}", human_size(&a, s->slack));
		buf_char(out, '\n');
	}
}

static void print_histogram(struct printing *p, const void *answer)
{
	const struct answer_histogram *shown = answer;
	const struct histogram *h = &shown->histogram;
	bool count = shown->by_count;
	const struct term *t = &p->term;
	const struct model *m = p->model;
	struct buf *out = p->out;

	answering_about(p);
	term_printf(t, out, "\n{title}%s{}  ", h->kind == HISTOGRAM_SIZE ? "SIZE" : "LIFETIME");
	if (!h->total.count)
		buf_text(out, "nothing was ");
	else
		buf_printf(out, "%s in %s block%s ", size_text(h->total.bytes),
			   count_text(h->total.count), h->total.count == 1 ? "" : "s");
	shape_measure_title(out, m, &shown->measuring);
	buf_char(out, '\n');
	shape_removed(out, t, m);
	if (!h->total.count)
		return;
	buf_char(out, '\n');
	print_bins(out, t, h, count);
	print_sizes(out, t, h, count, shown->top);
}

static void print_csv(struct printing *p, const void *answer)
{
	const struct histogram *h = &((const struct answer_histogram *)answer)->histogram;
	struct buf *out = p->out;

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

static const struct command_option options[] = {
	ANSWERING_FLAG("count", 0, "weight=count", "bars and order by blocks (as for lifetimes)"),
	ANSWERING_FLAG("bytes", 0, "weight=bytes", "bars and order by bytes (as for sizes)"),
	{ 0 },
};

static const struct answering answering = {
	.question = &question_histogram,
	.words = (const char *const[]){ "of", "FILE", NULL },
	.defaults = "top=10",
	.print = print_histogram,
	.csv = print_csv,
};

const struct command command_histogram = {
	.name = "histogram",
	.args = "size|lifetime FILE",
	.help = "how large blocks are, or how long they live",
	.examples = "  memoir histogram size app.dat\n"
		    "  memoir histogram lifetime -F 'size >= 1M' app.dat\n"
		    "  memoir histogram size --measure peak --json app.dat\n",
	.options = options,
	.answers = &answering,
};
