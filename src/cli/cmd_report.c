/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir report: what is to be known first, in sentences; then what made up the peak, what leaked,
 * who allocates most, and what for nothing. */
#include <stdlib.h>

#include "answer/missing_names.h"
#include "answer/overview.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/processes.h"
#include "cli/report.h"
#include "cli/sentences_text.h"
#include "cli/text.h"
#include "cli/where.h"

static bool with_commands, full, stacks;

static const struct command_option options[] = {
	FLAG("commands", 0, "show below each sentence the command that shows its evidence",
	     &with_commands),
	FLAG("stacks", 0, "show the stack of each that weighs most", &stacks),
	FLAG("full", 0, "the same with every frame, and whole paths", &full),
	CALL("measure", 'm', "WORD", "of a folder: peak, leaked, allocated or temporary (peak)",
	     answering_set, .context = "measure", .words = "peak|leaked|allocated|temporary"),
	{ 0 },
};

struct title {
	enum stack_order order;
	const char *text;
	const char *unit, *units; /* what is counted */
	const char *empty;	  /* said when there is nothing */
};

/* Shares are of bytes, except where calls are counted. */
static bool counts_calls(const struct title *title)
{
	return title->order == BY_COUNT || title->order == BY_TEMPORARY;
}

static const char *unit_of(const struct title *title, uint64_t count)
{
	return count == 1 ? title->unit : title->units;
}

static void share_of(struct human *out, const struct title *title, const struct weight *part,
		     const struct weight *all)
{
	if (counts_calls(title))
		human_share(out, part->count, all->count);
	else
		human_share(out, part->bytes, all->bytes);
}

/* "  34.1 %   164 MiB in 12,345 blocks  parse_rows t.c:12 ← main t.c:40", what is sorted by first.
 */
static void print_row(struct printing *p, const struct title *title, const struct view *v,
		      const struct overview_row *row, const struct weight *all)
{
	const char *plain = term_style(&p->term, STYLE_PLAIN);
	struct human share, bytes, count;
	auto_buf struct buf figures = { 0 }, where = { 0 };
	size_t taken;

	human_size(&bytes, row->weight.bytes);
	human_count(&count, row->weight.count);
	share_of(&share, title, &row->weight, all);
	if (counts_calls(title))
		buf_printf(&figures, "%9s %s, %s", count.text, unit_of(title, row->weight.count),
			   bytes.text);
	else
		buf_printf(&figures, "%9s in %s %s", bytes.text, count.text,
			   unit_of(title, row->weight.count));
	where_line(v, row->stack, 3, &where);
	if (row->stacks > 1)
		buf_printf(&where, ", %s stacks", human_count(&count, row->stacks));
	term_printf(&p->term, p->out, "{number}%8s%s  %-28s  {function}", share.text, plain,
		    figures.data);
	taken = 12 + (figures.size < 28 ? 28 : figures.size);
	text_shortened(p->out, where.data,
		       full			    ? SIZE_MAX
		       : p->term.width > taken + 40 ? p->term.width - taken
						    : 40);
	buf_printf(p->out, "%s\n", plain);
}

static void print_title(struct printing *p, const struct title *title, const struct weight *all,
			const struct view *v)
{
	const struct totals *t = &p->model->totals;
	struct human a, b, c;

	term_printf(&p->term, p->out, "\n{title}%s{}  ", title->text);
	if (!all->count) {
		buf_printf(p->out, "%s\n", title->empty);
		return;
	}
	human_count(&a, all->count);
	human_size(&b, all->bytes);
	if (counts_calls(title))
		buf_printf(p->out, "%s %s, %s", a.text, unit_of(title, all->count), b.text);
	else
		buf_printf(p->out, "%s in %s %s", b.text, a.text, unit_of(title, all->count));
	if (title->order == BY_PEAK_BYTES)
		buf_printf(p->out, ", %s after the start",
			   human_duration(&c, model_ns(p->model, t->peak_at)));
	if (title->order == BY_TEMPORARY)
		buf_printf(p->out, ", freed by the very next event of their thread; %s of all",
			   human_share(&c, all->count, v->bits ? v->count : t->allocations));
	buf_char(p->out, '\n');
}

static void print_part(struct printing *p, struct report *r, const struct title *title,
		       const struct overview_part *part, bool by_stack)
{
	struct weight rest = part->all;
	struct human a, b;

	for (uint32_t i = 0; i < part->count && answering_turn(p); i++) {
		const struct overview_row *row = &part->rows[i];

		print_row(p, title, r->view, row, &part->all);
		if (full || stacks || by_stack)
			report_stack(r, p->out, row->stack, row->call);
		rest.bytes -= row->weight.bytes;
		rest.count -= row->weight.count;
	}
	if (part->functions <= part->count || rest.count > part->all.count)
		return;
	share_of(&a, title, &rest, &part->all);
	term_printf(&p->term, p->out, "{dim}%8s  in %s other %s%s{}\n", a.text,
		    human_count(&b, part->functions - part->count), by_stack ? "stack" : "function",
		    part->functions - part->count == 1 ? "" : "s");
}

/* Once, at the end: which names would say more. */
static void print_missing_names(struct printing *p, const struct view *v)
{
	auto_buf struct buf line = { 0 };
	struct missing_names missing;

	missing_names_init(&missing, v);
	missing_names_line(&missing, &line);
	if (line.size)
		term_printf(&p->term, p->out, "\n{warning}%s{}\n", line.data);
	missing_names_release(&missing);
}

static void print_report(struct printing *p, const void *answer)
{
	static const struct title titles[] = {
		{ BY_PEAK_BYTES, "PEAK", "block", "blocks", "nothing was ever alive" },
		{ BY_LEAKED_BYTES, "LEAKS", "block", "blocks", "everything was freed" },
		{ BY_COUNT, "MOST ALLOCATIONS", "call", "calls", "there were none" },
		{ BY_TEMPORARY, "TEMPORARY ALLOCATIONS", "call", "calls", "there were none" },
	};
	const struct answer_overview *o = answer;
	struct report r = { .view = o->view, .term = p->term, .full = full };

	about_text_program(p->out, &p->term, p->model);
	sentences_text(p, o->view, &o->sentences, with_commands);
	buf_char(p->out, '\n');
	about_text_totals(p->out, &p->term, p->model, &o->memory);
	about_text_loss(p->out, &p->term, p->model);
	if (o->view->bits)
		about_text_filter(p->out, &p->term, o->view);
	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		const struct overview_part *part = &o->parts[titles[i].order];

		print_title(p, &titles[i], &part->all, o->view);
		print_part(p, &r, &titles[i], part, o->by_stack);
	}
	print_missing_names(p, o->view);
	free(r.frames);
}

static const struct answering answering = {
	.question = &question_overview,
	.defaults = "top=10&verdicts=false",
	.print = print_report,
	.of_folder = &processes_report,
};

const struct command command_report = {
	.name = "report",
	.args = "FILE|FOLDER",
	.help = "the peak, leaks, most and temporary allocations",
	.examples = "  memoir report app.dat            the ten largest of everything\n"
		    "  memoir report -n 3 --stacks app.dat\n"
		    "  memoir report --hide 'function ~ \"^my_alloc\"' app.dat\n"
		    "  memoir report recordings/        all processes of memoir run --children\n"
		    "  memoir report -F 'size >= 1M and not function ~ \"^std::\"' app.dat\n"
		    "  memoir report --json --backtraces app.dat | jq '.top.leaked[0]'\n",
	.options = options,
	.answers = &answering,
};
