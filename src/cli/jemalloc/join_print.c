/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* join_print: a join as tables for a terminal, as JSON and as CSV; for memoir jemalloc join.  What
 * is in no stack of the dump gets rows of its own, so that columns add up to what the statistics
 * say. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "cli/jemalloc/join_print.h"
#include "cli/table.h"

#define TOP 10
#define CLASS_STACKS 3 /* that a class is shown with */

/* "inner ← outer", as many frames as a line can do with. */
static void put_stack(const struct join_print *s, struct buf *out, size_t stack, size_t most)
{
	const struct profile_stack *k = &s->profile->stacks[stack];

	if (!k->frame_count)
		buf_text(out, "(no stack)");
	for (size_t i = 0; i < k->frame_count && i < most; i++) {
		const char *name = strings_at(&s->profile->names, s->profile->frames[k->frame + i]);

		if (i)
			buf_text(out, " ← ");
		buf_printable(out, name, strlen(name));
	}
	if (k->frame_count > most)
		buf_text(out, " ← …");
}

static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)llround(fmin(value, 0x1p62)) : 0;
}

static const char *size_text(struct human *h, int64_t bytes)
{
	struct human number;

	snprintf(h->text, sizeof(h->text), "%s%.40s", bytes < 0 ? "-" : "",
		 human_size(&number, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes));
	return h->text;
}

static void title(const struct join_print *s, const char *word, const char *rest)
{
	buf_printf(s->out, "\n%s%s%s  %s\n\n", term_style(s->term, STYLE_TITLE), word,
		   term_style(s->term, STYLE_PLAIN), rest);
}

static void print_head(const struct join_print *s)
{
	const struct join *j = s->join;
	const struct waterfall *w = &j->waterfall;
	static const enum waterfall_step steps[] = { WATERFALL_SLABS, WATERFALL_PADDING,
						     WATERFALL_SAMPLED_PAGES, WATERFALL_UNKNOWN };
	struct human a, b, c;
	double samples;

	buf_printf(s->out, "jemalloc ");
	buf_printable(s->out, s->stats->version, strlen(s->stats->version));
	if (w->active < STATS_NONE && w->allocated < STATS_NONE)
		buf_printf(s->out, ": %s active, %s allocated; %s between them",
			   human_size(&a, w->active), human_size(&b, w->allocated),
			   size_text(&c, (int64_t)(w->active - w->allocated)));
	buf_char(s->out, '\n');
	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (w->step[steps[i]])
			buf_printf(s->out, "%12s  %s\n", size_text(&a, w->step[steps[i]]),
				   waterfall_rows[steps[i]].label);
	buf_printf(s->out, "The dump has %s in %zu stacks, a sample every %s",
		   human_size(&a, whole(s->profile->total.bytes)), j->stack_count,
		   human_size(&b, s->profile->rate));
	if (j->mixed > 0)
		buf_printf(s->out,
			   "; %s of it in lines of several sizes, whose classes are a guess",
			   human_size(&c, whole(j->mixed)));
	buf_text(s->out, ".\n");
	samples = j->home != SIZE_MAX
			  ? fmin(j->classes[j->home].sampled, (double)j->classes[j->home].live)
			  : 0;
	if (samples >= 1)
		buf_printf(s->out,
			   "Profiling itself takes %s: %s small blocks that were sampled have "
			   "%s each instead.\n",
			   human_size(&a, whole(j->sampled)), human_count(&b, whole(samples)),
			   human_size(&c, j->classes[j->home].size));
	else if (j->apart >= 1)
		buf_printf(s->out,
			   "Profiling itself takes %s: %s small blocks that were sampled have "
			   "pages of their own.\n",
			   human_size(&a, whole(j->sampled)), human_count(&b, whole(j->apart)));
}

/* What is no stack's, so that the column adds up. */
static void other_row(struct table *t, const struct join *j, double unused, const char *what)
{
	struct human h;

	if (fabs(unused) < 0.5)
		return;
	table_cell(t, size_text(&h, (int64_t)fmax(fmin(unused, 0x1p62), -0x1p62)));
	table_cell(t, human_share(&h, whole(unused), j->unused > 0 ? (uint64_t)j->unused : 1));
	for (unsigned i = 0; i < 3; i++)
		table_cell(t, "");
	table_cell(t, what);
}

static void print_stacks(const struct join_print *s)
{
	static const struct table_column columns[] = { { "unused", "unused" },
						       { "share", "share" },
						       { "live", "live" },
						       { "blocks", "blocks", .narrow = 90 },
						       { "worst class", "class" },
						       { "stack", "stack", .left = true,
							 .style = STYLE_FUNCTION },
						       { 0 } };
	const struct join *j = s->join;
	uint64_t most = s->top == UINT64_MAX ? TOP : s->top;
	double rest = (double)j->unused - j->charged - j->pages;
	struct buf line = { 0 };
	struct human a;
	struct table t;

	title(s, "STACKS", "unused memory, by who has the blocks that keep it");
	table_init(&t, columns);
	for (size_t i = 0; i < j->stack_count; i++) {
		const struct join_stack *k = &j->stacks[i];

		if (i >= most) {
			rest += k->unused;
			continue;
		}
		table_cell(&t, human_size(&a, whole(k->unused)));
		table_cell(&t, human_share(&a, whole(k->unused),
					   j->unused > 0 ? (uint64_t)j->unused : 1));
		table_cell(&t, human_size(&a, whole(k->bytes)));
		table_cell(&t, human_count(&a, whole(k->objects)));
		if (k->part_count)
			table_cellf(&t, "%s%s", k->mixed ? "~" : "",
				    human_size(&a, j->classes[j->parts[k->first].class].size));
		else
			table_cell(&t, "");
		buf_clear(&line);
		put_stack(s, &line, k->stack, s->full ? SIZE_MAX : 4);
		table_cell(&t, line.data);
	}
	other_row(&t, j, j->pages, "(pages beside blocks that were sampled)");
	other_row(&t, j, rest,
		  j->stack_count > most ? "(other stacks, and in no stack of the dump)"
					: "(in no stack of the dump)");
	table_print(&t, s->term, s->full, s->out);
	table_release(&t);
	buf_release(&line);
}

static int by_unused(const void *a, const void *b)
{
	const struct join_class *x = *(const struct join_class *const *)a;
	const struct join_class *y = *(const struct join_class *const *)b;

	if (x->unused != y->unused)
		return x->unused < y->unused ? 1 : -1;
	return (x->size > y->size) - (x->size < y->size);
}

/* Innermost functions of those that have most of it, with their shares. */
static void put_holders(const struct join_print *s, struct buf *out, const struct join_class *c)
{
	const struct profile *p = s->profile;
	const struct join *j = s->join;
	double all = fmax((double)c->live, c->seen);
	struct {
		uint32_t name;
		double share;
	} holders[32];
	size_t count = 0;

	for (size_t i = 0; i < c->part_count; i++) {
		const struct join_part *part = &j->parts[j->by_class[c->first + i]];
		const struct profile_stack *k = &p->stacks[part->stack];
		uint32_t name = k->frame_count ? p->frames[k->frame] : 0;
		size_t at = 0;

		while (at < count && holders[at].name != name)
			at++;
		if (at == sizeof(holders) / sizeof(*holders))
			break; /* the largest come first */
		if (at == count) {
			holders[count].name = name;
			holders[count++].share = 0;
		}
		if (all > 0)
			holders[at].share += (part->objects - part->sampled) / all * 100;
	}
	for (size_t n = 0; n < CLASS_STACKS && n < count; n++) {
		size_t best = 0;
		const char *name;

		for (size_t i = 1; i < count; i++)
			if (holders[i].share > holders[best].share)
				best = i;
		if (holders[best].share < 0.5)
			break;
		name = holders[best].name ? strings_at(&p->names, holders[best].name)
					  : "(no stack)";
		buf_text(out, n ? ", " : "");
		buf_printable(out, name, strlen(name));
		buf_printf(out, " %.0f %%", holders[best].share);
		holders[best].share = 0;
	}
}

static void print_classes(const struct join_print *s)
{
	static const struct table_column columns[] = { { "class", "class" },
						       { "unused", "unused" },
						       { "used", "used" },
						       { "regions", "regions", .narrow = 90 },
						       { "in use", "live" },
						       { "in the dump", "seen", .narrow = 90 },
						       { "whose", "stacks", .left = true,
							 .style = STYLE_FUNCTION },
						       { 0 } };
	const struct join *j = s->join;
	uint64_t most = s->top == UINT64_MAX ? TOP : s->top;
	auto_free const struct join_class **order = xcalloc(j->class_count, sizeof(*order));
	struct buf line = { 0 };
	struct human a;
	struct table t;

	for (size_t i = 0; i < j->class_count; i++)
		order[i] = &j->classes[i];
	qsort(order, j->class_count, sizeof(*order), by_unused);
	title(s, "CLASSES", "free regions of slabs, and pages beside large blocks");
	table_init(&t, columns);
	for (size_t i = 0; i < j->class_count && i < most && order[i]->unused; i++) {
		const struct join_class *c = order[i];

		table_cell(&t, human_size(&a, c->size));
		table_cell(&t, size_text(&a, c->unused));
		table_cell(&t, c->large ? "large" : human_share(&a, c->live, c->regions));
		table_cell(&t, human_count(&a, c->regions));
		table_cell(&t, human_count(&a, c->live));
		table_cell(&t, human_count(&a, whole(c->seen)));
		buf_clear(&line);
		buf_text(&line, "");
		put_holders(s, &line, c);
		table_cell(&t, line.data);
	}
	table_print(&t, s->term, s->full, s->out);
	table_release(&t);
	buf_release(&line);
}

void join_print_text(const struct join_print *s)
{
	print_head(s);
	print_stacks(s);
	print_classes(s);
}

static void write_frames(struct json *json, const struct profile *p, size_t stack)
{
	const struct profile_stack *k = &p->stacks[stack];

	json_array(json, "frames");
	for (size_t i = 0; i < k->frame_count; i++)
		json_text(json, NULL, strings_at(&p->names, p->frames[k->frame + i]));
	json_end_array(json);
}

static void signed_number(struct json *json, const char *key, int64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRId64, value);

	json_written(json, key, text, (size_t)n);
}

static void json_stacks(struct json *json, const struct join_print *s)
{
	const struct join *j = s->join;

	json_array(json, "stacks");
	for (size_t i = 0; i < j->stack_count && i < s->top; i++) {
		const struct join_stack *k = &j->stacks[i];

		json_object(json, NULL);
		write_frames(json, s->profile, k->stack);
		json_real(json, "live_objects", k->objects, 2);
		json_real(json, "live_bytes", k->bytes, 2);
		json_real(json, "unused_bytes", k->unused, 2);
		json_bool(json, "mixed", k->mixed);
		json_array(json, "classes");
		for (size_t n = k->first; n < k->first + k->part_count; n++) {
			const struct join_class *c = &j->classes[j->parts[n].class];

			json_object(json, NULL);
			json_number(json, "size", c->size);
			json_real(json, "live_objects", j->parts[n].objects, 2);
			json_real(json, "live_bytes", j->parts[n].objects * (double)c->size, 2);
			json_real(json, "unused_bytes", j->parts[n].unused, 2);
			json_end_object(json);
		}
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_classes(struct json *json, const struct join_print *s)
{
	const struct join *j = s->join;

	json_array(json, "classes");
	for (size_t i = 0; i < j->class_count; i++) {
		const struct join_class *c = &j->classes[i];

		if (!c->live && !c->regions && !(c->seen > 0))
			continue;
		json_object(json, NULL);
		json_number(json, "size", c->size);
		json_bool(json, "large", c->large);
		json_number(json, "regions", c->regions);
		json_number(json, "live", c->live);
		signed_number(json, "unused_bytes", c->unused);
		json_real(json, "seen", c->seen, 2);
		json_real(json, "sampled", c->sampled, 2);
		json_real(json, "in_stacks", c->charged, 2);
		json_real(json, "in_no_stack", (double)c->unused - c->charged, 2);
		json_array(json, "stacks");
		for (size_t n = 0; n < c->part_count && n < s->top; n++) {
			const struct join_part *p = &j->parts[j->by_class[c->first + n]];

			json_object(json, NULL);
			write_frames(json, s->profile, p->stack);
			json_real(json, "live_objects", p->objects, 2);
			json_real(json, "unused_bytes", p->unused, 2);
			json_end_object(json);
		}
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}

void join_print_json(const struct join_print *s)
{
	const struct waterfall *w = &s->join->waterfall;
	struct json json;

	json_init(&json, s->out);
	json_object(&json, NULL);
	json_text(&json, "version", s->stats->version);
	json_number(&json, "sample_interval", s->profile->rate);
	if (w->active < STATS_NONE)
		json_number(&json, "active", w->active);
	if (w->allocated < STATS_NONE)
		json_number(&json, "allocated", w->allocated);
	signed_number(&json, "slabs", w->step[WATERFALL_SLABS]);
	signed_number(&json, "large_padding", w->step[WATERFALL_PADDING]);
	signed_number(&json, "sampled_pages", w->step[WATERFALL_SAMPLED_PAGES]);
	signed_number(&json, "unexplained", w->step[WATERFALL_UNKNOWN]);
	signed_number(&json, "tcache", w->step[WATERFALL_TCACHE]);
	signed_number(&json, "unused", s->join->unused);
	json_real(&json, "in_stacks", s->join->charged, 2);
	json_real(&json, "in_no_stack", (double)s->join->unused - s->join->charged, 2);
	json_real(&json, "live_bytes", s->profile->total.bytes, 2);
	json_real(&json, "mixed_bytes", s->join->mixed, 2);
	json_real(&json, "profiling_bytes", s->join->sampled, 2);
	json_stacks(&json, s);
	json_classes(&json, s);
	json_end_object(&json);
}

/* The whole join, with what is in no stack as rows without one, so that columns add up. */
void join_print_csv(const struct join_print *s)
{
	const struct join *j = s->join;
	struct buf *out = s->out, line = { 0 };

	buf_text(out, "class,large,live_objects,live_bytes,unused_bytes,stack\n");
	for (size_t i = 0; i < j->class_count; i++) {
		const struct join_class *c = &j->classes[i];
		double left = fmax((double)c->live - c->seen, 0);

		for (size_t n = 0; n < c->part_count && n < s->top; n++) {
			const struct join_part *p = &j->parts[j->by_class[c->first + n]];

			buf_printf(out, "%" PRIu64 ",%d,%.2f,%.2f,%.2f", c->size, c->large,
				   p->objects, p->objects * (double)c->size, p->unused);
			buf_clear(&line);
			put_stack(s, &line, p->stack, SIZE_MAX);
			csv_cell(out, line.data);
			csv_end(out);
		}
		if (c->live || c->unused)
			buf_printf(out, "%" PRIu64 ",%d,%.2f,%.2f,%.2f,\n", c->size, c->large, left,
				   left * (double)c->size, (double)c->unused - c->charged);
	}
	buf_release(&line);
}
