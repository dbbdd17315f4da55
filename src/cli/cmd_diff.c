/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir diff: what changed between two recordings, by stack and by function. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/shape.h"
#include "cli/text.h"
#include "cli/waiting.h"
#include "query/diff.h"
#include "query/value.h"

#define INDENT 12 /* of frames */
#define FRAMES 10 /* of a stack, unless all are asked for */

static struct shape_measure measure;
static bool as_json, by_count, full;
static uint64_t top = 10;
static const char *color, *limit;

static const struct command_option options[] = {
	SHAPE_MEASURE_OPTIONS(measure),
	{ "count", 0, NULL, "compare blocks, not bytes", COMMAND_FLAG, &by_count },
	{ "top", 'n', "N", "stacks and functions to show (10)", COMMAND_NUMBER, &top },
	{ "fail-if-grown", 0, "LIMIT",
	  "end with 1 if B has more than that much more (1MiB, 5%), with 2 if that cannot be told",
	  COMMAND_TEXT, &limit },
	{ "full", 0, NULL, "show every frame, names as long as they are", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	WAITING_ROWS,
	{ 0 },
};

struct shown {
	struct term term;
	const char *paths[2];
	const struct model *models[2];
	struct measuring how[2];
	struct diff d;
};

/* "+1.20 MiB", or "+12" where blocks are compared. */
static void signed_text(char *out, size_t size, int64_t change, bool count)
{
	struct human a;
	uint64_t amount = (uint64_t)(change < 0 ? -change : change);

	if (count)
		human_count(&a, amount);
	else
		human_size(&a, amount);
	snprintf(out, size, "%s%s", change < 0 ? "-" : change > 0 ? "+" : "", a.text);
}

static enum term_style style_of(int64_t change)
{
	return change > 0 ? STYLE_WARNING : change < 0 ? STYLE_FUNCTION : STYLE_PLAIN;
}

static void amount_text(struct human *out, const struct weight *w, bool count)
{
	if (count)
		human_count(out, w->count);
	else
		human_size(out, w->bytes);
}

/* "+20.0 KiB  grown   1.00 MiB → 1.02 MiB, 10 → 12 blocks" */
static void print_change(const struct shown *s, struct buf *out, const struct diff_pair *p)
{
	int64_t change = diff_change(&s->d, p);
	char text[64];
	struct human a, b, c, d;

	signed_text(text, sizeof(text), change, by_count);
	buf_printf(out, "%s%12s%s  %s%-6s%s  ", term_style(&s->term, style_of(change)), text,
		   term_style(&s->term, STYLE_PLAIN), term_style(&s->term, STYLE_STRONG),
		   diff_statuses[diff_status(&s->d, p)], term_style(&s->term, STYLE_PLAIN));
	buf_printf(out, "%s \xe2\x86\x92 %s, %s \xe2\x86\x92 %s block%s\n",
		   human_size(&a, p->before.bytes), human_size(&b, p->after.bytes),
		   human_count(&c, p->before.count), human_count(&d, p->after.count),
		   p->after.count == 1 ? "" : "s");
}

static void print_name(const struct shown *s, struct buf *out, const char *name, size_t used)
{
	size_t room = s->term.width > used + 20 ? s->term.width - used : 20;
	char *shorter = NULL;

	if (!full && text_columns(name) > room)
		shorter = text_abbreviated(name);
	buf_text(out, term_style(&s->term, STYLE_FUNCTION));
	text_shortened(out, shorter ? shorter : name, full ? SIZE_MAX : room);
	buf_printf(out, "%s\n", term_style(&s->term, STYLE_PLAIN));
	free(shorter);
}

static void print_stack(const struct shown *s, struct buf *out, const struct diff_stack *stack)
{
	unsigned shown = 0, left = 0;

	buf_char(out, '\n');
	print_change(s, out, &stack->weight);
	for (uint32_t node = stack->node; node; node = s->d.nodes[node].parent) {
		if (!full && shown == FRAMES) {
			left++;
			continue;
		}
		buf_repeat(out, ' ', INDENT);
		print_name(s, out, strings_at(&s->d.names, s->d.nodes[node].name), INDENT);
		shown++;
	}
	if (left)
		buf_printf(out, "%*s%s\xe2\x80\xa6 %u more frame%s%s\n", INDENT, "",
			   term_style(&s->term, STYLE_DIM), left, left == 1 ? "" : "s",
			   term_style(&s->term, STYLE_PLAIN));
}

static void print_functions(const struct shown *s, struct buf *out)
{
	buf_printf(out, "\n%sFUNCTIONS%s  with all that is below them\n\n",
		   term_style(&s->term, STYLE_TITLE), term_style(&s->term, STYLE_PLAIN));
	buf_printf(out, "%s%12s %11s %11s  %-6s%s\n", term_style(&s->term, STYLE_DIM), "change",
		   "before", "after", "", term_style(&s->term, STYLE_PLAIN));
	for (uint32_t i = 0; i < s->d.function_count && i < top; i++) {
		const struct diff_function *f = &s->d.functions[i];
		int64_t change = diff_change(&s->d, &f->total);
		struct human a, b;
		char text[64];

		if (!change)
			break;
		signed_text(text, sizeof(text), change, by_count);
		amount_text(&a, &f->total.before, by_count);
		amount_text(&b, &f->total.after, by_count);
		buf_printf(out, "%s%12s%s %11s %11s  %-6s ", term_style(&s->term, style_of(change)),
			   text, term_style(&s->term, STYLE_PLAIN), a.text, b.text,
			   diff_statuses[diff_status(&s->d, &f->total)]);
		print_name(s, out, strings_at(&s->d.names, f->name), 45);
	}
}

static void count_statuses(const struct diff *d, uint32_t *counts)
{
	memset(counts, 0, DIFF_STATUSES * sizeof(*counts));
	for (uint32_t i = 0; i < d->stack_count; i++)
		counts[diff_status(d, &d->stacks[i].weight)]++;
}

static void print_text(const struct shown *s, struct buf *out)
{
	const struct diff_pair *all = &s->d.nodes[0].total;
	uint32_t counts[DIFF_STATUSES], shown = 0;
	struct human a, b;

	for (unsigned i = 0; i < 2; i++) {
		about_line(out, &s->term, i ? "after" : "before", "%s: %s in %s blocks",
			   s->paths[i], human_size(&a, i ? all->after.bytes : all->before.bytes),
			   human_count(&b, i ? all->after.count : all->before.count));
	}
	buf_printf(out, "\n%sSTACKS%s  ", term_style(&s->term, STYLE_TITLE),
		   term_style(&s->term, STYLE_PLAIN));
	if (s->how[1].measure == MEASURE_PEAK) /* each has its own */
		buf_text(out, measure_rows[MEASURE_PEAK].title);
	else
		shape_measure_title(out, s->models[1], &s->how[1]);
	count_statuses(&s->d, counts);
	for (unsigned i = 0; i < DIFF_STATUSES; i++)
		buf_printf(out, "%s %s %s", i ? "," : ":", human_count(&a, counts[i]),
			   diff_statuses[i]);
	buf_text(out, "\n\n");
	print_change(s, out, all);
	for (uint32_t i = 0; i < s->d.stack_count && shown < top; i++, shown++) {
		if (!diff_change(&s->d, &s->d.stacks[i].weight))
			break;
		print_stack(s, out, &s->d.stacks[i]);
	}
	if (shown)
		print_functions(s, out);
}

static void json_pair(struct json *j, const struct shown *s, const struct diff_pair *p)
{
	json_text(j, "status", diff_statuses[diff_status(&s->d, p)]);
	json_number(j, "before_bytes", p->before.bytes);
	json_number(j, "after_bytes", p->after.bytes);
	json_number(j, "before_count", p->before.count);
	json_number(j, "after_count", p->after.count);
	json_real(j, "bytes_delta", (double)(int64_t)(p->after.bytes - p->before.bytes), 0);
	json_real(j, "count_delta", (double)(int64_t)(p->after.count - p->before.count), 0);
}

static void print_json(const struct shown *s, struct buf *out)
{
	uint32_t counts[DIFF_STATUSES];
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_text(&j, "before", s->paths[0]);
	json_text(&j, "after", s->paths[1]);
	json_text(&j, "measure", measure_rows[s->how[0].measure].name);
	json_object(&j, "total");
	json_pair(&j, s, &s->d.nodes[0].total);
	json_end_object(&j);
	count_statuses(&s->d, counts);
	json_object(&j, "stack_counts");
	for (unsigned i = 0; i < DIFF_STATUSES; i++)
		json_number(&j, diff_statuses[i], counts[i]);
	json_end_object(&j);
	json_array(&j, "stacks");
	for (uint32_t i = 0; i < s->d.stack_count && i < top; i++) {
		json_object(&j, NULL);
		json_pair(&j, s, &s->d.stacks[i].weight);
		json_array(&j, "functions");
		for (uint32_t n = s->d.stacks[i].node; n; n = s->d.nodes[n].parent)
			json_text(&j, NULL, strings_at(&s->d.names, s->d.nodes[n].name));
		json_end_array(&j);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "functions");
	for (uint32_t i = 0; i < s->d.function_count && i < top; i++) {
		json_object(&j, NULL);
		json_text(&j, "function", strings_at(&s->d.names, s->d.functions[i].name));
		json_pair(&j, s, &s->d.functions[i].total);
		json_number(&j, "before_self_bytes", s->d.functions[i].self.before.bytes);
		json_number(&j, "after_self_bytes", s->d.functions[i].self.after.bytes);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
}

/* --fail-if-grown: bytes (blocks with --count), or a percentage of what there was. */
struct growth_limit {
	bool is_percent;
	double percent;
	uint64_t amount;
};

static bool read_limit(struct growth_limit *ret_limit)
{
	struct growth_limit l = { 0 };
	struct value v;
	struct err err;
	char *end;

	if (!limit)
		return true;
	l.percent = strtod(limit, &end);
	l.is_percent = end != limit && !strcmp(end, "%") && l.percent >= 0;
	if (!l.is_percent) {
		if (value_parse(&v, by_count ? ARG_COUNT : ARG_SIZE, limit, &err)) {
			fprintf(stderr, "memoir diff: --fail-if-grown: %s; or a percentage: 5%%\n",
				err.text);
			return false;
		}
		l.amount = v.number;
		value_release(&v);
	}
	*ret_limit = l;
	return true;
}

static bool is_beyond(const struct shown *s, const struct growth_limit *l)
{
	const struct diff_pair *all = &s->d.nodes[0].total;
	int64_t change = diff_change(&s->d, all);
	uint64_t before = by_count ? all->before.count : all->before.bytes;

	if (change <= 0)
		return false;
	if (l->is_percent)
		return (double)change > (double)before * l->percent / 100;
	return (uint64_t)change > l->amount;
}

/* With --fail-if-grown, what went wrong is not taken for growth. */
static int unless_limited(int status)
{
	return limit && status ? STATUS_CANNOT_TELL : status;
}

static int compare(struct shown *s, struct opened *a, struct opened *b,
		   const struct growth_limit *l)
{
	int status = a->status > b->status ? a->status : b->status;
	struct buf out = { 0 };
	char text[64];

	opened_names(a);
	opened_names(b);
	s->models[0] = a->model;
	s->models[1] = b->model;
	for (unsigned i = 0; i < 2; i++)
		s->how[i] = shape_measuring(s->models[i], &measure, MEASURE_PEAK);
	diff_init(&s->d, a->view, &s->how[0], b->view, &s->how[1], by_count);
	if (as_json)
		print_json(s, &out);
	else
		print_text(s, &out);
	if (buf_flush(&out, 1))
		status = STATUS_FAILED;
	if (limit && (a->model->loss.kind != LOSS_NONE || b->model->loss.kind != LOSS_NONE))
		status = STATUS_CANNOT_TELL;
	status = unless_limited(status);
	/* Of a recording that has a hole it says only that it grew, not that it did not. */
	if (limit && is_beyond(s, l)) {
		signed_text(text, sizeof(text), diff_change(&s->d, &s->d.nodes[0].total), by_count);
		fprintf(stderr, "memoir diff: grown by %s%s, more than --fail-if-grown %s\n",
			text + 1, by_count ? " blocks" : "", limit);
		status = STATUS_DOES_NOT_HOLD;
	}
	diff_release(&s->d);
	buf_release(&out);
	return status;
}

static int run(int argc, char **argv)
{
	struct open_options how = { .quiet = as_json };
	struct growth_limit l = { 0 };
	struct shown s = { 0 };
	struct opened a, b;
	int status;

	term_init(&s.term, 1, color);
	if (!shape_measure_check("diff", &measure) || !read_limit(&l))
		return 2;
	if (argc != 2) {
		fprintf(stderr, "memoir diff: two recordings, the older one first (memoir diff "
				"--help says more)\n");
		return 2;
	}
	if (!open_view("diff", 1, argv, &how, &a))
		return unless_limited(a.status);
	if (!open_another("diff", argv[1], &how, &a, &b)) {
		opened_release(&a);
		return unless_limited(b.status);
	}
	s.paths[0] = argv[0];
	s.paths[1] = argv[1];
	status = compare(&s, &a, &b, &l);
	opened_release(&b);
	opened_release(&a);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.args = "A B",
	.help = "what changed between two recordings",
	.examples =
		"  memoir diff before.dat after.dat                 at the peak\n"
		"  memoir diff -m leaked before.dat after.dat\n"
		"  memoir diff -m leaked --fail-if-grown 64KiB good.dat new.dat > /dev/null\n"
		"  memoir diff --json a.dat b.dat | jq '.stacks[] | select(.status == \"new\")'\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
