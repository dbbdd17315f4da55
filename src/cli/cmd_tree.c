/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir tree: who called whom, and what it weighs. */
#include "answer/tree.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/shape.h"
#include "cli/tree_text.h"

static bool full;

static const struct command_option options[] = {
	ANSWERING_FLAG("bottom-up", 'u', "direction=up",
		       "from the innermost functions to their callers"),
	ANSWERING_FLAG("count", 0, "weight=count", "order and shares by blocks, not bytes"),
	{ "full", 0, NULL, "names as long as they are", COMMAND_FLAG, &full },
	{ 0 },
};

static void print_tree(struct printing *p, const void *answer)
{
	const struct tree *t = answer;
	const struct weight *all = &t->nodes[0].total;
	struct tree_text how = { .term = p->term, .full = full };
	struct buf *out = p->out;

	about_text_program(out, &p->term, t->model);
	about_text_loss(out, &p->term, t->model);
	buf_printf(out, "\n%s%s%s  ", term_style(&p->term, STYLE_TITLE),
		   t->options.bottom_up ? "CALLERS" : "CALLS", term_style(&p->term, STYLE_PLAIN));
	if (!all->count) {
		buf_text(out, "nothing was ");
		shape_measure_title(out, t->model, &t->options.measuring);
		buf_char(out, '\n');
		return;
	}
	buf_printf(out, "%s in %s block%s ", size_text(all->bytes), count_text(all->count),
		   all->count == 1 ? "" : "s");
	shape_measure_title(out, t->model, &t->options.measuring);
	buf_text(out, "\n\n");
	tree_text_branches(out, &how, t);
}

static const struct answering answering = {
	.question = &question_tree,
	.defaults = "min_share=1",
	.all_names = true,
	.print = print_tree,
};

const struct command command_tree = {
	.name = "tree",
	.args = "FILE",
	.help = "call tree of the peak, of leaks, of any moment",
	.examples =
		"  memoir tree app.dat                          what made up the peak\n"
		"  memoir tree -m leaked --bottom-up app.dat    who leaks, and who called that\n"
		"  memoir tree --at 50% --by module app.dat\n",
	.options = options,
	.answers = &answering,
};
