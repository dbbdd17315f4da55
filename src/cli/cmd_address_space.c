/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir address-space: a picture of how full addresses are over time. */
#include <inttypes.h>

#include "answer/address_space.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/shape.h"

#define ADDRESS_WIDTH 14

/* Something in use is never a blank. */
static const char *shade_of(uint8_t share)
{
	static const char *const shades[] = { "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
					      "\xe2\x96\x88" };

	return share ? shades[(share - 1) * 4 / 255] : " ";
}

/* Rows from this one on in which nothing is in use at any time. */
static uint32_t blank_rows(const struct address_space *s, uint32_t row, uint32_t end)
{
	uint32_t first = row;

	for (; row < end; row++)
		for (uint32_t k = 0; k < s->columns; k++)
			if (s->cells[(size_t)row * s->columns + k])
				return row - first;
	return row - first;
}

static void print_area(struct printing *p, const struct address_space *s, size_t i)
{
	const struct area *a = &s->areas.rows[i];

	term_printf(&p->term, p->out, "\n{strong}%" PRIx64 "-%" PRIx64 "{}  %s\n", a->start, a->end,
		    size_text(a->end - a->start));
	for (uint32_t row = s->first_row[i]; row < s->first_row[i + 1] && answering_turn(p);
	     row++) {
		uint32_t blank = blank_rows(s, row, s->first_row[i + 1]);

		if (blank > 1) {
			term_printf(&p->term, p->out, "{dim}%*s  %u lines without a block{}\n",
				    ADDRESS_WIDTH + 2, "\xe2\x80\xa6", blank);
			row += blank - 1;
			continue;
		}
		term_printf(&p->term, p->out, "{dim}%*" PRIx64 "{} ", ADDRESS_WIDTH,
			    a->start + (row - s->first_row[i]) * s->cell);
		for (uint32_t k = 0; k < s->columns; k++)
			buf_text(p->out, shade_of(s->cells[(size_t)row * s->columns + k]));
		buf_char(p->out, '\n');
	}
}

static void print_address_space(struct printing *p, const void *answer)
{
	const struct address_space *s = answer;

	answering_about(p);
	term_printf(&p->term, p->out, "\n{title}ADDRESS SPACE{}  ");
	if (!s->areas.count) {
		buf_text(p->out, "there are no blocks\n");
		return;
	}
	buf_printf(p->out,
		   "%s a line, %s a column; from empty to full: "
		   "\xe2\x96\x91\xe2\x96\x92\xe2\x96\x93\xe2\x96\x88\n",
		   size_text(s->cell),
		   duration_text((model_ns(p->model, s->to) - model_ns(p->model, s->from)) /
				 s->columns));
	shape_removed(p->out, &p->term, p->model);
	for (size_t i = 0; i < s->areas.count; i++)
		print_area(p, s, i);
}

static void fit_address_space(const struct term *term, struct buf *defaults)
{
	unsigned room = term->width > ADDRESS_WIDTH + 21 ? term->width - ADDRESS_WIDTH - 1 : 20;

	buf_printf(defaults, "rows=64&columns=%u", room < 1000 ? room : 1000);
}

static const struct answering answering = {
	.question = &question_address_space,
	.fit = fit_address_space,
	.print = print_address_space,
};

const struct command command_address_space = {
	.name = "address-space",
	.args = "FILE",
	.help = "how full addresses are over time",
	.examples = "  memoir address-space app.dat\n"
		    "  memoir address-space -F 'thread = 1' --rows 200 app.dat\n"
		    "  memoir address-space --json app.dat | jq '.areas[].start_s'\n",
	.answers = &answering,
};
