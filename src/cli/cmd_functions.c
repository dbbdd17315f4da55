/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir functions: what each function weighs, wherever it stands in stacks. */
#include "answer/callers.h"
#include "answer/functions.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/printers.h"
#include "cli/shape.h"
#include "cli/tree_text.h"

bool functions_print_full;
static bool neighbours;

static const char *set_callers(const struct command_option *row, const char *value)
{
	neighbours = true;
	return answering_set(row, value);
}

static const struct command_option options[] = {
	CALL("callers", 0, "NAME", "who calls this function, and what it calls", set_callers,
	     .context = "function"),
	FLAG("full", 0, "names as long as they are", &functions_print_full),
	{ 0 },
};

void functions_print(struct printing *p, const void *answer)
{
	const struct answer_functions *f = answer;
	const struct weight *all = &f->tree.nodes[0].total;
	struct tree_text how = { .term = p->term, .full = functions_print_full, .own = true };

	answering_about(p);
	term_printf(&p->term, p->out, "\n{title}FUNCTIONS{}  ");
	if (!all->count)
		buf_text(p->out, "nothing was ");
	else
		buf_printf(p->out, "%s in %s block%s ", size_text(all->bytes),
			   count_text(all->count), all->count == 1 ? "" : "s");
	answering_measure(p, &f->tree.options.measuring);
	buf_text(p->out, "\n");
	answering_page(p, "name", "names", f->shown, f->count);
	buf_text(p->out, "\n\n");
	if (f->shown)
		tree_text_functions(p->out, &how, f);
}

static void print_side(struct printing *p, const struct answer_callers *c, const char *title,
		       const struct function_total *rows, uint32_t shown, uint32_t count)
{
	struct tree_text how = { .term = p->term, .full = functions_print_full };

	if (!shown)
		return;
	term_printf(&p->term, p->out, "\n{title}%s{}", title);
	if (shown < count)
		buf_printf(p->out, "  the heaviest %u of %u", shown, count);
	buf_text(p->out, "\n\n");
	for (uint32_t i = 0; i < shown; i++)
		tree_text_function(p->out, &how, &c->tree, &rows[i]);
}

static void print_callers(struct printing *p, const void *answer)
{
	const struct answer_callers *c = answer;
	const struct callers *f = &c->callers;
	struct tree_text how = { .term = p->term, .full = functions_print_full };

	answering_about(p);
	buf_char(p->out, '\n');
	if (!f->function.node_count) {
		buf_printf(p->out, "nothing that was ");
		shape_measure_title(p->out, p->model, &c->tree.options.measuring);
		buf_printf(p->out, " went through %s\n", ask_text(p->ask, "function"));
		return;
	}
	tree_text_heading(p->out, &how);
	tree_text_function(p->out, &how, &c->tree, &f->function);
	print_side(p, c, "CALLED BY", f->callers, c->caller_shown, f->caller_count);
	if (f->no_caller.count)
		buf_printf(p->out, "%s in %s block%s: their stacks begin with it\n",
			   size_text(f->no_caller.bytes), count_text(f->no_caller.count),
			   f->no_caller.count == 1 ? "" : "s");
	print_side(p, c, "CALLS", f->callees, c->callee_shown, f->callee_count);
}

static const struct answering callers_answering = {
	.question = &question_callers,
	.defaults = "count=20",
	.all_names = true,
	.print = print_callers,
};

static const struct answering *callers_instead(void)
{
	return neighbours ? &callers_answering : NULL;
}

static const struct answering answering = {
	.question = &question_functions,
	.defaults = "count=40",
	.instead = callers_instead,
	.all_names = true,
	.print = functions_print,
};

const struct command command_functions = {
	.name = "functions",
	.args = "FILE",
	.help = "what each function weighs, wherever it stands",
	.examples = "  memoir functions app.dat                   of what made up the peak\n"
		    "  memoir functions -m leaked --sort total app.dat\n"
		    "  memoir functions --by module app.dat\n"
		    "  memoir functions --callers parse_rows app.dat\n",
	.options = options,
	.answers = &answering,
};
