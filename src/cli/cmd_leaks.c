/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir leaks: what was not freed, and whether it grows, is a cache, a saw, or the start. */
#include <stdlib.h>

#include "answer/leaks.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/report.h"
#include "cli/text.h"
#include "query/responsible.h"

#define NAME_MAX_COLUMNS 60

static bool full;

static const struct command_option options[] = {
	{ "full", 0, NULL, "show every frame, and whole paths", COMMAND_FLAG, &full },
	{ 0 },
};

/* " by parse_rows", the responsible function. */
static void print_function(const struct report *r, struct buf *out, uint32_t stack)
{
	const struct responsible *responsible = responsible_of_view(r->view);
	struct responsible_frame f;
	struct buf name = { 0 };
	auto_free char *shorter = NULL;

	if (!responsible_find(responsible, stack, &f))
		return;
	responsible_name(responsible, &f, &name);
	shorter = text_abbreviated(name.data);
	buf_printf(out, " by %s", term_style(&r->term, STYLE_FUNCTION));
	text_shortened(out, r->full ? name.data : shorter, r->full ? SIZE_MAX : NAME_MAX_COLUMNS);
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
	buf_release(&name);
}

static void print_verdict(struct report *r, struct buf *out, const struct verdict *v)
{
	const struct term *t = &r->term;
	struct human a, b;
	uint64_t bytes = v->freed_at_exit ? v->kept_bytes : v->leaked_bytes;

	buf_printf(out, "\n%s%-9s%s ",
		   term_style(t, v->class == VERDICT_GROWING ? STYLE_WARNING : STYLE_NUMBER),
		   verdict_rows[v->class].title, term_style(t, STYLE_PLAIN));
	buf_printf(out, "%s%s%s", term_style(t, STYLE_STRONG), human_size(&a, bytes),
		   term_style(t, STYLE_PLAIN));
	if (v->freed_at_exit)
		buf_text(out, ", freed at exit");
	else
		buf_printf(out, " in %s block%s", human_count(&b, v->leaked_count),
			   v->leaked_count == 1 ? "" : "s");
	print_function(r, out, v->stack);
	if (v->class != VERDICT_UNCLEAR)
		buf_printf(out, "%s, %.0f %% sure%s", term_style(t, STYLE_DIM), v->confidence * 100,
			   term_style(t, STYLE_PLAIN));
	buf_text(out, "\n          ");
	verdict_evidence(out, v, model_runtime_ns(r->view->model));
	buf_char(out, '\n');
	report_stack(r, out, v->stack, v->call);
}

/* How much of each class there is. */
static void print_summary(const struct report *r, struct buf *out, const struct verdicts *all)
{
	uint64_t bytes[VERDICTS] = { 0 }, count[VERDICTS] = { 0 };
	struct human a, b;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct verdict *v = &all->rows[i];

		bytes[v->class] += v->freed_at_exit ? v->kept_bytes : v->leaked_bytes;
		count[v->class]++;
	}
	buf_printf(out, "\n%sLEAK VERDICTS%s\n", term_style(&r->term, STYLE_TITLE),
		   term_style(&r->term, STYLE_PLAIN));
	if (!all->count)
		buf_text(out, "  everything was freed\n");
	for (unsigned i = 0; i < VERDICTS; i++) {
		if (!count[i])
			continue;
		buf_printf(out, "  %-9s %10s in %s stack%s", verdict_rows[i].title,
			   human_size(&a, bytes[i]), human_count(&b, count[i]),
			   count[i] == 1 ? "" : "s");
		buf_printf(out, "%s  %s%s\n", term_style(&r->term, STYLE_DIM), verdict_rows[i].help,
			   term_style(&r->term, STYLE_PLAIN));
	}
}

static void print_leaks(struct printing *p, const void *answer)
{
	const struct answer_leaks *l = answer;
	struct report r = { .view = l->view, .term = p->term, .full = full };
	uint64_t met = 0, more;
	struct human a;

	about_text_program(p->out, &p->term, p->model);
	about_text_loss(p->out, &p->term, p->model);
	print_summary(&r, p->out, l->all);
	for (uint32_t i = 0; i < l->all->count; i++) {
		if (l->class != VERDICTS && l->all->rows[i].class != l->class)
			continue;
		if (met >= l->skip && met - l->skip < l->count)
			print_verdict(&r, p->out, &l->all->rows[i]);
		met++;
	}
	more = met > l->skip && met - l->skip > l->count ? met - l->skip - l->count : 0;
	if (more)
		buf_printf(p->out, "\n%s%s more stack%s; --top shows them%s\n",
			   term_style(&p->term, STYLE_DIM), human_count(&a, more),
			   more == 1 ? "" : "s", term_style(&p->term, STYLE_PLAIN));
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
		    "  memoir leaks --json app.dat | jq '.verdicts[] | select(.class == "
		    "\"growing\")'\n",
	.options = options,
	.answers = &answering,
};
