/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir leaks: what was not freed, and whether it grows, is a cache, a saw, or the start. */
#include "answer/leaks.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/report.h"
#include "cli/text.h"
#include "query/known_pools.h"
#include "query/responsible.h"

#define NAME_MAX_COLUMNS 60
#define REASONS_SAID 3

static bool full;

static const struct command_option options[] = {
	FLAG("full", 0, "show every frame, and whole paths", &full),
	{ 0 },
};

/* " by parse_rows", the responsible function. */
static void print_function(const struct report *r, struct buf *out, uint32_t stack)
{
	const struct responsible *responsible = responsible_of_view(r->view);
	struct responsible_frame f;
	auto_buf struct buf name = { 0 };
	auto_free char *shorter = NULL;

	if (!responsible_find(responsible, stack, &f))
		return;
	responsible_name(responsible, &f, &name);
	shorter = text_abbreviated(name.data);
	term_printf(&r->term, out, " by {function}");
	text_shortened(out, r->full ? name.data : shorter, r->full ? SIZE_MAX : NAME_MAX_COLUMNS);
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
}

/* Red is for what should be looked at. */
static enum term_style style_of(const struct verdict *v)
{
	if (!v->matters)
		return STYLE_DIM;
	return v->class == VERDICT_GROWING   ? STYLE_BAD
	       : v->class == VERDICT_UNCLEAR ? STYLE_WARNING
					     : STYLE_NUMBER;
}

static void print_verdict(struct report *r, struct buf *out, const struct verdict *v)
{
	const struct term *t = &r->term;
	struct human a, b;

	term_printf(t, out, "\n%s%-9s{} ", term_style(t, style_of(v)),
		    verdict_rows[v->class].title);
	term_printf(t, out, "{strong}%s{}", human_size(&a, verdict_bytes(v)));
	if (v->freed_at_exit)
		buf_text(out, ", freed at exit");
	else
		buf_printf(out, " in %s block%s", human_count(&b, v->leaked_count),
			   v->leaked_count == 1 ? "" : "s");
	print_function(r, out, v->stack);
	if (v->stacks > 1)
		buf_printf(out, " in %s stacks", human_count(&b, v->stacks));
	if (v->class != VERDICT_UNCLEAR && v->class != VERDICT_POOL)
		term_printf(t, out, "{dim}, %.0f %% sure{}", v->confidence * 100);
	buf_text(out, "\n          ");
	verdict_evidence(out, v, model_runtime_ns(r->view->model));
	buf_char(out, '\n');
	report_stack(r, out, v->stack, v->call);
}

/* What is kept on purpose, the heaviest first. */
static void print_reasons(struct buf *out, const struct verdicts *all)
{
	uint32_t said = 0, more = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct verdict *v = &all->rows[i];

		if (v->class != VERDICT_POOL)
			continue;
		if (said == REASONS_SAID) {
			more++;
			continue;
		}
		buf_printf(out, "%s%s", said++ ? "; " : "kept on purpose: ", v->known->reason);
	}
	if (more)
		buf_printf(out, "; %u more", more);
}

/* What is not in the rows: how much, and how to see it. */
static void print_rest(const struct printing *p, const struct answer_leaks *l)
{
	const struct verdicts *all = l->all;
	const char *dim = term_style(&p->term, STYLE_DIM),
		   *plain = term_style(&p->term, STYLE_PLAIN);
	struct human a, b;

	if (all->small.functions && !l->everything)
		buf_printf(p->out,
			   "  %-9s %10s in %s %s%s%s  too little beside the peak to matter; --all "
			   "shows %s%s\n",
			   "SMALL", human_size(&a, all->small.bytes),
			   human_count(&b, all->small.functions),
			   l->by_stack ? "stack" : "function", all->small.functions == 1 ? "" : "s",
			   dim, all->small.functions == 1 ? "it" : "them", plain);
	if (all->small.grows)
		term_printf(&p->term, p->out,
			    "  {warning}together they grow%s: %s of it, %s of the peak, came in "
			    "the last half of the work\n",
			    plain, human_size(&a, all->small.late_bytes),
			    human_share(&b, all->small.late_bytes, p->model->totals.peak_bytes));
	if (all->held_matters && !l->held)
		buf_printf(p->out,
			   "\n%s in %s block%s %s held until the end and freed at exit: memoir "
			   "leaks --held %s\n",
			   human_size(&a, all->held_bytes), human_count(&b, all->held_count),
			   all->held_count == 1 ? "" : "s", all->held_count == 1 ? "was" : "were",
			   p->ask->snapshot->name);
}

/* How much of each class there is. */
static void print_summary(const struct printing *p, const struct answer_leaks *l)
{
	const char *dim = term_style(&p->term, STYLE_DIM),
		   *plain = term_style(&p->term, STYLE_PLAIN);
	const struct verdicts *all = l->all;
	struct leaks_sum sum = leaks_sum(all);
	struct human a, b;

	term_printf(&p->term, p->out, "\n{title}LEAK VERDICTS%s\n", plain);
	if (!all->count && !all->small.functions)
		buf_text(p->out, "  everything was freed\n");
	else if (!sum.functions[VERDICT_GROWING])
		buf_printf(p->out, "  %s\n",
			   all->small.grows ? "no single function that matters grows"
					    : "nothing that matters grows");
	for (unsigned i = 0; i < VERDICTS; i++) {
		if (!sum.functions[i])
			continue;
		buf_printf(p->out, "  %-9s %10s in %s %s%s", verdict_rows[i].title,
			   human_size(&a, sum.bytes[i]), human_count(&b, sum.functions[i]),
			   i == VERDICT_POOL ? "pool"
			   : l->by_stack     ? "stack"
					     : "function",
			   sum.functions[i] == 1 ? "" : "s");
		buf_printf(p->out, "%s  ", dim);
		if (i == VERDICT_POOL)
			print_reasons(p->out, all);
		else
			buf_text(p->out, verdict_rows[i].help);
		buf_printf(p->out, "%s\n", plain);
	}
	print_rest(p, l);
}

/* Pools are in the summary; their stacks are for who asks. */
static bool is_listed(const struct answer_leaks *l, const struct verdict *v)
{
	return v->class != VERDICT_POOL || l->everything || l->class == VERDICT_POOL;
}

static void print_leaks(struct printing *p, const void *answer)
{
	const struct answer_leaks *l = answer;
	struct report r = { .view = l->view, .term = p->term, .full = full };
	uint32_t more = 0;
	struct human a;

	answering_about(p);
	print_summary(p, l);
	for (uint32_t i = 0; i < l->page_count && answering_turn(p); i++)
		if (is_listed(l, &l->all->rows[l->page[i]]))
			print_verdict(&r, p->out, &l->all->rows[l->page[i]]);
	for (uint32_t i = 0, met = 0; i < l->all->count; i++) {
		const struct verdict *v = &l->all->rows[i];

		if (l->class == VERDICTS || v->class == l->class)
			more += met++ >= l->skip + l->page_count && is_listed(l, v);
	}
	if (more)
		term_printf(&p->term, p->out, "\n{dim}%s more; --top shows %s{}\n",
			    human_count(&a, more), more == 1 ? "it" : "them");
	free(r.frames);
}

static const struct answering answering = {
	.question = &question_leaks,
	.defaults = "count=10",
	.print = print_leaks,
};

const struct command command_leaks = {
	.name = "leaks",
	.args = "FILE",
	.help = "what was not freed: does it grow, is it a cache, or the start?",
	.examples = "  memoir leaks app.dat\n"
		    "  memoir leaks --class growing --full app.dat\n"
		    "  memoir leaks --all --top 100 app.dat   # those too small to matter, too\n"
		    "  memoir leaks --json app.dat | jq '.verdicts[] | select(.class == "
		    "\"growing\")'\n",
	.options = options,
	.answers = &answering,
};
