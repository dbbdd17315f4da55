/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the commands about shapes share.  See shape.h. */
#include "cli/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/json.h"
#include "cli/args.h"
#include "query/value.h"

#define PERCENT 1000000.0 /* value.h counts in millionths */

static bool wrong(const char *command, const char *option, const struct err *err)
{
	fprintf(stderr, "memoir %s: --%s: %s\n", command, option, err->text);
	return false;
}

static bool is_value(const char *command, const char *option, enum filter_arg type,
		     const char *text)
{
	struct value v;
	struct err err;

	if (!text)
		return true;
	if (value_parse(&v, type, text, &err))
		return wrong(command, option, &err);
	value_release(&v);
	return true;
}

bool shape_measure_check(const char *command, const struct shape_measure *s)
{
	enum measure m = s->measure ? measure_find(s->measure) : MEASURE_COUNT;

	if (s->measure && m == MEASURE_COUNT) {
		const char *names[MEASURE_COUNT];

		for (unsigned i = 0; i < MEASURE_COUNT; i++)
			names[i] = measure_rows[i].name;
		shape_word(command, "measure", s->measure, names, MEASURE_COUNT);
		return false;
	}
	if ((m == MEASURE_ALIVE_AT) > (s->at != NULL) ||
	    (m == MEASURE_SHORT_LIVED) > (s->below != NULL)) {
		fprintf(stderr, "memoir %s: --measure %s needs %s\n", command, s->measure,
			m == MEASURE_ALIVE_AT ? "--at TIME" : "--below DURATION");
		return false;
	}
	if ((s->at && s->below) ||
	    (s->at && s->measure && m != MEASURE_ALIVE_AT && m != MEASURE_PINNED) ||
	    (s->below && s->measure && m != MEASURE_SHORT_LIVED)) {
		fprintf(stderr, "memoir %s: --measure, --at and --below: one of them\n", command);
		return false;
	}
	return is_value(command, "at", ARG_TIME, s->at) &&
	       is_value(command, "below", ARG_DURATION, s->below);
}

static uint64_t time_ns(const struct model *m, const struct value *v)
{
	uint64_t start = model_start_ns(m);

	if (v->kind == VALUE_PERCENT)
		return (uint64_t)((double)model_runtime_ns(m) * ((double)v->number / PERCENT) /
				  100);
	if (v->kind != VALUE_UNIX)
		return v->number;
	return v->number > start ? v->number - start : 0;
}

/* A moment as ns after the start; false after saying what is wrong with it. */
static bool shape_time(const char *command, const char *option, const struct model *m,
		       const char *text, uint64_t *ret_ns)
{
	struct value v;
	struct err err;

	if (value_parse(&v, ARG_TIME, text, &err))
		return wrong(command, option, &err);
	*ret_ns = time_ns(m, &v);
	value_release(&v);
	return true;
}

struct measuring shape_measuring(const struct model *m, const struct shape_measure *s,
				 enum measure otherwise)
{
	enum measure measure = s->measure ? measure_find(s->measure) : otherwise;
	uint64_t ns = 0;
	struct value v;

	if (s->at) {
		shape_time("", "at", m, s->at, &ns);
		if (measure != MEASURE_PINNED)
			measure = MEASURE_ALIVE_AT;
	} else if (s->below && !value_parse(&v, ARG_DURATION, s->below, NULL)) {
		ns = v.number;
		measure = MEASURE_SHORT_LIVED;
		value_release(&v);
	}
	return measuring_of(m, measure, ns);
}

static uint64_t ticks_ns(const struct model *m, uint64_t ticks)
{
	uint64_t zero = measure_stamp(m, 0);

	return model_ns(m, zero + ticks);
}

void shape_measure_title(struct buf *out, const struct model *m, const struct measuring *how)
{
	switch (how->measure) {
	case MEASURE_ALIVE_AT:
		buf_printf(out, "alive %s after the start", duration_text(model_ns(m, how->at)));
		break;
	case MEASURE_PEAK:
		buf_printf(out, "alive at the peak, %s after the start",
			   duration_text(m->totals.peak_bytes ? model_ns(m, how->at) : 0));
		break;
	case MEASURE_PINNED:
		buf_printf(out, "kept resident %s after the start",
			   duration_text(model_ns(m, how->at)));
		break;
	case MEASURE_SHORT_LIVED:
		buf_printf(out, "freed within %s", duration_text(ticks_ns(m, how->at)));
		break;
	case MEASURE_LEAKED:
	case MEASURE_ALLOCATED:
	case MEASURE_TEMPORARY:
	case MEASURE_COUNT:
		buf_text(out, measure_rows[how->measure].title);
	}
}

void shape_removed(struct buf *out, const struct term *t, const struct model *m)
{
	const struct removed *r = &m->tables.removed;
	uint64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += r->rows[i].count;
	if (!count)
		return;
	term_printf(t, out, "{dim}without %s allocation%s that %s taken out of the recording{}\n",
		    count_text(count), count == 1 ? "" : "s", count == 1 ? "was" : "were");
}

void shape_bar(struct buf *out, double share, unsigned columns)
{
	static const char *const eighths[] = { "",
					       "\xe2\x96\x8f",
					       "\xe2\x96\x8e",
					       "\xe2\x96\x8d",
					       "\xe2\x96\x8c",
					       "\xe2\x96\x8b",
					       "\xe2\x96\x8a",
					       "\xe2\x96\x89" };
	unsigned parts;

	share = share < 0 ? 0 : share > 1 ? 1 : share;
	parts = (unsigned)(share * columns * 8 + 0.5);
	if (!parts && share > 0)
		parts = 1;
	for (unsigned i = 0; i < parts / 8; i++)
		buf_text(out, "\xe2\x96\x88");
	buf_text(out, eighths[parts % 8]);
	buf_repeat(out, ' ', columns - (parts + 7) / 8);
}

unsigned shape_word(const char *command, const char *option, const char *text,
		    const char *const *words, unsigned count)
{
	auto_buf struct buf list = { 0 }, out = { 0 };
	unsigned i = 0;

	while (i < count && strcmp(text, words[i]) != 0)
		i++;
	if (i < count)
		return i;
	for (unsigned k = 0; k < count; k++)
		buf_printf(&list, "%s%s", !k ? "" : k + 1 < count ? ", " : " or ", words[k]);
	buf_printf(&out, "memoir %s: --%s is %s, not '%s'", command, option, list.data, text);
	args_suggest(text, list.data, &out);
	fprintf(stderr, "%s\n", out.data);
	return count;
}

void shape_cell(struct buf *out, uint64_t part)
{
	static const char *const cells[] = {
		" ",
		"\xe2\x96\x81",
		"\xe2\x96\x82",
		"\xe2\x96\x83",
		"\xe2\x96\x84",
		"\xe2\x96\x85",
		"\xe2\x96\x86",
		"\xe2\x96\x87",
		"\xe2\x96\x88",
	};

	buf_text(out, cells[part < 8 ? part : 8]);
}

uint64_t shape_eighths(uint64_t value, uint64_t most, unsigned rows)
{
	uint64_t n = most ? (uint64_t)((double)value / (double)most * rows * 8 + 0.5) : 0;

	return n || !value ? n : 1;
}
