/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Curves over time as SVG.  See area_chart.h. */
#include "draw/area_chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "draw/xml.h"

#define LEFT 76
#define RIGHT 16
#define TOP 34
#define BOTTOM 34
#define LABEL_COLUMNS 60
#define LINE 20

struct area_plot {
	const struct area_chart *chart;
	struct buf *out;
	double left, top, width, height; /* of the plot */
	double most;			 /* amount at its upper end */
	double *below;			 /* what is drawn so far, by moment */
};

uint32_t area_chart_colour(size_t i)
{
	static const uint32_t colours[] = { 0x4878a8, 0xd9822b, 0x3d9970, 0xc0504d, 0x8064a2,
					    0x8c6d46, 0xd16ba5, 0x6b7785, 0xa3a52d, 0x2f9fb0 };

	return colours[i % (sizeof(colours) / sizeof(*colours))];
}

/* The distance between lines so that there are at most `count` of them: 1, 2 or 5 times a power of
 * ten, or of two where bytes are counted. */
static double nice_step(double most, unsigned count, bool bytes)
{
	double step = 1;

	if (bytes) {
		while (step * count < most)
			step *= 2;
		return step;
	}
	while (step * count < most) {
		double power = pow(10, floor(log10(step) + 1e-9));
		double lead = round(step / power);

		step = power * (lead < 2 ? 2 : lead < 5 ? 5 : 10);
	}
	return step;
}

static void put_amount(struct buf *out, double value, bool bytes)
{
	static const char *const of_bytes[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	static const char *const of_pieces[] = { "", "k", "M", "G", "T" };
	double unit = bytes ? 1024 : 1000;
	unsigned i = 0;

	for (; value >= unit && i < 4; i++)
		value /= unit;
	buf_printf(out, value == floor(value) ? "%.0f" : "%.3g", value);
	if (bytes || i)
		buf_printf(out, " %s", bytes ? of_bytes[i] : of_pieces[i]);
}

static double y_of(const struct area_plot *p, double amount)
{
	return p->top + p->height * (1 - amount / p->most);
}

static double x_of(const struct area_plot *p, size_t at)
{
	size_t last = p->chart->steps > 1 ? p->chart->steps - 1 : 1;

	return p->left + p->width * (double)at / (double)last;
}

static void draw_amounts(struct area_plot *p)
{
	const struct area_chart *c = p->chart;
	double step = nice_step(p->most, 8, c->bytes);

	for (double amount = 0; amount <= p->most * 1.0001; amount += step) {
		double y = y_of(p, amount);

		if (c->grid && amount > 0)
			buf_printf(p->out,
				   "<line class=\"g\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
				   "y2=\"%.1f\"/>\n",
				   p->left, y, p->left + p->width, y);
		if (!c->axes)
			continue;
		buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"e\">", p->left - 6, y + 4);
		put_amount(p->out, amount, c->bytes);
		buf_text(p->out, "</text>\n");
	}
}

/* A duration with as many decimals as the step between two needs. */
static void put_offset(struct buf *out, double ns, double step)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	unsigned i = 0;
	uint64_t seconds = (uint64_t)(ns / 1e9 + 1e-9);

	if (step >= 60e9) {
		buf_printf(out, "%" PRIu64 ":%02u:%02u", seconds / 3600,
			   (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
		return;
	}
	while (i < 3 && step < units[i].ns * 0.1)
		i++;
	buf_printf(out, "%.*f %s", step < units[i].ns ? 1 : 0, ns / units[i].ns, units[i].unit);
}

/* Hours, minutes and seconds of the day (UTC), with milliseconds where lines are that close. */
static void put_time(struct buf *out, uint64_t ns, double step)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	buf_printf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (step < 1e9)
		buf_printf(out, ".%03u", (unsigned)(ns / 1000000 % 1000));
}

static double time_step(double range)
{
	static const double minutes[] = { 60e9,	  120e9,  300e9,   600e9,   1800e9,
					  3600e9, 7200e9, 21600e9, 43200e9, 86400e9 };

	if (range / 6 <= 30e9)
		return nice_step(range, 6, false);
	for (size_t i = 0; i < sizeof(minutes) / sizeof(*minutes); i++)
		if (range / minutes[i] <= 6)
			return minutes[i];
	return 86400e9 * ceil(range / 6 / 86400e9);
}

static void draw_times(struct area_plot *p)
{
	const struct area_chart *c = p->chart;
	double range = (double)(c->to - c->from), step = time_step(range);
	double bottom = p->top + p->height;

	for (double at = ceil((double)c->from / step) * step; at <= (double)c->to; at += step) {
		double x = p->left + p->width * (at - (double)c->from) / range;

		if (c->grid)
			buf_printf(p->out,
				   "<line class=\"g\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
				   "y2=\"%.1f\"/>\n",
				   x, p->top, x, bottom);
		if (!c->axes)
			continue;
		buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"m\">+", x, p->top - 8);
		put_offset(p->out, at, step);
		buf_text(p->out, "</text>\n");
		if (!c->start)
			continue;
		buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"m\">", x, bottom + 18);
		put_time(p->out, c->start + (uint64_t)at, step);
		buf_text(p->out, "</text>\n");
	}
	if (c->axes)
		buf_printf(p->out,
			   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			   "class=\"a\"/>\n",
			   p->left, p->top, p->width, p->height);
}

static void draw_area(struct area_plot *p, const struct area *a)
{
	size_t n = p->chart->steps;

	buf_printf(p->out, "<path fill=\"#%06x\" d=\"", a->colour);
	for (size_t i = 0; i < n; i++)
		buf_printf(p->out, "%s%.1f %.1f", i ? "L" : "M", x_of(p, i),
			   y_of(p, p->below[i] + a->values[i]));
	for (size_t i = n; i--;)
		buf_printf(p->out, "L%.1f %.1f", x_of(p, i), y_of(p, p->below[i]));
	buf_text(p->out, "Z\"><title>");
	xml_text(p->out, a->label, 4 * LABEL_COLUMNS);
	buf_text(p->out, "</title></path>\n");
	for (size_t i = 0; i < n; i++)
		p->below[i] += a->values[i];
}

/* The uppermost area first, as they lie. */
static void draw_legend(struct area_plot *p)
{
	const struct area_chart *c = p->chart;
	double x = p->left + 12, y = p->top + 12;
	size_t columns = 0;

	for (size_t i = 0; i < c->area_count; i++) {
		size_t n = text_columns(c->areas[i].label);

		n = n < LABEL_COLUMNS ? n : LABEL_COLUMNS;
		columns = columns > n ? columns : n;
	}
	buf_printf(p->out,
		   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		   "class=\"l\"/>\n",
		   x, y, 40 + 7.2 * (double)columns, 8 + LINE * (double)c->area_count);
	for (size_t i = c->area_count; i--; y += LINE) {
		buf_printf(p->out,
			   "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
			   "fill=\"#%06x\"/><text x=\"%.1f\" y=\"%.1f\">",
			   x + 8, y + 8, c->areas[i].colour, x + 28, y + 18);
		xml_text(p->out, c->areas[i].label, LABEL_COLUMNS);
		buf_text(p->out, "</text>\n");
	}
}

static double find_most(const struct area_chart *c)
{
	double most = 0;

	for (size_t i = 0; i < c->steps; i++) {
		double sum = 0;

		for (size_t k = 0; k < c->area_count; k++)
			sum += c->areas[k].values[i];
		most = sum > most ? sum : most;
	}
	return most > 0 ? most * 1.04 : 1;
}

void area_chart_draw(const struct area_chart *c, struct buf *out)
{
	double left = c->axes ? LEFT : 0, top = c->axes ? TOP : 0;
	struct area_plot p = {
		.chart = c,
		.out = out,
		.left = left,
		.top = top,
		.width = c->width - left - (c->axes ? RIGHT : 0),
		.height = c->height - top - (c->axes ? BOTTOM : 0),
		.most = find_most(c),
		.below = xcalloc(c->steps + 1, sizeof(*p.below)),
	};

	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		   "<style>.g{stroke:#000;stroke-opacity:.12}.a{fill:none;stroke:#888}"
		   ".l{fill:#fff;fill-opacity:.85;stroke:#bbb}.e{text-anchor:end}"
		   ".m{text-anchor:middle}</style>\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		   c->width, c->height, c->width, c->height);
	for (size_t i = 0; i < c->area_count; i++)
		draw_area(&p, &c->areas[i]);
	draw_amounts(&p);
	draw_times(&p);
	if (c->axes && *c->unit)
		buf_printf(out, "<text x=\"8\" y=\"16\">%s</text>\n", c->unit);
	if (c->legend && c->area_count)
		draw_legend(&p);
	buf_text(out, "</svg>\n");
	free(p.below);
}
