/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Curves over time, on a canvas.  See area_chart.h. */
#include "draw/area_chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "draw/canvas.h"

#define LEFT 76
#define RIGHT 16
#define TOP 34
#define BOTTOM 34
#define LABEL_COLUMNS 60
#define LINE 20

struct area_plot {
	const struct area_chart *chart;
	struct canvas *canvas;
	double left, top, width, height; /* of the plot */
	double most;			 /* amount at its upper end */
	double *below;			 /* what is drawn so far, by moment */
	double *x, *upper, *lower;	 /* of the area that is being drawn */
};

static void draw_line(struct area_plot *p, double x1, double y1, double x2, double y2)
{
	p->canvas->kind->line(p->canvas, x1, y1, x2, y2);
}

static void draw_text(struct area_plot *p, double x, double y, enum canvas_anchor anchor,
		      const char *text)
{
	p->canvas->kind->text(p->canvas, x, y, anchor, text, LABEL_COLUMNS);
}

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
		auto_buf struct buf text = { 0 };

		if (c->grid && amount > 0)
			draw_line(p, p->left, y, p->left + p->width, y);
		if (!c->axes)
			continue;
		put_amount(&text, amount, c->bytes);
		draw_text(p, p->left - 6, y + 4, CANVAS_END, text.data);
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
		auto_buf struct buf offset = { 0 }, time = { 0 };

		if (c->grid)
			draw_line(p, x, p->top, x, bottom);
		if (!c->axes)
			continue;
		buf_char(&offset, '+');
		put_offset(&offset, at, step);
		draw_text(p, x, p->top - 8, CANVAS_MIDDLE, offset.data);
		if (!c->start)
			continue;
		put_time(&time, c->start + (uint64_t)at, step);
		draw_text(p, x, bottom + 18, CANVAS_MIDDLE, time.data);
	}
	if (c->axes)
		p->canvas->kind->frame(p->canvas, p->left, p->top, p->width, p->height);
}

static void draw_area(struct area_plot *p, const struct area *a)
{
	size_t n = p->chart->steps;

	for (size_t i = 0; i < n; i++) {
		p->lower[i] = y_of(p, p->below[i]);
		p->below[i] += a->values[i];
		p->upper[i] = y_of(p, p->below[i]);
	}
	p->canvas->kind->area(p->canvas, &(struct canvas_area){
						 .label = a->label,
						 .colour = a->colour,
						 .count = n,
						 .x = p->x,
						 .upper = p->upper,
						 .lower = p->lower,
					 });
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
	p->canvas->kind->sheet(p->canvas, x, y, 40 + 7.2 * (double)columns,
			       8 + LINE * (double)c->area_count);
	for (size_t i = c->area_count; i--; y += LINE) {
		p->canvas->kind->patch(p->canvas, x + 8, y + 8, 12, 12, c->areas[i].colour);
		draw_text(p, x + 28, y + 18, CANVAS_START, c->areas[i].label);
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
	auto_free double *values = xcalloc(4 * (c->steps + 1), sizeof(*values));
	struct area_plot p = {
		.chart = c,
		.canvas = canvas_new(c->png ? CANVAS_PNG : CANVAS_SVG, c->width, c->height),
		.left = left,
		.top = top,
		.width = c->width - left - (c->axes ? RIGHT : 0),
		.height = c->height - top - (c->axes ? BOTTOM : 0),
		.most = find_most(c),
		.below = values,
		.x = values + c->steps + 1,
		.upper = values + 2 * (c->steps + 1),
		.lower = values + 3 * (c->steps + 1),
	};

	for (size_t i = 0; i < c->steps; i++)
		p.x[i] = x_of(&p, i);
	for (size_t i = 0; i < c->area_count; i++)
		draw_area(&p, &c->areas[i]);
	draw_amounts(&p);
	draw_times(&p);
	if (c->axes && *c->unit)
		draw_text(&p, 8, 16, CANVAS_START, c->unit);
	if (c->legend && c->area_count)
		draw_legend(&p);
	p.canvas->kind->finish(p.canvas, out);
}
