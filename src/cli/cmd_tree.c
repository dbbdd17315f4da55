/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir tree: who called whom, and what it weighs. */
#include "answer/tree.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/printers.h"
#include "cli/tree_text.h"

bool tree_print_full;

static const struct command_option options[] = {
	ANSWERING_FLAG("bottom-up", 'u', "direction=up",
		       "from the innermost functions to their callers"),
	ANSWERING_FLAG("count", 0, "weight=count", "order and shares by blocks, not bytes"),
	FLAG("full", 0, "names as long as they are", &tree_print_full),
	{ 0 },
};

void tree_print(struct printing *p, const void *answer)
{
	const struct tree *t = answer;
	const struct weight *all = &t->nodes[0].total;
	struct tree_text how = { .term = p->term, .full = tree_print_full };
	struct buf *out = p->out;

	answering_about(p);
	term_printf(&p->term, out, "\n{title}%s{}  ", t->options.bottom_up ? "CALLERS" : "CALLS");
	if (!all->count) {
		buf_text(out, "nothing was ");
		answering_measure(p, &t->options.measuring);
		buf_char(out, '\n');
		return;
	}
	buf_printf(out, "%s in %s block%s ", size_text(all->bytes), count_text(all->count),
		   all->count == 1 ? "" : "s");
	answering_measure(p, &t->options.measuring);
	buf_text(out, "\n\n");
	tree_text_branches(out, &how, t);
}

static const struct answering answering = {
	.question = &question_tree,
	.defaults = "min_share=1",
	.all_names = true,
	.print = tree_print,
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
