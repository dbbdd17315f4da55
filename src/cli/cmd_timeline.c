/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir timeline: what was alive, allocated and freed over time. */
#include <inttypes.h>

#include "answer/timeline.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/shape.h"

#define LABEL 11  /* columns before the chart */
#define HEIGHT 12 /* rows of it */

/* The figures of a bucket, by the name that CSV has for them. */
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

static uint64_t edge_ns(const struct answer_timeline *t, uint32_t bucket)
{
	return model_ns(t->model, series_edge(&t->series, bucket));
}

static void print_csv(struct printing *p, const void *answer)
{
	const struct answer_timeline *t = answer;
	struct buf *out = p->out;

	buf_text(out, "from_ns,to_ns");
#define X(name) buf_text(out, "," #name);
	COLUMNS_OF_POINT(X)
#undef X
	buf_text(out, ",most_at_ns\n");
	for (uint32_t i = 0; i < t->series.count; i++) {
		const struct series_point *point = &t->series.points[i];

		buf_printf(out, "%" PRIu64 ",%" PRIu64, edge_ns(t, i), edge_ns(t, i + 1));
#define X(name) buf_printf(out, ",%" PRIu64, point->name);
		COLUMNS_OF_POINT(X)
#undef X
		buf_printf(out, ",%" PRIu64 "\n", model_ns(t->model, point->most_at));
	}
}

static void print_chart(const struct answer_timeline *t, const struct term *term, struct buf *out,
			uint64_t most)
{
	struct human label;

	for (unsigned row = HEIGHT; row-- > 0;) {
		bool marked = (row + 1) % 4 == 0;

		human_size(&label, (uint64_t)((double)most * (row + 1) / HEIGHT));
		term_printf(term, out, "{dim}%*s %s{}", LABEL - 2, marked ? label.text : "",
			    marked ? "\xe2\x94\xa4" : "\xe2\x94\x82");
		buf_text(out, term_style(term, STYLE_NUMBER));
		for (uint32_t i = 0; i < t->series.count; i++) {
			uint64_t n = shape_eighths(t->series.points[i].most_bytes, most, HEIGHT);

			shape_cell(out, n > row * 8 ? n - row * 8 : 0);
		}
		term_printf(term, out, "{}\n");
	}
}

static void print_axis(const struct answer_timeline *t, const struct term *term, struct buf *out)
{
	struct human a, b, c;
	size_t used;

	term_printf(term, out, "{dim}%*s \xe2\x94\x94", LABEL - 2, "0 B");
	for (uint32_t i = 0; i < t->series.count; i++)
		buf_text(out, "\xe2\x94\x80");
	human_duration(&a, edge_ns(t, 0));
	human_duration(&b, edge_ns(t, t->series.count / 2));
	human_duration(&c, edge_ns(t, t->series.count));
	buf_char(out, '\n');
	buf_repeat(out, ' ', LABEL);
	buf_text(out, a.text);
	used = text_columns(a.text);
	if (t->series.count / 2 > used + 1) {
		buf_repeat(out, ' ', t->series.count / 2 - used);
		buf_text(out, b.text);
		used = t->series.count / 2 + text_columns(b.text);
	}
	if (t->series.count > used + text_columns(c.text) + 1) {
		buf_repeat(out, ' ', t->series.count - used - text_columns(c.text));
		buf_text(out, c.text);
	}
	term_printf(term, out, "{}\n");
}

enum unit { UNIT_BYTES, UNIT_COUNT, UNIT_RATE };

/* One line of cells for a figure, and what its highest stands for. */
static void print_line(const struct answer_timeline *t, const struct term *term, struct buf *out,
		       const char *label, size_t offset, enum unit unit)
{
	uint64_t most = 0;
	struct human a;

	for (uint32_t i = 0; i < t->series.count; i++) {
		uint64_t v = *(const uint64_t *)((const char *)&t->series.points[i] + offset);

		most = v > most ? v : most;
	}
	buf_printf(out, "%*s ", LABEL - 1, label);
	buf_text(out, term_style(term, STYLE_NUMBER));
	for (uint32_t i = 0; i < t->series.count; i++)
		shape_cell(out,
			   shape_eighths(
				   *(const uint64_t *)((const char *)&t->series.points[i] + offset),
				   most, 1));
	if (unit == UNIT_RATE)
		human_count(&a, t->seconds > 0 ? (uint64_t)((double)most / t->seconds + 0.5) : 0);
	else if (unit == UNIT_COUNT)
		human_count(&a, most);
	else
		human_size(&a, most);
	term_printf(term, out, "{} %s%s\n", a.text, unit == UNIT_RATE ? "/s" : "");
}

static void print_timeline(struct printing *p, const void *answer)
{
	const struct answer_timeline *t = answer;
	const struct term *term = &p->term;
	struct buf *out = p->out;
	const struct series_point *top = &t->series.points[0];

	for (uint32_t i = 1; i < t->series.count; i++)
		if (t->series.points[i].most_bytes > top->most_bytes)
			top = &t->series.points[i];
	answering_about(p);
	term_printf(term, out, "\n{title}BYTES ALIVE{}  ");
	if (!top->most_count) {
		buf_text(out, "nothing was alive\n");
		shape_removed(out, term, t->model);
		return;
	}
	buf_printf(out, "at most %s in %s blocks, %s after the start\n", size_text(top->most_bytes),
		   count_text(top->most_bytes_count),
		   duration_text(model_ns(t->model, top->most_at)));
	shape_removed(out, term, t->model);
	buf_char(out, '\n');
	print_chart(t, term, out, top->most_bytes);
	print_axis(t, term, out);
	buf_char(out, '\n');
	print_line(t, term, out, "blocks", offsetof(struct series_point, most_count), UNIT_COUNT);
	print_line(t, term, out, "allocated", offsetof(struct series_point, allocated_count),
		   UNIT_RATE);
	print_line(t, term, out, "freed", offsetof(struct series_point, freed_count), UNIT_RATE);
	print_line(t, term, out, "leaked", offsetof(struct series_point, leaked_bytes), UNIT_BYTES);
}

/* A chart has a part for each column of the terminal. */
static void fit_chart(const struct term *term, struct buf *defaults)
{
	buf_printf(defaults, "points=%u", term->width - LABEL - 12);
}

static const struct answering answering = {
	.question = &question_timeline,
	.fit = fit_chart,
	.print = print_timeline,
	.csv = print_csv,
};

const struct command command_timeline = {
	.name = "timeline",
	.args = "FILE",
	.help = "what was alive, allocated and freed over time",
	.examples = "  memoir timeline app.dat\n"
		    "  memoir timeline --from 10s --to 12s app.dat\n"
		    "  memoir timeline -F 'function ~ \"parse\"' app.dat\n"
		    "  memoir timeline --csv -n 1000 app.dat > app.csv\n",
	.answers = &answering,
};
