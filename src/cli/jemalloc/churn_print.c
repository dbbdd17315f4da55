/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc log's answers: for people, as JSON, as CSV.  See churn_print.h. */
#include "cli/jemalloc/churn_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "cli/shape.h"
#include "cli/table.h"

#define FRAMES_SHOWN 4
#define LABEL 21 /* columns of a lifetime */

/* "inner ← outer ← main", or a line for each. */
static void stack_text(const struct churn *c, const struct churn_stack *s, size_t most,
		       const char *between, struct buf *out)
{
	struct profile_walk w = { 0 };

	buf_clear(out);
	buf_text(out, "");
	profile_walk(&c->profile, s->sample, &w);
	for (size_t i = 0; i < w.count && i < most; i++) {
		auto_free char *name = churn_frame(c, &w, i);

		if (i)
			buf_text(out, between);
		buf_printable(out, name, strlen(name));
	}
	if (w.count > most)
		buf_printf(out, "%s\xe2\x80\xa6", between);
	profile_walk_release(&w);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_about(struct buf *out, const struct term *t, const struct churn_about *a)
{
	struct human h;

	buf_printf(out, "%s%s%s: ", term_style(t, STYLE_TITLE), a->path,
		   term_style(t, STYLE_PLAIN));
	if (a->recent)
		buf_printf(out, "the last %s blocks that were sampled",
			   human_count(&h, a->recent_max));
	else
		buf_printf(out, "blocks that were freed within %s",
			   human_duration(&h, a->duration_ns));
	if (a->rate)
		buf_printf(out, ", a sample every %s", human_size(&h, a->rate));
	if (a->pid)
		buf_printf(out, "; process %" PRIu64, a->pid);
	if (*a->version)
		buf_printf(out, ", jemalloc %.*s", (int)strcspn(a->version, "-"), a->version);
	buf_printf(out, "\n%s object%s, ", human_count(&h, a->objects), plural(a->objects));
	buf_printf(out, "%s thread%s, ", human_count(&h, a->threads), plural(a->threads));
	buf_printf(out, "%s stack trace%s\n", human_count(&h, a->traces), plural(a->traces));
	if (!strcmp(a->resolution, "default"))
		buf_text(out, "Times are the kernel's coarse ones, some milliseconds apart; "
			      "prof_time_resolution:high has finer ones.\n");
	if (!a->named && a->traces)
		buf_text(out, "It has no maps, so addresses have no names: give --maps.\n");
}

/* "1 ms … 10 ms", "below 1 us" */
static void life_name(struct buf *out, const struct churn_life *l)
{
	struct human h;

	buf_clear(out);
	if (l->from_ns)
		buf_text(out, human_duration(&h, l->from_ns));
	else
		buf_text(out, "below");
	if (l->to_ns == UINT64_MAX)
		buf_text(out, " and more");
	else
		buf_printf(out, "%s %s", l->from_ns ? " \xe2\x80\xa6" : "",
			   human_duration(&h, l->to_ns));
}

static void print_lives(struct buf *out, const struct term *t, const struct churn *c)
{
	unsigned columns = t->width > LABEL + 42 ? t->width - LABEL - 40 : 10;
	unsigned first = 0, last = CHURN_LIVES;
	uint64_t most = 0;
	struct buf name = { 0 };
	struct human a, b, d;

	for (unsigned i = 0; i < CHURN_LIVES; i++)
		most = c->lives[i].objects > most ? c->lives[i].objects : most;
	while (last && !c->lives[last - 1].objects)
		last--;
	while (first + 1 < last && !c->lives[first].objects)
		first++;
	buf_printf(out, "\n%sLIFETIMES%s  of %s that were freed: mean %s, ",
		   term_style(t, STYLE_TITLE), term_style(t, STYLE_PLAIN),
		   human_count(&a, c->total.freed), human_duration(&b, (uint64_t)c->total.mean_ns));
	buf_printf(out, "half within %s, ", human_duration(&a, c->total.half_ns));
	buf_printf(out, "90 %% within %s, ", human_duration(&a, c->total.p90_ns));
	buf_printf(out, "all within %s\n\n", human_duration(&a, c->total.most_ns));
	for (unsigned i = first; i < last; i++) {
		const struct churn_life *l = &c->lives[i];

		life_name(&name, l);
		if (text_columns(name.data) < LABEL)
			buf_repeat(out, ' ', LABEL - text_columns(name.data));
		buf_printf(out, "%s %11s %10s  %s", name.data, human_count(&a, l->objects),
			   human_size(&b, l->bytes), term_style(t, STYLE_NUMBER));
		shape_bar(out, most ? (double)l->objects / (double)most : 0, columns);
		buf_printf(out, "%s%8s\n", term_style(t, STYLE_PLAIN),
			   l->objects ? human_share(&d, l->objects, c->total.freed) : "");
	}
	buf_release(&name);
}

static void print_threads(struct buf *out, const struct term *t, const struct churn *c)
{
	static const struct table_column columns[] = { { "thread", "thread" },
						       { "allocated", "allocated" },
						       { "bytes", "bytes" },
						       { "freed", "freed" },
						       { "of others", "freed_others" },
						       { "name", "name", .left = true },
						       { 0 } };
	struct table table;
	struct human h;

	buf_printf(out, "\n%sTHREADS%s  %s block%s freed by another thread than allocated %s\n\n",
		   term_style(t, STYLE_TITLE), term_style(t, STYLE_PLAIN),
		   human_count(&h, c->total.elsewhere), c->total.elsewhere == 1 ? " was" : "s were",
		   c->total.elsewhere == 1 ? "it" : "them");
	table_init(&table, columns);
	for (size_t i = 0; i < c->thread_count; i++) {
		const struct churn_thread *r = &c->threads[i];
		struct buf name = { 0 };

		buf_printable(&name, r->name, strlen(r->name));
		table_cellf(&table, "%" PRIu64, r->uid);
		table_cell(&table, human_count(&h, r->objects));
		table_cell(&table, human_size(&h, r->bytes));
		table_cell(&table, human_count(&h, r->freed));
		table_cell(&table, human_count(&h, r->freed_others));
		table_cell(&table, name.size ? name.data : "");
		buf_release(&name);
	}
	table_print(&table, t, false, out);
	table_release(&table);
}

static void add_row(struct table *table, const struct churn *c, const struct churn_stack *s,
		    bool full)
{
	struct buf text = { 0 };
	struct human h;

	table_cell(table, human_size(&h, (uint64_t)s->all_bytes));
	table_cell(table, human_count(&h, (uint64_t)(s->all_objects + .5)));
	table_cell(table, human_count(&h, s->objects));
	table_cell(table, s->freed ? human_duration(&h, (uint64_t)s->mean_ns) : "");
	table_cell(table, s->freed ? human_duration(&h, s->half_ns) : "");
	table_cell(table, s->freed ? human_duration(&h, s->p90_ns) : "");
	table_cell(table, s->freed ? human_duration(&h, s->most_ns) : "");
	table_cell(table, human_count(&h, s->objects - s->freed));
	table_cell(table, human_count(&h, s->elsewhere));
	stack_text(c, s, full ? SIZE_MAX : FRAMES_SHOWN, full ? "\n" : " \xe2\x86\x90 ", &text);
	table_cell(table, text.data);
	buf_release(&text);
}

static void print_stacks(struct buf *out, const struct term *t, const struct churn *c, uint64_t top,
			 bool full)
{
	static const struct table_column columns[] = { { "~bytes", "bytes", .style = STYLE_NUMBER },
						       { "~objects", "objects" },
						       { "sampled", "sampled", .narrow = 100 },
						       { "mean life", "mean" },
						       { "half", "half", .narrow = 120 },
						       { "90 %", "p90", .narrow = 90 },
						       { "longest", "longest", .narrow = 120 },
						       { "alive", "alive", .narrow = 110 },
						       { "elsewhere", "elsewhere", .narrow = 100 },
						       { "stack", "stack", .left = true,
							 .style = STYLE_FUNCTION },
						       { 0 } };
	struct table table;
	struct human h;

	buf_printf(out,
		   "\n%sSTACKS%s  %s; the most bytes first, ~ as estimated from those that were "
		   "sampled\n\n",
		   term_style(t, STYLE_TITLE), term_style(t, STYLE_PLAIN),
		   human_count(&h, c->stack_count));
	table_init(&table, columns);
	for (size_t i = 0; i < c->stack_count && i < top; i++)
		add_row(&table, c, &c->stacks[i], full);
	table_print(&table, t, full, out);
	table_release(&table);
}

void churn_print_text(struct buf *out, const struct term *t, const struct churn *c,
		      const struct churn_about *logs, uint64_t top, bool full)
{
	for (size_t i = 0; i < c->log_count; i++)
		print_about(out, t, &logs[i]);
	if (c->total.freed)
		print_lives(out, t, c);
	if (c->thread_count)
		print_threads(out, t, c);
	if (c->stack_count)
		print_stacks(out, t, c, top, full);
}

static void json_lives(struct json *j, const struct churn_stack *s)
{
	if (!s->freed) {
		json_null(j, "lifetime_ns");
		return;
	}
	json_object(j, "lifetime_ns");
	json_real(j, "mean", s->mean_ns, 1);
	json_number(j, "min", s->least_ns);
	json_number(j, "p50", s->half_ns);
	json_number(j, "p90", s->p90_ns);
	json_number(j, "p99", s->p99_ns);
	json_number(j, "max", s->most_ns);
	json_end_object(j);
}

static void json_amounts(struct json *j, const struct churn_stack *s)
{
	json_number(j, "objects", s->objects);
	json_number(j, "bytes", s->bytes);
	json_number(j, "freed", s->freed);
	json_number(j, "freed_by_another_thread", s->elsewhere);
	json_real(j, "estimated_objects", s->all_objects, 2);
	json_real(j, "estimated_bytes", s->all_bytes, 2);
	json_lives(j, s);
}

static void json_stack(struct json *j, const struct churn *c, const struct churn_stack *s)
{
	const struct heap_locations *p = &c->profile.locations;
	struct profile_walk w = { 0 };

	json_object(j, NULL);
	json_amounts(j, s);
	json_array(j, "frames");
	profile_walk(&c->profile, s->sample, &w);
	for (size_t i = 0; i < w.count; i++) {
		const struct heap_location_frame *f = &p->frames[w.frames[i]];
		auto_free char *name = churn_frame(c, &w, i);

		json_object(j, NULL);
		json_text(j, "name", name);
		if (f->file) {
			json_text(j, "file", strings_at(&p->texts, f->file));
			json_number(j, "line", f->line);
		}
		json_bool(j, "inlined", f->inlined);
		json_end_object(j);
	}
	profile_walk_release(&w);
	json_end_array(j);
	json_end_object(j);
}

static void json_logs(struct json *j, const struct churn *c, const struct churn_about *logs)
{
	json_array(j, "logs");
	for (size_t i = 0; i < c->log_count; i++) {
		const struct churn_about *a = &logs[i];

		json_object(j, NULL);
		json_text(j, "path", a->path);
		json_text(j, "kind", a->recent ? "recent" : "log");
		json_number(j, "objects", a->objects);
		json_number(j, "threads", a->threads);
		json_number(j, "traces", a->traces);
		json_number(j, "sample_bytes", a->rate);
		if (a->recent)
			json_number(j, "recent_max", a->recent_max);
		else
			json_number(j, "duration_ns", a->duration_ns);
		if (a->pid)
			json_number(j, "pid", a->pid);
		if (*a->version)
			json_text(j, "version", a->version);
		if (*a->resolution)
			json_text(j, "time_resolution", a->resolution);
		json_end_object(j);
	}
	json_end_array(j);
}

void churn_print_json(struct buf *out, const struct churn *c, const struct churn_about *logs,
		      uint64_t top)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_logs(&j, c, logs);
	json_object(&j, "total");
	json_amounts(&j, &c->total);
	json_end_object(&j);
	json_array(&j, "lifetimes");
	for (unsigned i = 0; i < CHURN_LIVES; i++) {
		json_object(&j, NULL);
		json_number(&j, "from_ns", c->lives[i].from_ns);
		if (c->lives[i].to_ns == UINT64_MAX)
			json_null(&j, "to_ns");
		else
			json_number(&j, "to_ns", c->lives[i].to_ns);
		json_number(&j, "objects", c->lives[i].objects);
		json_number(&j, "bytes", c->lives[i].bytes);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "threads");
	for (size_t i = 0; i < c->thread_count; i++) {
		json_object(&j, NULL);
		json_number(&j, "log", c->threads[i].log);
		json_number(&j, "uid", c->threads[i].uid);
		json_text(&j, "name", c->threads[i].name);
		json_number(&j, "objects", c->threads[i].objects);
		json_number(&j, "bytes", c->threads[i].bytes);
		json_number(&j, "freed", c->threads[i].freed);
		json_number(&j, "freed_of_others", c->threads[i].freed_others);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "stacks");
	for (size_t i = 0; i < c->stack_count && i < top; i++)
		json_stack(&j, c, &c->stacks[i]);
	json_end_array(&j);
	json_end_object(&j);
	buf_char(out, '\n');
}

void churn_print_csv(struct buf *out, const struct churn *c, uint64_t top)
{
	static const char *const titles[] = { "objects",
					      "bytes",
					      "freed",
					      "freed_by_another_thread",
					      "estimated_objects",
					      "estimated_bytes",
					      "mean_ns",
					      "p50_ns",
					      "p90_ns",
					      "p99_ns",
					      "max_ns",
					      "stack" };
	struct buf text = { 0 };

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		csv_cell(out, titles[i]);
	csv_end(out);
	for (size_t i = 0; i < c->stack_count && i < top; i++) {
		const struct churn_stack *s = &c->stacks[i];
		const uint64_t numbers[] = { s->objects,
					     s->bytes,
					     s->freed,
					     s->elsewhere,
					     (uint64_t)(s->all_objects + .5),
					     (uint64_t)(s->all_bytes + .5),
					     (uint64_t)s->mean_ns,
					     s->half_ns,
					     s->p90_ns,
					     s->p99_ns,
					     s->most_ns };

		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			csv_number(out, numbers[k]);
		stack_text(c, s, SIZE_MAX, ";", &text);
		csv_cell(out, text.data);
		csv_end(out);
	}
	buf_release(&text);
}
