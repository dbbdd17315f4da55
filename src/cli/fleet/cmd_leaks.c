/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet leaks: whose memory grows while recordings run, and in how many of them. */
#include "answer/fleet_groups.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "cli/fleet/fleet_options.h"
#include "cli/fleet/growth_text.h"
#include "cli/table.h"

static bool full;

static const struct command_option options[] = {
	FLEET_ROW,
	FLAG("full", 0, "names as long as they are", &full),
	{ 0 },
};

/* The name, and of a stack its callers. */
static char *describe(const struct fleet_growing *row)
{
	struct buf text = { 0 };
	const char *name = *row->name ? row->name : "(unknown)";

	buf_text(&text, name);
	if (*row->stack) {
		buf_text(&text, full ? "\n" : "  ");
		for (const char *c = row->stack; *c; c++)
			buf_text(&text, *c != '\n' ? (char[]){ *c, 0 } : full ? "\n" : " < ");
	}
	return text.data;
}

static void print_growth(struct printing *p, const void *answer)
{
	static const struct table_column columns[] = {
		{ "", .left = true },
		{ "growth" },
		{ "alive" },
		{ "before", .narrow = 70 },
		{ "grows in" },
		{ "hosts", .narrow = 90 },
		{ "", .left = true, .style = STYLE_DIM, .narrow = 100 },
		{ "function", .left = true, .style = STYLE_FUNCTION },
		{ 0 },
	};
	const struct answer_fleet_growth *r = answer;
	const struct fleet_growths *g = &r->growths;
	struct table t;

	growth_text_about(p, &r->range);
	term_printf(&p->term, p->out, "\n{title}WHAT GROWS{}  ");
	answering_page(p, r->by_stack ? "stack" : "function", r->by_stack ? "stacks" : "functions",
		       (uint32_t)g->count, (uint32_t)g->total);
	buf_text(p->out, "\n\n");
	table_init(&t, columns);
	for (size_t i = 0; i < g->count; i++) {
		const struct fleet_growing *row = &g->rows[i];
		auto_free char *name = describe(row);
		auto_buf struct buf spark = { 0 };

		buf_text(&spark, "");
		growth_text_spark(&spark, row->spark, row->spark ? g->points : 0);
		table_cell(&t, growth_classes[row->class]);
		table_cell(&t, rate_text(row->growth));
		table_cell(&t, size_text(row->live_bytes));
		table_cell(&t, size_text(row->before_bytes));
		table_cellf(&t, "%s of %s", count_text(row->growing), count_text(row->recordings));
		table_cell(&t, count_text(row->hosts));
		table_cell(&t, spark.data);
		table_cell(&t, name);
	}
	if (g->count)
		table_print(&t, &p->term, full, p->out);
	table_release(&t);
}

static const struct answering answering = {
	.question = &question_fleet_growth,
	.defaults = "count=20&spark=16",
	.fleet = true,
	.print = print_growth,
};

const struct command command_fleet_leaks = {
	.name = "fleet leaks",
	.args = "",
	.help = "whose memory grows, and in how many recordings",
	.examples = "  memoir fleet leaks --since 2026-05-05 -F 'service = shop'\n"
		    "  memoir fleet leaks --by stack --last 24h\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
