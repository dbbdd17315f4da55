/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The report as text.  See report.h. */
#include <string.h>

#include "base/buf.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/report.h"
#include "cli/text.h"

#define INDENT 10 /* of frames */
/* A long stack shows its inner and its outer end. */
#define INNER_FRAMES 10
#define OUTER_FRAMES 3
#define FUNCTION_MIN 24 /* columns that a function keeps, however long its file's name */

/* "  file:line  (module)" */
static char *location_of(const struct report *r, const struct report_frame *f, bool with_module)
{
	struct buf text = { 0 };

	buf_text(&text, f->inlined ? " (inlined)" : "");
	if (f->file) {
		buf_printf(&text, "  %s", r->full ? f->file : path_base(f->file));
		if (f->line)
			buf_printf(&text, ":%u", f->line);
	}
	if (f->module && with_module && f->function)
		buf_printf(&text, "  (%s)", r->full ? f->module : path_base(f->module));
	if (f->note)
		buf_printf(&text, "  [%s]", f->note);
	return text.data;
}

static char *function_of(const struct report_frame *f)
{
	struct buf text = { 0 };

	if (f->function)
		return xstrdup(f->function);
	frame_unnamed(f->module, f->address, &text);
	return text.data;
}

static size_t room_beside(const struct report *r, const char *location)
{
	size_t taken = INDENT + text_columns(location);

	return r->term.width > taken + FUNCTION_MIN ? r->term.width - taken : FUNCTION_MIN;
}

static void print_frame(const struct report *r, struct buf *out, const struct report_frame *f,
			bool call)
{
	auto_free char *location = location_of(r, f, true);
	auto_free char *function = function_of(f);
	size_t room = r->full ? SIZE_MAX : room_beside(r, location);

	/* What does not fit loses its template arguments, then the module, then its end. */
	if (text_columns(function) > room) {
		char *shorter = text_abbreviated(function);

		free(function);
		function = shorter;
	}
	if (text_columns(function) > room && f->file) {
		free(location);
		location = location_of(r, f, false);
		room = room_beside(r, location);
	}
	buf_repeat(out, ' ', INDENT);
	buf_text(out, term_style(&r->term, call ? STYLE_STRONG : STYLE_FUNCTION));
	text_shortened(out, function, room);
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
	buf_text(out, term_style(&r->term, STYLE_DIM));
	buf_printable(out, location, strlen(location));
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
	buf_char(out, '\n');
}

void report_stack(struct report *r, struct buf *out, uint32_t stack, unsigned call)
{
	size_t skip_from, skip_to;

	report_frames(r, stack, call);
	skip_from = skip_to = r->frame_count;
	if (!r->full && r->frame_count > INNER_FRAMES + OUTER_FRAMES + 1) {
		skip_from = INNER_FRAMES;
		skip_to = r->frame_count - OUTER_FRAMES;
	}
	for (size_t i = 0; i < r->frame_count; i++) {
		if (i == skip_from) {
			buf_repeat(out, ' ', INDENT);
			buf_printf(out, "%s\xe2\x80\xa6 %zu more frames%s\n",
				   term_style(&r->term, STYLE_DIM), skip_to - skip_from,
				   term_style(&r->term, STYLE_PLAIN));
			i = skip_to;
		}
		print_frame(r, out, &r->frames[i], i == 0);
	}
}

static const char *unit_of(const struct report_part *part, uint64_t count)
{
	return count == 1 ? part->unit : part->units;
}

/* "   34.1 %     164 MiB     12,345 blocks", what is sorted by first. */
static void print_figures(const struct report *r, struct buf *out, const struct report_part *part,
			  struct report_figures here, struct report_figures all)
{
	bool calls = report_counts_calls(part->order);
	struct human share, bytes, count;

	human_size(&bytes, here.bytes);
	human_count(&count, here.count);
	human_share(&share, calls ? here.count : here.bytes, calls ? all.count : all.bytes);
	buf_printf(out, "%s%8s%s  ", term_style(&r->term, STYLE_NUMBER), share.text,
		   term_style(&r->term, STYLE_PLAIN));
	buf_text(out, term_style(&r->term, STYLE_STRONG));
	if (calls)
		buf_printf(out, "%s %s%s, %s", count.text, unit_of(part, here.count),
			   term_style(&r->term, STYLE_PLAIN), bytes.text);
	else
		buf_printf(out, "%s%s in %s %s", bytes.text, term_style(&r->term, STYLE_PLAIN),
			   count.text, unit_of(part, here.count));
	buf_char(out, '\n');
}

static void print_title(const struct report *r, struct buf *out, const struct report_part *part,
			struct report_figures all)
{
	const struct totals *t = &r->model->totals;
	struct human a, b, c;

	buf_printf(out, "\n%s%s%s  ", term_style(&r->term, STYLE_TITLE), part->title,
		   term_style(&r->term, STYLE_PLAIN));
	if (!all.count) {
		buf_printf(out, "%s\n", part->empty);
		return;
	}
	human_count(&a, all.count);
	human_size(&b, all.bytes);
	if (report_counts_calls(part->order))
		buf_printf(out, "%s %s, %s", a.text, unit_of(part, all.count), b.text);
	else
		buf_printf(out, "%s in %s %s", b.text, a.text, unit_of(part, all.count));
	if (part->order == BY_PEAK_BYTES)
		buf_printf(out, ", %s after the start",
			   human_duration(&c, model_ns(r->model, t->peak_at)));
	if (part->order == BY_TEMPORARY)
		buf_printf(out, ", freed by the very next event of their thread; %s of all",
			   human_share(&c, all.count,
				       r->view->bits ? r->view->count : t->allocations));
	buf_char(out, '\n');
}

static uint32_t stacks_in(const struct stack_sums *s, enum stack_order order)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++)
		n += report_of_stack(&s->rows[i], order).count != 0;
	return n;
}

static void print_part(struct report *r, struct buf *out, const struct report_part *part)
{
	struct report_figures all = report_of_all(r, part->order), rest = all;
	uint32_t n = stack_sums_top(&r->sums, part->order, r->top);
	uint32_t stacks = stacks_in(&r->sums, part->order);
	struct human a, b;

	print_title(r, out, part, all);
	for (uint32_t i = 0; i < n; i++) {
		struct report_figures here = report_of_stack(&r->sums.rows[i], part->order);

		buf_char(out, '\n');
		print_figures(r, out, part, here, all);
		report_stack(r, out, r->sums.rows[i].stack, r->sums.rows[i].call);
		rest.bytes -= here.bytes;
		rest.count -= here.count;
	}
	if (stacks > n && rest.count <= all.count) {
		bool calls = report_counts_calls(part->order);

		human_share(&a, calls ? rest.count : rest.bytes, calls ? all.count : all.bytes);
		buf_printf(out, "\n%s%8s  in %s other stack%s%s\n", term_style(&r->term, STYLE_DIM),
			   a.text, human_count(&b, stacks - n), stacks - n == 1 ? "" : "s",
			   term_style(&r->term, STYLE_PLAIN));
	}
}

void report_text(struct report *r, struct buf *out)
{
	about_text_program(out, &r->term, r->model);
	about_text_totals(out, &r->term, r->model);
	about_text_loss(out, &r->term, r->model);
	if (r->view->bits)
		about_text_filter(out, &r->term, r->view);
	for (unsigned i = 0; i < REPORT_PARTS; i++)
		print_part(r, out, &report_parts[i]);
}
