/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet builds: builds, services, hosts, labels or days of a fleet beside each other. */
#include <string.h>

#include "answer/fleet_groups.h"
#include "base/buf_text.h"
#include "cli/fleet/fleet_options.h"
#include "cli/fleet/growth_text.h"
#include "cli/table.h"

static bool full;

static const struct command_option options[] = {
	FLEET_ROW,
	FLAG("full", 0, "names as long as they are", &full),
	{ 0 },
};

static void print_groups(struct printing *p, const void *answer)
{
	static const struct table_column columns[] = {
		{ "alive" },
		{ "growth" },
		{ "peaks", .narrow = 70 },
		{ "leaked", .narrow = 90 },
		{ "recordings" },
		{ "hosts", .narrow = 60 },
		{ "last seen", .narrow = 110 },
		{ "name", .left = true, .style = STYLE_FUNCTION },
		{ 0 },
	};
	const struct answer_fleet_groups *g = answer;
	struct table t;

	growth_text_about(p, &g->range);
	term_printf(&p->term, p->out, "\n{title}BY %s{}  %s alive in %s recording%s, %s\n", g->by,
		    size_text(g->groups.live_bytes), count_text(g->groups.recordings),
		    g->groups.recordings == 1 ? "" : "s", rate_text(g->groups.growth));
	answering_page(p, "row", "rows", (uint32_t)g->groups.count, (uint32_t)g->groups.total);
	buf_text(p->out, "\n\n");
	table_init(&t, columns);
	for (size_t i = 0; i < g->groups.count; i++) {
		const struct fleet_group *row = &g->groups.rows[i];

		table_cell(&t, size_text(row->live_bytes));
		table_cell(&t, rate_text(row->growth));
		table_cell(&t, size_text(row->peak_bytes));
		table_cell(&t, size_text(row->leaked_bytes));
		table_cell(&t, count_text(row->recordings));
		table_cell(&t, count_text(row->hosts));
		table_cell(&t, time_text(row->ended));
		table_cell(&t, *row->name ? row->name : "(none)");
	}
	if (g->groups.count)
		table_print(&t, &p->term, full, p->out);
	table_release(&t);
}

static const struct answering answering = {
	.question = &question_fleet_groups,
	.defaults = "count=40&by=build",
	.fleet = true,
	.print = print_groups,
};

const struct command command_fleet_builds = {
	.name = "fleet builds",
	.args = "",
	.help = "builds of a fleet beside each other; or services, hosts, labels, days",
	.examples = "  memoir fleet builds -F 'service = shop'\n"
		    "  memoir fleet builds --by service --sort growth --last 24h\n"
		    "  memoir fleet builds --by label --label-name zone\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
