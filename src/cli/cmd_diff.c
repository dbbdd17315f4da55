/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir diff: what changed between two recordings, by stack and by function. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/diff.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/printers.h"
#include "cli/text.h"
#include "query/value.h"

#define INDENT 12 /* of frames */
#define FRAMES 10 /* of a stack, unless all are asked for */

extern const struct command command_diff;

bool diff_print_full;
static const char *limit;

static const struct command_option options[] = {
	ANSWERING_FLAG("count", 0, "weight=count", "compare blocks, not bytes"),
	VALUE("fail-if-grown", 0, "LIMIT",
	      "end with 1 if B has more than that much more (1MiB, 5%), with 2 if that cannot be "
	      "told",
	      &limit),
	FLAG("full", 0, "show every frame, names as long as they are", &diff_print_full),
	{ 0 },
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
static void print_change(struct printing *p, const struct diff *d, const struct diff_pair *pair)
{
	int64_t change = diff_change(d, pair);
	char text[64];

	signed_text(text, sizeof(text), change, d->by_count);
	term_printf(&p->term, p->out, "%s%12s{}  {strong}%-6s{}  ",
		    term_style(&p->term, style_of(change)), text,
		    diff_statuses[diff_status(d, pair)]);
	buf_printf(p->out, "%s \xe2\x86\x92 %s, %s \xe2\x86\x92 %s block%s\n",
		   size_text(pair->before.bytes), size_text(pair->after.bytes),
		   count_text(pair->before.count), count_text(pair->after.count),
		   pair->after.count == 1 ? "" : "s");
}

static void print_name(struct printing *p, const char *name, size_t used)
{
	size_t room = p->term.width > used + 20 ? p->term.width - used : 20;
	char *shorter = NULL;

	if (!diff_print_full && text_columns(name) > room)
		shorter = text_abbreviated(name);
	buf_text(p->out, term_style(&p->term, STYLE_FUNCTION));
	text_shortened(p->out, shorter ? shorter : name, diff_print_full ? SIZE_MAX : room);
	term_printf(&p->term, p->out, "{}\n");
	free(shorter);
}

static void print_stack(struct printing *p, const struct diff *d, const struct diff_stack *stack)
{
	unsigned shown = 0, left = 0;

	buf_char(p->out, '\n');
	print_change(p, d, &stack->weight);
	for (uint32_t node = stack->node; node; node = d->nodes[node].parent) {
		if (!diff_print_full && shown == FRAMES) {
			left++;
			continue;
		}
		buf_repeat(p->out, ' ', INDENT);
		print_name(p, strings_at(&d->names, d->nodes[node].name), INDENT);
		shown++;
	}
	if (left)
		term_printf(&p->term, p->out, "%*s{dim}\xe2\x80\xa6 %u more frame%s{}\n", INDENT,
			    "", left, left == 1 ? "" : "s");
}

static void print_functions(struct printing *p, const struct answer_diff *answer)
{
	const struct diff *d = &answer->diff;

	term_printf(&p->term, p->out,
		    "\n{title}FUNCTIONS{}  what they are responsible for, and all that is below "
		    "them\n\n");
	term_printf(&p->term, p->out, "{dim}%12s %12s %11s %11s  %-6s{}\n", "own", "change",
		    "before", "after", "");
	for (uint32_t i = answer->skip; i < d->function_count && i - answer->skip < answer->most;
	     i++) {
		const struct diff_function *f = &d->functions[i];
		int64_t change = diff_change(d, &f->total), own = diff_change(d, &f->own);
		struct human a, b;
		char text[64];

		if (!change && !own)
			break;
		signed_text(text, sizeof(text), own, d->by_count);
		term_printf(&p->term, p->out, "%s%12s{} ", term_style(&p->term, style_of(own)),
			    own ? text : "");
		signed_text(text, sizeof(text), change, d->by_count);
		amount_text(&a, &f->total.before, d->by_count);
		amount_text(&b, &f->total.after, d->by_count);
		term_printf(&p->term, p->out, "%s%12s{} %11s %11s  %-6s ",
			    term_style(&p->term, style_of(change)), text, a.text, b.text,
			    diff_statuses[diff_status(d, &f->total)]);
		print_name(p, strings_at(&d->names, f->name), 58);
	}
}

void diff_print(struct printing *p, const void *answer)
{
	const struct answer_diff *a = answer;
	const struct snapshot *sides[2] = { p->ask->snapshot, a->after.snapshot };
	const struct diff *d = &a->diff;
	const struct diff_pair *all = &d->nodes[0].total;
	uint32_t shown = 0;

	for (unsigned i = 0; i < 2; i++)
		about_line(p->out, &p->term, i ? "after" : "before", "%s: %s in %s blocks",
			   sides[i]->fleet ? ask_text(p->ask, i ? "b" : "a") : sides[i]->name,
			   size_text(i ? all->after.bytes : all->before.bytes),
			   count_text(i ? all->after.count : all->before.count));
	term_printf(&p->term, p->out, "\n{title}STACKS{}  ");
	if (a->how[1].measure == MEASURE_PEAK) /* each has its own */
		buf_text(p->out, measure_rows[MEASURE_PEAK].title);
	else
		answering_measure(p, &a->how[1]);
	for (unsigned i = 0; i < DIFF_STATUSES; i++)
		buf_printf(p->out, "%s %s %s", i ? "," : ":", count_text(a->counts[i]),
			   diff_statuses[i]);
	buf_text(p->out, "\n\n");
	print_change(p, d, all);
	for (uint32_t i = a->skip; a->stacks && i < d->stack_count && shown < a->most;
	     i++, shown++) {
		if (!diff_change(d, &d->stacks[i].weight))
			break;
		print_stack(p, d, &d->stacks[i]);
	}
	if (a->functions && (shown || !a->stacks))
		print_functions(p, a);
}

/* --fail-if-grown: bytes (blocks with --count), or a percentage of what there was. */
static struct {
	bool is_percent;
	double percent;
	uint64_t amount;
} growth;
static bool judged;

static bool read_limit(bool by_count)
{
	struct value v;
	struct err err;
	char *end;

	if (!limit)
		return true;
	growth.percent = strtod(limit, &end);
	growth.is_percent = end != limit && !strcmp(end, "%") && growth.percent >= 0;
	if (growth.is_percent)
		return true;
	if (value_parse(&v, by_count ? ARG_COUNT : ARG_SIZE, limit, &err)) {
		fprintf(stderr, "memoir diff: --fail-if-grown: %s; or a percentage: 5%%\n",
			err.text);
		return false;
	}
	growth.amount = v.number;
	value_release(&v);
	return true;
}

static bool is_beyond(const struct diff *d)
{
	const struct diff_pair *all = &d->nodes[0].total;
	int64_t change = diff_change(d, all);
	uint64_t before = d->by_count ? all->before.count : all->before.bytes;

	if (change <= 0)
		return false;
	if (growth.is_percent)
		return (double)change > (double)before * growth.percent / 100;
	return (uint64_t)change > growth.amount;
}

static bool check_limit(const struct ask *a)
{
	return read_limit(ask_by_count(a));
}

/* Of a recording that has a hole it says only that it grew, not that it did not. */
static void judge_growth(struct printing *p, const void *answer)
{
	const struct answer_diff *a = answer;
	const struct diff *d = &a->diff;
	char text[64];

	if (!limit)
		return;
	judged = true;
	if (p->status || p->model->loss.kind != LOSS_NONE ||
	    a->after.snapshot->model->loss.kind != LOSS_NONE)
		p->status = STATUS_CANNOT_TELL;
	if (!is_beyond(d))
		return;
	signed_text(text, sizeof(text), diff_change(d, &d->nodes[0].total), d->by_count);
	fprintf(stderr, "memoir diff: grown by %s%s, more than --fail-if-grown %s\n", text + 1,
		d->by_count ? " blocks" : "", limit);
	p->status = STATUS_DOES_NOT_HOLD;
}

/* With --fail-if-grown, what went wrong is not taken for growth. */
static int run_diff(int argc, char **argv)
{
	int status = answering_run(&command_diff, argc, argv);

	return limit && status && !judged ? STATUS_CANNOT_TELL : status;
}

static const struct answering answering = {
	.question = &question_diff,
	.words = (const char *const[]){ "FILE", "b", NULL },
	.defaults = "count=10",
	.all_names = true,
	.check = check_limit,
	.print = diff_print,
	.judge = judge_growth,
};

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
	.answers = &answering,
	.run = run_diff,
};
