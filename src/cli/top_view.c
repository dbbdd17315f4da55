/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The screen of memoir top.  See top_view.h.
 *
 * Everything is drawn with the characters of a UTF-8 terminal; for others each of them is replaced
 * at the end, and the curve is drawn with two characters of ASCII. */
#include "cli/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/report.h"
#include "cli/screen.h"
#include "cli/text.h"
#include "model/words.h"

#define AXIS 11	    /* columns left of the curve */
#define CURVE_MIN 3 /* lines */
#define CURVE_MAX 14
#define CURVE_ONCE 6
#define TABLE_MIN 5 /* lines of the table, before the curve gets any */
#define DOTS 4	    /* of a character of the curve, one above the other */

struct column {
	const char *title;
	const char *field; /* that it is sorted by */
	unsigned columns;
	unsigned from; /* shown on screens that are as wide */
	const char *(*text)(struct human *h, const struct answer_top *t,
			    const struct top_figures *f);
};

static const char *blank(struct human *h)
{
	h->text[0] = 0;
	return h->text;
}

static const char *held_text(struct human *h, const struct answer_top *t,
			     const struct top_figures *f)
{
	return f->held_bytes ? human_size(h, f->held_bytes) : "0";
}

static const char *change_text(struct human *h, const struct answer_top *t,
			       const struct top_figures *f)
{
	struct human size;

	if (!f->recent.change)
		return blank(h);
	human_signed_size(&size, f->recent.change);
	snprintf(h->text, sizeof(h->text), "%s%.40s", f->recent.change > 0 ? "+" : "", size.text);
	return h->text;
}

static const char *bytes_text(struct human *h, const struct answer_top *t,
			      const struct top_figures *f)
{
	return f->recent.bytes ? human_size(h, (uint64_t)top_rate(t, f->recent.bytes)) : blank(h);
}

static const char *calls_text(struct human *h, const struct answer_top *t,
			      const struct top_figures *f)
{
	double rate = top_rate(t, f->recent.allocations);

	if (!f->recent.allocations)
		return blank(h);
	if (rate >= 10)
		return human_count(h, (uint64_t)(rate + 0.5));
	snprintf(h->text, sizeof(h->text), "%.1f", rate);
	return h->text;
}

static const char *blocks_text(struct human *h, const struct answer_top *t,
			       const struct top_figures *f)
{
	return human_count(h, f->held_count);
}

static const char *temporary_text(struct human *h, const struct answer_top *t,
				  const struct top_figures *f)
{
	return f->temporary ? human_share(h, f->temporary, f->allocations) : blank(h);
}

static const char *allocated_text(struct human *h, const struct answer_top *t,
				  const struct top_figures *f)
{
	return human_size(h, f->allocated_bytes);
}

static const struct column columns[] = {
	{ "HELD", "held_bytes", 9, 0, held_text },
	{ "BLOCKS", "held_count", 11, 100, blocks_text },
	{ "CHANGE", "change_bytes", 10, 50, change_text },
	{ "BYTES/S", "bytes_per_second", 9, 40, bytes_text },
	{ "ALLOCS/S", "allocations_per_second", 10, 60, calls_text },
	{ "ALLOCATED", "allocated_bytes", 9, 140, allocated_text },
	{ "TEMPORARY", "temporary", 9, 120, temporary_text },
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(*columns))
#define SOURCE_FROM 140 /* columns of a screen that shows source lines, too */

static const char *style(const struct screen_lines *s, enum term_style style)
{
	return term_style(s->term, style);
}

static void show_line(struct screen_lines *s, struct buf *text)
{
	screen_line(s, text->data ? text->data : "", text->size);
	buf_clear(text);
}

static void fact(struct buf *text, const struct screen_lines *s, const char *name,
		 const char *value)
{
	buf_printf(text, "%s%s %s%s%s", text->size ? "   " : "", name, style(s, STYLE_NUMBER),
		   value, style(s, STYLE_PLAIN));
}

static void draw_title(struct screen_lines *s, const struct top_view *v)
{
	const struct model *m = v->snapshot->model;
	const char *executable = model_info(m, "executable");
	auto_buf struct buf text = { 0 }, end = { 0 };

	buf_printf(&text, "%s", style(s, STYLE_TITLE));
	if (!executable || !*executable)
		executable = v->snapshot->name;
	buf_printable(&text, path_base(executable), strlen(path_base(executable)));
	buf_printf(&text, "%s", style(s, STYLE_PLAIN));
	if (model_info(m, "pid"))
		buf_printf(&text, "  pid %" PRIu64, model_info_number(m, "pid", 0));
	buf_printf(&text, "  %s  ", duration_text(v->top->runtime_ns));
	if (v->snapshot->live) {
		buf_printf(&text, "%slive%s", style(s, STYLE_FUNCTION), style(s, STYLE_PLAIN));
	} else {
		words_end(&end, m);
		buf_printf(&text, "%s%s%s", style(s, STYLE_WARNING),
			   end.data ? end.data + strlen(", ") : "ended", style(s, STYLE_PLAIN));
	}
	if (v->paused)
		buf_printf(&text, "  %sPAUSED%s", style(s, STYLE_WARNING), style(s, STYLE_PLAIN));
	else if (v->interval_ns && v->snapshot->live)
		buf_printf(&text, "  %severy %s%s", style(s, STYLE_DIM),
			   duration_text(v->interval_ns), style(s, STYLE_PLAIN));
	if (model_loss(m).kind == LOSS_DAMAGED)
		buf_printf(&text, "  %sdamaged: %s%s", style(s, STYLE_WARNING),
			   model_loss(m).err.text, style(s, STYLE_PLAIN));
	show_line(s, &text);
}

static void draw_facts(struct screen_lines *s, const struct top_view *v)
{
	const struct model *m = v->snapshot->model;
	const struct answer_top *t = v->top;
	const struct map_totals *maps = &t->tally->maps;
	const struct top_figures all = { .recent = t->recent };
	auto_buf struct buf text = { 0 };
	struct human h, change;

	fact(&text, s, "heap", human_size(&h, m->totals.live_bytes));
	fact(&text, s, "peak", human_size(&h, m->totals.peak_bytes));
	if (maps->samples) {
		fact(&text, s, "rss", human_size(&h, maps->rss));
		fact(&text, s, "mapped", human_size(&h, maps->address_space));
	}
	fact(&text, s, "threads", human_count(&h, m->tables.threads.count));
	show_line(s, &text);
	fact(&text, s, "blocks", human_count(&h, m->totals.live_count));
	fact(&text, s, "allocs/s", t->recent.allocations ? calls_text(&h, t, &all) : "0");
	fact(&text, s, "bytes/s", t->recent.bytes ? bytes_text(&h, t, &all) : "0");
	fact(&text, s, "change", t->recent.change ? change_text(&change, t, &all) : "0");
	buf_printf(&text, " %sin %s%s", style(s, STYLE_DIM), human_duration(&h, t->window_ns),
		   style(s, STYLE_PLAIN));
	show_line(s, &text);
}

unsigned top_view_points(unsigned width)
{
	unsigned points = width > AXIS + 1 ? 2 * (width - AXIS) : 2;

	return points < TALLY_POINTS ? points : TALLY_POINTS;
}

/* How many dots of a column are set, of `lines` characters one above the other; what is not 0 has
 * one. */
static unsigned dots_of(uint64_t value, uint64_t most, unsigned lines)
{
	double share = most ? (double)value / (double)most : 0;
	unsigned dots = (unsigned)(share * lines * DOTS + 0.5);

	return !dots && value ? 1 : dots;
}

/* Two columns of four dots, filled from below. */
static void braille(struct buf *out, unsigned left, unsigned right)
{
	static const uint8_t lefts[] = { 0, 0x40, 0x44, 0x46, 0x47 };
	static const uint8_t rights[] = { 0, 0x80, 0xa0, 0xb0, 0xb8 };
	unsigned dots = lefts[left] | rights[right];
	char text[4] = { (char)0xe2, (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 63)), 0 };

	buf_text(out, dots ? text : " ");
}

/* What of `dots` is within a line, counted from below. */
static unsigned within(unsigned dots, unsigned line)
{
	unsigned below = line * DOTS;

	return dots <= below ? 0 : dots - below < DOTS ? dots - below : DOTS;
}

static void draw_curve(struct screen_lines *s, const struct top_view *v, unsigned lines)
{
	const struct answer_top *t = v->top;
	unsigned cells = s->width > AXIS ? s->width - AXIS : 1;
	auto_buf struct buf text = { 0 };
	uint64_t most = 1;
	struct human h;

	for (uint32_t i = 0; i < t->points; i++)
		most = t->curve[i] > most ? t->curve[i] : most;
	for (unsigned line = lines; line-- > 0;) {
		const char *label = line == lines - 1 ? human_size(&h, most) : !line ? "0" : "";

		buf_printf(&text, "%s%9s │%s", style(s, STYLE_DIM), label, style(s, STYLE_PLAIN));
		buf_text(&text, style(s, STYLE_FUNCTION));
		for (unsigned i = 0; i < cells && t->points; i++) {
			uint32_t a = (uint32_t)((uint64_t)i * t->points / cells);
			uint32_t b = (uint32_t)(((uint64_t)2 * i + 1) * t->points / cells / 2);
			unsigned left = within(dots_of(t->curve[a], most, lines), line);
			unsigned right = within(dots_of(t->curve[b], most, lines), line);
			unsigned higher = left > right ? left : right;

			if (v->ascii)
				buf_char(&text, higher > DOTS / 2 ? '#' : higher ? '.' : ' ');
			else
				braille(&text, left, right);
		}
		show_line(s, &text);
	}
	human_duration(&h, t->runtime_ns);
	buf_printf(&text, "%s%9s └0 s", style(s, STYLE_DIM), "");
	for (unsigned i = AXIS + 3; i + 1 + strlen(h.text) < s->width; i++)
		buf_text(&text, "─");
	buf_printf(&text, " %s", h.text);
	show_line(s, &text);
}

/* The column that orders is marked, as far as it is there. */
static void draw_table_head(struct screen_lines *s, const struct top_view *v)
{
	auto_buf struct buf text = { 0 };

	buf_printf(&text, "%s ", style(s, STYLE_STRONG));
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		bool orders = !strcmp(columns[i].field, v->sort);

		if (s->width < columns[i].from)
			continue;
		buf_printf(&text, " %*s", (int)columns[i].columns - orders, columns[i].title);
		buf_text(&text, orders ? "▼" : "");
	}
	buf_printf(&text, "  FUNCTION%s%s", !strcmp(v->sort, "function") ? "▼" : "",
		   style(s, STYLE_PLAIN));
	if (*v->filter) {
		buf_printf(&text, "  %swith ", style(s, STYLE_DIM));
		buf_printable(&text, v->filter, strlen(v->filter));
	}
	show_line(s, &text);
}

/* The name, made to fit: without the arguments of its templates, then without its end. */
static void add_name(struct buf *text, const char *name, size_t room)
{
	auto_free char *shorter = text_columns(name) > room ? text_abbreviated(name) : NULL;

	text_shortened(text, shorter ? shorter : name, room);
}

static void draw_row(struct screen_lines *s, const struct top_view *v, const struct top_row *row,
		     bool selected)
{
	const struct locations *p = v->snapshot->locations;
	auto_buf struct buf text = { 0 }, source = { 0 };
	size_t used = 3, room;
	struct human h;

	buf_printf(&text, "%s%s", selected ? style(s, STYLE_STRONG) : "", selected ? ">" : " ");
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (s->width < columns[i].from)
			continue;
		buf_printf(&text, " %*s", (int)columns[i].columns,
			   columns[i].text(&h, v->top, &row->figures));
		used += columns[i].columns + 1;
	}
	if (s->width >= SOURCE_FROM && row->file)
		buf_printf(&source, "  %s:%u", path_base(locations_string(p, row->file)),
			   row->line);
	room = s->width > used + source.size + 8 ? s->width - used - source.size : 8;
	buf_printf(&text, "  %s", selected ? "" : style(s, STYLE_FUNCTION));
	add_name(&text, row->name, room);
	buf_text(&text, style(s, STYLE_PLAIN));
	if (source.size) {
		buf_text(&text, style(s, STYLE_DIM));
		buf_printable(&text, source.data, source.size);
	}
	show_line(s, &text);
}

static void draw_table(struct screen_lines *s, struct top_view *v, unsigned lines)
{
	const struct answer_top *t = v->top;

	draw_table_head(s, v);
	v->room = lines > 1 ? lines - 1 : 0;
	v->lines = t->shown;
	if (!s->height)
		v->room = t->shown;
	v->selected = v->selected < v->lines ? v->selected : v->lines ? v->lines - 1 : 0;
	v->first = MIN(v->first, v->selected);
	if (v->room && v->selected >= v->first + v->room)
		v->first = v->selected - v->room + 1;
	if (!t->shown)
		screen_linef(s, "  %s",
			     t->functions ? "no function has this in its name" : "nothing yet");
	for (uint32_t i = v->first; i < v->first + v->room && i < t->shown; i++)
		draw_row(s, v, &t->rows[t->skip + i], s->height && i == v->selected);
}

static const struct top_row *open_row(const struct top_view *v)
{
	return FIND(it, v->top->rows, v->top->count, !strcmp(it->name, v->open));
}

/* "  34.1 %  164 MiB in 12,345 blocks, 3.21 MiB/s, 1,234 allocations/s" */
static void add_stack_figures(struct buf *text, const struct screen_lines *s,
			      const struct top_view *v, const struct top_row *row,
			      const struct top_stack *stack)
{
	const struct top_figures *f = &stack->figures;
	bool held = row->figures.held_bytes;
	struct human a, c, d;

	human_share(&a, held ? f->held_bytes : f->allocations,
		    held ? row->figures.held_bytes : row->figures.allocations);
	buf_printf(text, "%s%8s%s  %s in %s block%s", style(s, STYLE_NUMBER), a.text,
		   style(s, STYLE_PLAIN), size_text(f->held_bytes), human_count(&c, f->held_count),
		   f->held_count == 1 ? "" : "s");
	if (f->recent.allocations)
		buf_printf(text, ", %s/s in %s allocations/s", bytes_text(&c, v->top, f),
			   calls_text(&d, v->top, f));
	buf_char(text, '\n');
}

static void draw_stacks(struct screen_lines *s, struct top_view *v, unsigned lines)
{
	struct view view = { .model = v->snapshot->model, .locations = v->snapshot->locations };
	struct report r = { .view = &view, .term = *s->term, .followed = true };
	const struct top_row *row = open_row(v);
	auto_buf struct buf text = { 0 }, head = { 0 };
	uint32_t line = 0;
	char *next;

	r.term.width = s->width;
	buf_printf(&head, "%s", style(s, STYLE_TITLE));
	add_name(&head, v->open, s->width > 30 ? s->width - 24 : 8);
	buf_printf(&head, "%s  %u of %u stack%s", style(s, STYLE_PLAIN),
		   row ? row->shown_stacks : 0, row ? row->stack_count : 0,
		   row && row->stack_count == 1 ? "" : "s");
	show_line(s, &head);
	for (uint32_t i = 0; row && i < row->shown_stacks; i++) {
		add_stack_figures(&text, s, v, row, &row->stacks[i]);
		report_stack(&r, &text, row->stacks[i].stack, row->stacks[i].call);
	}
	buf_text(&text, "");
	v->room = lines > 1 ? lines - 1 : 0;
	v->lines = 0;
	for (const char *p = text.data; (p = strchr(p, '\n')); p++)
		v->lines++;
	if (v->first + v->room > v->lines)
		v->first = v->lines > v->room ? v->lines - v->room : 0;
	for (char *p = text.data; (next = strchr(p, '\n')); p = next + 1, line++)
		if (line >= v->first && line < v->first + v->room)
			screen_line(s, p, (size_t)(next - p));
	free(r.frames);
}

static void draw_keys(struct screen_lines *s, const struct top_view *v)
{
	const char *dim = style(s, STYLE_DIM);

	if (v->typing)
		screen_linef(s, "/%s_", v->filter);
	else if (v->help)
		screen_linef(s,
			     "%sh held  c change  r bytes/s  a allocs/s  b blocks  t temporary  "
			     "n name  + - interval  g G ends",
			     dim);
	else if (v->open)
		screen_linef(s, "%sEsc back  ↑↓ PgUp PgDn scroll  p pause  q quit", dim);
	else
		screen_linef(s,
			     "%sq quit  s sort  ↑↓ choose  Enter stacks  / filter  p pause  "
			     "+ - interval  ? help",
			     dim);
}

/* For a terminal that has ASCII only. */
static void to_ascii(struct buf *text)
{
	static const struct {
		const char *from;
		char to;
	} rows[] = { { "│", '|' }, { "└", '+' }, { "─", '-' }, { "▼", '*' },
		     { "…", '~' }, { "↑", '^' }, { "↓", 'v' }, { "←", '<' } };
	size_t size = 0;

	for (size_t i = 0; i < text->size; i++) {
		char to = text->data[i];

		if ((unsigned char)to >= 0x80) {
			to = '?';
			for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
				if (!strncmp(text->data + i, rows[k].from, 3))
					to = rows[k].to;
			while (i + 1 < text->size && (text->data[i + 1] & 0xc0) == 0x80)
				i++;
		}
		text->data[size++] = to;
	}
	text->size = size;
	text->data[size] = 0;
}

void top_view_draw(struct buf *out, struct top_view *v, const struct term *t, unsigned width,
		   unsigned height)
{
	struct screen_lines s = { .out = out, .term = t, .width = width, .height = height };
	unsigned curve = CURVE_ONCE, left;

	draw_title(&s, v);
	draw_facts(&s, v);
	left = height > s.used + 1 ? height - s.used - 1 : 0;
	if (height) { /* a third for the curve, if there is enough for both */
		curve = left > TABLE_MIN + 1 ? (left - 1) / 3 : 0;
		curve = curve > CURVE_MAX ? CURVE_MAX : curve < CURVE_MIN ? 0 : curve;
	}
	if (curve) {
		draw_curve(&s, v, curve);
		left -= left > curve + 1 ? curve + 1 : left;
	}
	if (v->open)
		draw_stacks(&s, v, left);
	else
		draw_table(&s, v, left);
	if (height) {
		while (s.used + 1 < height)
			screen_line(&s, "", 0);
		draw_keys(&s, v);
	}
	if (v->ascii)
		to_ascii(out);
}
