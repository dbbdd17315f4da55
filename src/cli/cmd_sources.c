/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir sources: source files that stacks go through. */
#include "answer/sources.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/table.h"

static const struct table_column columns[] = {
	{ "BYTES", false, STYLE_STRONG, 0 },
	{ "BLOCKS", false, STYLE_PLAIN, 0 },
	{ "SELF", false, STYLE_STRONG, 0 },
	{ "SELF BLOCKS", false, STYLE_PLAIN, 90 },
	{ "HERE", true, STYLE_DIM, 0 },
	{ "FILE", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static void print_sources(struct printing *p, const void *answer)
{
	const struct answer_sources *s = answer;
	auto_release(table_release) struct table t = { 0 };

	table_init(&t, columns);
	for (size_t i = 0; i < s->count; i++) {
		const struct source_line *w = s->rows[i].weights;

		table_cell(&t, size_text(w->total.bytes));
		table_cell(&t, count_text(w->total.count));
		table_cell(&t, size_text(w->self.bytes));
		table_cell(&t, count_text(w->self.count));
		table_cell(&t, s->rows[i].on_disk ? "yes" : "");
		table_cell(&t, s->rows[i].path);
	}
	answering_page(p, "source file", "source files", (uint32_t)s->count, s->total);
	buf_text(p->out, s->count ? "\n\n" : "\n");
	if (s->count)
		table_print(&t, &p->term, true, p->out);
}

static const struct answering answering = {
	.question = &question_sources,
	.defaults = "count=20",
	.all_names = true,
	.print = print_sources,
};

const struct command command_sources = {
	.name = "sources",
	.args = "FILE",
	.help = "source files that stacks go through",
	.examples = "  memoir sources app.dat                     at the peak\n"
		    "  memoir sources -m leaked --search parser app.dat\n",
	.answers = &answering,
};
