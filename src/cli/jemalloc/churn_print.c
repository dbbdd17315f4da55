/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What memoir jemalloc log prints for people.  See churn_print.h. */
#include "cli/jemalloc/churn_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/shape.h"
#include "cli/table.h"

#define FRAMES_SHOWN 4
#define LABEL 21 /* columns of a lifetime */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_about(struct buf *out, const struct term *t, const struct churn_log *a)
{
	term_printf(t, out, "{title}%s{}: ", a->path);
	if (a->recent)
		buf_printf(out, "the last %s blocks that were sampled", count_text(a->recent_max));
	else
		buf_printf(out, "blocks that were freed within %s", duration_text(a->duration_ns));
	if (a->rate)
		buf_printf(out, ", a sample every %s", size_text(a->rate));
	if (a->pid)
		buf_printf(out, "; process %" PRIu64, a->pid);
	if (*a->version)
		buf_printf(out, ", jemalloc %.*s", (int)strcspn(a->version, "-"), a->version);
	buf_printf(out, "\n%s object%s, ", count_text(a->objects), plural(a->objects));
	buf_printf(out, "%s thread%s, ", count_text(a->threads), plural(a->threads));
	buf_printf(out, "%s stack trace%s\n", count_text(a->traces), plural(a->traces));
	if (!strcmp(a->resolution, "default"))
		buf_text(out, "Times are the kernel's coarse ones, some milliseconds apart; "
			      "prof_time_resolution:high has finer ones.\n");
	if (!a->named && a->traces)
		buf_text(out, "It has no maps, so addresses have no names: give --maps.\n");
}

/* "1 ms … 10 ms", "below 1 us" */
static void life_name(struct buf *out, const struct churn_life *l)
{
	buf_clear(out);
	if (l->from_ns)
		buf_text(out, duration_text(l->from_ns));
	else
		buf_text(out, "below");
	if (l->to_ns == UINT64_MAX)
		buf_text(out, " and more");
	else
		buf_printf(out, "%s %s", l->from_ns ? " …" : "", duration_text(l->to_ns));
}

static void print_lives(struct buf *out, const struct term *t, const struct churn *c)
{
	unsigned columns = t->width > LABEL + 42 ? t->width - LABEL - 40 : 10;
	unsigned first = 0, last = CHURN_LIVES;
	uint64_t most = 0;
	auto_buf struct buf name = { 0 };

	for (unsigned i = 0; i < CHURN_LIVES; i++)
		most = c->lives[i].objects > most ? c->lives[i].objects : most;
	while (last && !c->lives[last - 1].objects)
		last--;
	while (first + 1 < last && !c->lives[first].objects)
		first++;
	term_printf(t, out, "\n{title}LIFETIMES{}  of %s that were freed: mean %s, ",
		    count_text(c->total.freed), duration_text((uint64_t)c->total.mean_ns));
	buf_printf(out, "half within %s, ", duration_text(c->total.half_ns));
	buf_printf(out, "90 %% within %s, ", duration_text(c->total.p90_ns));
	buf_printf(out, "all within %s\n\n", duration_text(c->total.most_ns));
	for (unsigned i = first; i < last; i++) {
		const struct churn_life *l = &c->lives[i];

		life_name(&name, l);
		if (text_columns(name.data) < LABEL)
			buf_repeat(out, ' ', LABEL - text_columns(name.data));
		term_printf(t, out, "%s %11s %10s  {number}", name.data, count_text(l->objects),
			    size_text(l->bytes));
		shape_bar(out, most ? (double)l->objects / (double)most : 0, columns);
		term_printf(t, out, "{}%8s\n",
			    l->objects ? share_text(l->objects, c->total.freed) : "");
	}
}

static void print_threads(struct buf *out, const struct term *t, const struct churn *c)
{
	static const struct table_column columns[] = {
		{ "thread" },	 { "allocated" },	   { "bytes" }, { "freed" },
		{ "of others" }, { "name", .left = true }, { 0 }
	};
	auto_release(table_release) struct table table = { 0 };

	term_printf(t, out,
		    "\n{title}THREADS{}  %s block%s freed by another thread than allocated %s\n\n",
		    count_text(c->total.elsewhere), c->total.elsewhere == 1 ? " was" : "s were",
		    c->total.elsewhere == 1 ? "it" : "them");
	table_init(&table, columns);
	for (size_t i = 0; i < c->thread_count; i++) {
		const struct churn_thread *r = &c->threads[i];
		struct buf name = { 0 };

		buf_printable(&name, r->name, strlen(r->name));
		table_cellf(&table, "%" PRIu64, r->uid);
		table_cell(&table, count_text(r->objects));
		table_cell(&table, size_text(r->bytes));
		table_cell(&table, count_text(r->freed));
		table_cell(&table, count_text(r->freed_others));
		table_cell(&table, name.size ? name.data : "");
		buf_release(&name);
	}
	table_print(&table, t, false, out);
}

static void add_row(struct table *table, const struct churn *c, const struct churn_stack *s,
		    bool full)
{
	auto_buf struct buf text = { 0 };

	table_cell(table, size_text((uint64_t)s->all_bytes));
	table_cell(table, count_text((uint64_t)(s->all_objects + .5)));
	table_cell(table, count_text(s->objects));
	table_cell(table, s->freed ? duration_text((uint64_t)s->mean_ns) : "");
	table_cell(table, s->freed ? duration_text(s->half_ns) : "");
	table_cell(table, s->freed ? duration_text(s->p90_ns) : "");
	table_cell(table, s->freed ? duration_text(s->most_ns) : "");
	table_cell(table, count_text(s->objects - s->freed));
	table_cell(table, count_text(s->elsewhere));
	churn_put_stack(&text, c, s, full ? SIZE_MAX : FRAMES_SHOWN, full ? "\n" : " ← ");
	table_cell(table, text.data);
}

static void print_stacks(struct buf *out, const struct term *t, const struct churn *c, uint64_t top,
			 bool full)
{
	static const struct table_column columns[] = { { "~bytes", .style = STYLE_NUMBER },
						       { "~objects" },
						       { "sampled", .narrow = 100 },
						       { "mean life" },
						       { "half", .narrow = 120 },
						       { "90 %", .narrow = 90 },
						       { "longest", .narrow = 120 },
						       { "alive", .narrow = 110 },
						       { "elsewhere", .narrow = 100 },
						       { "stack", .left = true,
							 .style = STYLE_FUNCTION },
						       { 0 } };
	auto_release(table_release) struct table table = { 0 };

	term_printf(t, out,
		    "\n{title}STACKS{}  %s; the most bytes first, ~ as estimated from those that "
		    "were sampled\n\n",
		    count_text(c->stack_count));
	table_init(&table, columns);
	for (size_t i = 0; i < c->stack_count && i < top; i++)
		add_row(&table, c, &c->stacks[i], full);
	table_print(&table, t, full, out);
}

void churn_print(struct buf *out, const struct term *t, const struct churn *c, uint64_t top,
		 bool full)
{
	for (size_t i = 0; i < c->log_count; i++)
		print_about(out, t, &c->logs[i]);
	if (c->total.freed)
		print_lives(out, t, c);
	if (c->thread_count)
		print_threads(out, t, c);
	if (c->stack_count)
		print_stacks(out, t, c, top, full);
}
