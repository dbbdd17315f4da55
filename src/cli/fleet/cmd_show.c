/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet show: what was sent to a fleet; one recording with all that is known of it. */
#include "answer/fleet_groups.h"
#include "base/buf_text.h"
#include "cli/about.h"
#include "cli/fleet/fleet_options.h"
#include "cli/fleet/growth_text.h"
#include "cli/table.h"

#define ID_SHOWN 12

static const struct command_option options[] = {
	FLEET_ROW,
	{ 0 },
};

static void print_one(struct printing *p, const struct fleet_recording *r)
{
	static const struct {
		const char *title;
		enum fleet_text text;
	} rows[] = {
		{ "recording", FLEET_ID },    { "service", FLEET_SERVICE },
		{ "host", FLEET_HOST },	      { "build", FLEET_BUILD },
		{ "release", FLEET_RELEASE }, { "labels", FLEET_LABEL_LIST },
		{ "command", FLEET_COMMAND }, { "file", FLEET_FILE },
	};
	struct buf *out = p->out;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_buf struct buf text = { 0 };

		for (const char *c = r->texts[rows[i].text]; *c; c++)
			buf_char(&text, *c == '\n' ? ' ' : *c);
		if (text.size)
			about_line(out, &p->term, rows[i].title, "%s", text.data);
	}
	about_line(out, &p->term, "time", "%s to %s", time_text(r->started), time_text(r->ended));
	about_line(out, &p->term, "sent", "%s", time_text(r->pushed));
	if (r->pid)
		about_line(out, &p->term, "process", "%u", r->pid);
	about_line(out, &p->term, "allocated", "%s in %s blocks", size_text(r->allocated_bytes),
		   count_text(r->allocated_count));
	about_line(out, &p->term, "peak", "%s in %s blocks", size_text(r->peak_bytes),
		   count_text(r->peak_count));
	about_line(out, &p->term, "never freed", "%s in %s blocks", size_text(r->leaked_bytes),
		   count_text(r->leaked_count));
	about_line(out, &p->term, "growth", "%s", rate_text(r->growth));
}

static void print_list(struct printing *p, const struct fleet_recordings *l)
{
	static const struct table_column columns[] = {
		{ "recording", .left = true },
		{ "started", .left = true, .narrow = 100 },
		{ "peak" },
		{ "leaked", .narrow = 90 },
		{ "growth" },
		{ "service", .left = true, .style = STYLE_FUNCTION },
		{ "host", .left = true },
		{ 0 },
	};
	struct table t;

	table_init(&t, columns);
	for (size_t i = 0; i < l->count; i++) {
		const struct fleet_recording *r = &l->rows[i];

		table_cellf(&t, "%.*s", ID_SHOWN, r->texts[FLEET_ID]);
		table_cell(&t, time_text(r->started));
		table_cell(&t, size_text(r->peak_bytes));
		table_cell(&t, size_text(r->leaked_bytes));
		table_cell(&t, rate_text(r->growth));
		table_cell(&t, r->texts[FLEET_SERVICE]);
		table_cell(&t, r->texts[FLEET_HOST]);
	}
	if (l->count)
		table_print(&t, &p->term, false, p->out);
	table_release(&t);
}

static void print_recordings(struct printing *p, const void *answer)
{
	const struct answer_fleet_recordings *r = answer;
	const struct fleet_recordings *l = &r->recordings;

	growth_text_about(p, &r->range);
	buf_char(p->out, '\n');
	if (l->total == 1 && l->count == 1) {
		print_one(p, &l->rows[0]);
		return;
	}
	answering_page(p, "recording", "recordings", (uint32_t)l->count, (uint32_t)l->total);
	buf_text(p->out, "\n\n");
	print_list(p, l);
}

static const struct answering answering = {
	.question = &question_fleet_recordings,
	.defaults = "count=40",
	.fleet = true,
	.print = print_recordings,
};

const struct command command_fleet_show = {
	.name = "fleet show",
	.args = "",
	.help = "what was sent to a fleet; one recording with all that is known of it",
	.examples = "  memoir fleet show -F 'service = shop' --sort peak\n"
		    "  memoir fleet show --id 4f1c\n",
	.options = options,
	.takes_filters = true,
	.answers = &answering,
};
