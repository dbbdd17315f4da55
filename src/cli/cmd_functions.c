/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir functions: what each function weighs, wherever it stands in stacks. */
#include "answer/functions.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/shape.h"
#include "cli/tree_text.h"

static bool full;

static const struct command_option options[] = {
	{ "full", 0, NULL, "names as long as they are", COMMAND_FLAG, &full },
	{ 0 },
};

static void print_functions(struct printing *p, const void *answer)
{
	const struct answer_functions *f = answer;
	const struct weight *all = &f->tree.nodes[0].total;
	struct tree_text how = { .term = p->term, .full = full };
	struct human a, b;

	about_text_program(p->out, &p->term, p->model);
	about_text_loss(p->out, &p->term, p->model);
	buf_printf(p->out, "\n%sFUNCTIONS%s  ", term_style(&p->term, STYLE_TITLE),
		   term_style(&p->term, STYLE_PLAIN));
	if (!all->count)
		buf_text(p->out, "nothing was ");
	else
		buf_printf(p->out, "%s in %s block%s ", human_size(&a, all->bytes),
			   human_count(&b, all->count), all->count == 1 ? "" : "s");
	shape_measure_title(p->out, p->model, &f->tree.options.measuring);
	buf_text(p->out, "\n");
	answering_page(p, "name", "names", f->shown, f->count);
	buf_text(p->out, "\n\n");
	if (f->shown)
		tree_text_functions(p->out, &how, f);
}

static const struct answering answering = {
	.question = &question_functions,
	.defaults = "count=40",
	.all_names = true,
	.print = print_functions,
};

const struct command command_functions = {
	.name = "functions",
	.args = "FILE",
	.help = "what each function weighs, wherever it stands",
	.examples = "  memoir functions app.dat                   of what made up the peak\n"
		    "  memoir functions -m leaked --sort self app.dat\n"
		    "  memoir functions --by module app.dat\n",
	.options = options,
	.answers = &answering,
};
