/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A join as tables.  See join_print.h.  What is in no stack of the dump gets rows of its own, so
 * that columns add up to what the statistics say. */
#include "cli/jemalloc/join_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "cli/table.h"

#define TOP 10
#define CLASS_HOLDERS 3 /* that a class is shown with */

struct shown {
	struct buf *out;
	const struct term *term;
	const struct join *join;
	uint64_t top;
	bool full;
};

static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)llround(fmin(value, 0x1p62)) : 0;
}

static void title(const struct shown *s, const char *word, const char *rest)
{
	term_printf(s->term, s->out, "\n{title}%s{}  %s\n\n", word, rest);
}

static void print_head(const struct shown *s)
{
	const struct join *j = s->join;
	const struct waterfall *w = &j->waterfall;
	static const enum waterfall_step steps[] = { WATERFALL_SLABS, WATERFALL_PADDING,
						     WATERFALL_SAMPLED_PAGES, WATERFALL_UNKNOWN };
	double samples;

	buf_printf(s->out, "jemalloc ");
	buf_printable(s->out, s->join->stats->version, strlen(s->join->stats->version));
	if (w->active < STATS_NONE && w->allocated < STATS_NONE)
		buf_printf(s->out, ": %s active, %s allocated; %s between them",
			   size_text(w->active), size_text(w->allocated),
			   signed_size_text((int64_t)(w->active - w->allocated)));
	buf_char(s->out, '\n');
	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (w->step[steps[i]])
			buf_printf(s->out, "%12s  %s\n", signed_size_text(w->step[steps[i]]),
				   waterfall_rows[steps[i]].label);
	buf_printf(s->out, "The dump has %s in %zu stacks, a sample every %s",
		   size_text(whole(s->join->profile->total.bytes)), j->stack_count,
		   size_text(s->join->profile->rate));
	if (j->mixed > 0)
		buf_printf(s->out,
			   "; %s of it in lines of several sizes, whose classes are a guess",
			   size_text(whole(j->mixed)));
	buf_text(s->out, ".\n");
	samples = j->home != SIZE_MAX
			  ? fmin(j->classes[j->home].sampled, (double)j->classes[j->home].live)
			  : 0;
	if (samples >= 1)
		buf_printf(s->out,
			   "Profiling itself takes %s: %s small blocks that were sampled have "
			   "%s each instead.\n",
			   size_text(whole(j->sampled)), count_text(whole(samples)),
			   size_text(j->classes[j->home].size));
	else if (j->apart >= 1)
		buf_printf(s->out,
			   "Profiling itself takes %s: %s small blocks that were sampled have "
			   "pages of their own.\n",
			   size_text(whole(j->sampled)), count_text(whole(j->apart)));
}

/* What is no stack's, so that the column adds up. */
static void other_row(struct table *t, const struct join *j, double unused, const char *what)
{
	if (fabs(unused) < 0.5)
		return;
	table_cell(t, signed_size_text((int64_t)fmax(fmin(unused, 0x1p62), -0x1p62)));
	table_cell(t, share_text(whole(unused), j->unused > 0 ? (uint64_t)j->unused : 1));
	for (unsigned i = 0; i < 3; i++)
		table_cell(t, "");
	table_cell(t, what);
}

static void print_stacks(const struct shown *s)
{
	static const struct table_column columns[] = { { "unused" },
						       { "share" },
						       { "live" },
						       { "blocks", .narrow = 90 },
						       { "worst class" },
						       { "stack", .left = true,
							 .style = STYLE_FUNCTION },
						       { 0 } };
	const struct join *j = s->join;
	double rest = (double)j->unused - j->charged - j->pages;
	auto_buf struct buf line = { 0 };
	auto_release(table_release) struct table t = { 0 };

	title(s, "STACKS", "unused memory, by who has the blocks that keep it");
	table_init(&t, columns);
	for (size_t i = 0; i < j->stack_count; i++) {
		const struct join_stack *k = &j->stacks[i];

		if (i >= s->top) {
			rest += k->unused;
			continue;
		}
		table_cell(&t, size_text(whole(k->unused)));
		table_cell(&t,
			   share_text(whole(k->unused), j->unused > 0 ? (uint64_t)j->unused : 1));
		table_cell(&t, size_text(whole(k->bytes)));
		table_cell(&t, count_text(whole(k->objects)));
		if (k->part_count)
			table_cellf(&t, "%s%s", k->mixed ? "~" : "",
				    size_text(j->classes[j->parts[k->first].class].size));
		else
			table_cell(&t, "");
		buf_clear(&line);
		profile_put_stack(&line, j->profile, k->stack, s->full ? SIZE_MAX : 4);
		table_cell(&t, line.data);
	}
	other_row(&t, j, j->pages, "(pages beside blocks that were sampled)");
	other_row(&t, j, rest,
		  j->stack_count > s->top ? "(other stacks, and in no stack of the dump)"
					  : "(in no stack of the dump)");
	table_print(&t, s->term, s->full, s->out);
}

ORDER(by_unused, struct join_class *const,
      COMPARE((*y)->unused, (*x)->unused) ?: COMPARE((*x)->size, (*y)->size))

/* Those that have most of it, with their shares. */
static void put_holders(struct buf *out, const struct join *j, const struct join_class *c)
{
	struct join_holder holders[JOIN_HOLDERS];
	size_t count = join_holders(j, c, holders);

	for (size_t i = 0; i < CLASS_HOLDERS && i < count && holders[i].percent >= 0.5; i++) {
		const char *name = holders[i].name ? strings_at(&j->profile->names, holders[i].name)
						   : "(no stack)";

		buf_text(out, i ? ", " : "");
		buf_printable(out, name, strlen(name));
		buf_printf(out, " %.0f %%", holders[i].percent);
	}
}

static void print_classes(const struct shown *s)
{
	static const struct table_column columns[] = { { "class" },
						       { "unused" },
						       { "used" },
						       { "regions", .narrow = 90 },
						       { "in use" },
						       { "in the dump", .narrow = 90 },
						       { "whose", .left = true,
							 .style = STYLE_FUNCTION },
						       { 0 } };
	const struct join *j = s->join;
	auto_free const struct join_class **order = xcalloc(j->class_count, sizeof(*order));
	auto_buf struct buf line = { 0 };
	auto_release(table_release) struct table t = { 0 };

	for (size_t i = 0; i < j->class_count; i++)
		order[i] = &j->classes[i];
	SORT(order, j->class_count, by_unused);
	title(s, "CLASSES", "free regions of slabs, and pages beside large blocks");
	table_init(&t, columns);
	for (size_t i = 0; i < j->class_count && i < s->top && order[i]->unused; i++) {
		const struct join_class *c = order[i];

		table_cell(&t, size_text(c->size));
		table_cell(&t, signed_size_text(c->unused));
		table_cell(&t, c->large ? "large" : share_text(c->live, c->regions));
		table_cell(&t, count_text(c->regions));
		table_cell(&t, count_text(c->live));
		table_cell(&t, count_text(whole(c->seen)));
		buf_clear(&line);
		buf_text(&line, "");
		put_holders(&line, j, c);
		table_cell(&t, line.data);
	}
	table_print(&t, s->term, s->full, s->out);
}

void join_print(struct buf *out, const struct term *term, const struct join *j, uint64_t top,
		bool full)
{
	const struct shown s = { out, term, j, top == UINT64_MAX ? TOP : top, full };

	print_head(&s);
	print_stacks(&s);
	print_classes(&s);
}
