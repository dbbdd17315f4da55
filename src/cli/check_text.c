/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The result of a check for a terminal.  See checking.h. */
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/path.h"
#include "cli/checking.h"
#include "cli/table.h"

static const char *value_text(enum check_measure m, uint64_t value, struct buf *room)
{
	buf_clear(room);
	check_measure_text(room, m, value);
	return room->data;
}

static void range_text(struct buf *out, enum check_measure m, const struct range *r)
{
	check_measure_text(out, m, r->low);
	if (r->high == r->low)
		return;
	buf_text(out, " to ");
	check_measure_text(out, m, r->high);
}

void check_sentence(struct buf *out, const struct check_result *r)
{
	enum check_measure m = r->wanted->measure;

	if (r->wanted->is_expected)
		buf_text(out, r->holds ? "as expected" : "not as expected");
	if (r->wanted->is_expected && !r->wanted->found)
		return;
	buf_text(out, r->wanted->is_expected ? "; " : "");
	range_text(out, m, &r->now);
	if (r->wanted->is_expected)
		return;
	if (r->wanted->is_growth) {
		buf_text(out, "; baseline ");
		range_text(out, m, &r->before);
	}
	if (r->wanted->per_function) {
		if (r->functions)
			buf_printf(out, "; grown in %" PRIu32 " function%s", r->functions,
				   r->functions == 1 ? "" : "s");
		return;
	}
	buf_text(out, "; at most ");
	check_measure_text(out, m, r->limit);
}

void check_stack_sentence(struct buf *out, const struct check_result *r,
			  const struct check_stack *s)
{
	enum check_measure m = r->wanted->measure;

	if (!r->wanted->is_growth) {
		check_measure_text(out, m, s->now);
		return;
	}
	buf_char(out, '+');
	check_measure_text(out, m, s->grown);
	if (s->is_new)
		buf_text(out, ", new");
	else {
		buf_text(out, ", was ");
		range_text(out, m, &s->before);
	}
}

static const struct table_column columns[] = {
	{ .title = " ", .left = true },
	{ .title = "required", .left = true, .style = STYLE_STRONG },
	{ .title = "now", .style = STYLE_NUMBER },
	{ .title = "baseline" },
	{ .title = "at most" },
	{ .title = " ", .left = true },
	{ 0 },
};

static void print_results(const struct checking *c, const struct term *term, struct buf *out)
{
	struct table t;

	table_init(&t, columns);
	for (size_t i = 0; i < c->answer.check.count; i++) {
		const struct check_result *r = &c->answer.check.results[i];
		auto_buf struct buf now = { 0 }, before = { 0 }, limit = { 0 };

		if (!r->wanted->is_expected || r->wanted->found)
			range_text(&now, r->wanted->measure, &r->now);
		if (r->wanted->is_growth)
			range_text(&before, r->wanted->measure, &r->before);
		if (!r->wanted->per_function && !r->wanted->is_expected)
			check_measure_text(&limit, r->wanted->measure, r->limit);
		table_cell(&t, r->holds ? "✓" : "✗");
		table_cell(&t, r->wanted->text);
		table_cell(&t, now.data ? now.data : "");
		table_cell(&t, before.data ? before.data : "");
		table_cell(&t, limit.data ? limit.data : "");
		if (r->wanted->per_function && !r->holds)
			table_cellf(&t, "in %s function%s", count_text(r->functions),
				    r->functions == 1 ? "" : "s");
		else
			table_cell(&t, "");
	}
	table_print(&t, term, true, out);
	table_release(&t);
}

/* The frames of a key, the responsible one with its place first. */
static void print_stack(const struct check_result *r, const struct check_stack *s,
			const struct term *term, struct buf *out)
{
	const char *p = s->key, *next;
	auto_buf struct buf amount = { 0 }, room = { 0 };

	if (r->wanted->is_growth) {
		buf_char(&amount, '+');
		buf_text(&amount, value_text(r->wanted->measure, s->grown, &room));
	} else {
		buf_text(&amount, value_text(r->wanted->measure, s->now, &room));
	}
	term_printf(term, out, "{warning}%14s{}  ", amount.data);
	for (bool first = true; p; p = next, first = false) {
		next = strstr(p, FIGURE_BETWEEN);
		if (!first)
			buf_printf(out, "%16s", "");
		buf_text(out, term_style(term, first ? STYLE_FUNCTION : STYLE_PLAIN));
		buf_printable(out, p, next ? (size_t)(next - p) : strlen(p));
		buf_text(out, term_style(term, STYLE_PLAIN));
		if (first && *s->file)
			term_printf(term, out, "  {dim}%s:%" PRIu32 "{}", path_base(s->file),
				    s->line);
		if (first && s->is_new)
			buf_text(out, "  new");
		else if (first && r->wanted->is_growth) {
			buf_text(out, "  was ");
			range_text(out, r->wanted->measure, &s->before);
		}
		buf_char(out, '\n');
		next = next ? next + strlen(FIGURE_BETWEEN) : NULL;
	}
}

static void print_stacks(const struct checking *c, const struct check_result *r,
			 const struct term *term, struct buf *out)
{
	uint32_t shown = requirements_told(&c->answer, r);

	if (r->holds || !shown)
		return;
	term_printf(term, out, "\n{title}%s{}  %s\n\n", r->wanted->text,
		    r->wanted->is_growth ? "the stacks that grew" : "the stacks that have most");
	for (uint32_t i = 0; i < shown; i++)
		print_stack(r, &r->stacks[i], term, out);
	if (shown < r->stack_count)
		buf_printf(out, "%16s%s more\n", "", count_text(r->stack_count - shown));
}

void check_print(const struct checking *c, const struct term *term, struct buf *out)
{
	term_printf(term, out, "{title}%s{}  %s", c->subject,
		    c->answer.check.holds ? "holds what is required"
					  : "does not hold what is required");
	if (c->answer.has_before)
		buf_printf(out, "; baseline %s of %" PRIu32 " run%s", c->before_path,
			   c->answer.before.runs, c->answer.before.runs == 1 ? "" : "s");
	buf_text(out, "\n\n");
	print_results(c, term, out);
	for (size_t i = 0; i < c->answer.check.count; i++)
		print_stacks(c, &c->answer.check.results[i], term, out);
	if (!c->answer.check.holds && c->answer.has_before && c->answer.now.runs == 1)
		term_printf(term, out,
			    "\n{dim}Of one run: record it again and check both, for growth is "
			    "what every run shows.{}\n");
	if (c->suppressed_blocks)
		buf_printf(out, "\nsuppressed: %s in %s block%s\n", size_text(c->suppressed_bytes),
			   count_text(c->suppressed_blocks), c->suppressed_blocks == 1 ? "" : "s");
}
