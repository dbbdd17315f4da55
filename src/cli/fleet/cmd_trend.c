/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet trend: what a fleet held over time. */
#include "answer/fleet_groups.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "cli/fleet/fleet_options.h"
#include "cli/fleet/growth_text.h"
#include "cli/table.h"

static const struct command_option options[] = {
	FLEET_ROW,
	{ 0 },
};

static void print_curve(struct printing *p, const struct fleet_trend *t,
			const struct fleet_curve *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->points; i++)
		most = MAX(most, c->live_bytes[i]);
	term_printf(&p->term, p->out, "  {dim}");
	growth_text_spark(p->out, c->live_bytes, t->points);
	term_printf(&p->term, p->out, "{}  %s at the end, at most %s  {function}%s{}\n",
		    size_text(c->live_bytes[t->points - 1]), size_text(most),
		    !c->name   ? "everything"
		    : *c->name ? c->name
			       : "(none)");
}

static void print_points(struct printing *p, const struct fleet_trend *t)
{
	static const struct table_column columns[] = {
		{ "time", .left = true },
		{ "alive" },
		{ "blocks", .narrow = 70 },
		{ "allocated" },
		{ "freed", .narrow = 60 },
		{ "recordings" },
		{ 0 },
	};
	const struct fleet_curve *c = &t->curves[0];
	struct table table;

	table_init(&table, columns);
	for (uint32_t i = 0; i < t->points; i++) {
		table_cell(&table, time_text((int64_t)t->begin + (int64_t)i * t->width));
		table_cell(&table, size_text(c->live_bytes[i]));
		table_cell(&table, count_text(c->live_count[i]));
		table_cell(&table, size_text(c->allocated_bytes[i]));
		table_cell(&table, size_text(c->freed_bytes[i]));
		table_cell(&table, count_text(c->recordings[i]));
	}
	table_print(&table, &p->term, false, p->out);
	table_release(&table);
}

static void print_trend(struct printing *p, const void *answer)
{
	const struct answer_fleet_trend *r = answer;
	const struct fleet_trend *t = &r->trend;

	growth_text_about(p, &r->range);
	term_printf(&p->term, p->out, "\n{title}ALIVE OVER TIME{}");
	if (!t->count) {
		buf_text(p->out, "  there is nothing\n");
		return;
	}
	buf_printf(p->out, "  %s from one point to the next\n\n",
		   duration_text((uint64_t)t->width * 1000000000u));
	for (size_t i = 0; i < t->count; i++)
		print_curve(p, t, &t->curves[i]);
	buf_char(p->out, '\n');
	print_points(p, t);
}

static const struct answering answering = {
	.question = &question_fleet_trend,
	.defaults = "points=24",
	.fleet = true,
	.print = print_trend,
};

const struct command command_fleet_trend = {
	.name = "fleet trend",
	.args = "",
	.help = "what a fleet held over time",
	.examples = "  memoir fleet trend --last 7d\n"
		    "  memoir fleet trend --by service --last 24h\n"
		    "  memoir fleet trend -F 'responsible = cache_put' --since 2026-05-04\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
