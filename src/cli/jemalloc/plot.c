/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Plots.  See plot.h. */
#include "cli/jemalloc/plot.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"

#define LABEL 12
#define HEIGHT 6

static const char *label(struct human *h, double value, bool bytes)
{
	double most = value < 0 ? -value : value;
	uint64_t size = most < 9e18 ? (uint64_t)most : INT64_MAX;
	struct human number;

	if (bytes)
		human_size(&number, size);
	else
		human_count(&number, size);
	snprintf(h->text, sizeof(h->text), "%s%.40s", value < 0 ? "-" : "", number.text);
	return h->text;
}

/* The mean of what falls into a column. */
static double mean(const double *values, size_t first, size_t last)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = first; i < last; i++)
		if (values[i] > PLOT_NOTHING) {
			sum += values[i];
			n++;
		}
	return n ? sum / (double)n : PLOT_NOTHING;
}

static const char *const cells[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

void plot_line(struct buf *out, const double *values, size_t count, size_t columns)
{
	double low = 0, high = 0;

	columns = count < columns ? count : columns;
	for (size_t i = 0; i < columns; i++) {
		double m = mean(values, i * count / columns, (i + 1) * count / columns);

		high = m > PLOT_NOTHING && m > high ? m : high;
		low = m > PLOT_NOTHING && m < low ? m : low;
	}
	for (size_t i = 0; i < columns; i++) {
		double m = mean(values, i * count / columns, (i + 1) * count / columns);

		/* What is not nothing is seen. */
		buf_text(out, m <= PLOT_NOTHING || high <= low ? cells[0]
			      : m <= low		       ? cells[low < 0]
					 : cells[1 + (unsigned)((m - low) / (high - low) * 7)]);
	}
}

void plot(struct buf *out, const struct term *t, const char *title, const double *values,
	  size_t count, bool bytes)
{
	size_t room = t->width > LABEL + 20 ? t->width - LABEL - 3 : 20;
	size_t columns = count < room ? count : room, wide = count ? room / count : 1;
	auto_free double *means = xcalloc(columns + 1, sizeof(*means));
	double low = 0, high = PLOT_NOTHING;
	struct human h;

	term_printf(t, out, "{title}%s{}\n", title);
	if (!count)
		return;
	wide = wide > 8 ? 8 : wide ? wide : 1;
	for (size_t i = 0; i < columns; i++) {
		means[i] = mean(values, i * count / columns, (i + 1) * count / columns);
		if (means[i] > PLOT_NOTHING && means[i] > high)
			high = means[i];
		if (means[i] > PLOT_NOTHING && means[i] < low)
			low = means[i];
	}
	if (high < low)
		high = low;
	for (unsigned row = HEIGHT; row-- > 0;) {
		const char *text = row == HEIGHT - 1 ? label(&h, high, bytes)
				   : row	     ? ""
						     : label(&h, low, bytes);

		term_printf(t, out, "%*s │{number}", LABEL, text);
		for (size_t i = 0; i < columns; i++) {
			double part = high > low ? (means[i] - low) / (high - low) : 0;
			double eighths = part * HEIGHT * 8 - row * 8;
			unsigned cell = means[i] <= PLOT_NOTHING || eighths <= 0 ? 0
					: eighths >= 8				 ? 8
						       : (unsigned)eighths;

			/* What is not nothing is seen. */
			if (!row && !cell && means[i] > PLOT_NOTHING)
				cell = 1;
			for (size_t k = 0; k < wide; k++)
				buf_text(out, cells[cell]);
		}
		term_printf(t, out, "{}\n");
	}
}
