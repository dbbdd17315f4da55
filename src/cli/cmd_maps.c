/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir maps: the memory maps of a program, their parts, and how much of them was resident. */
#include <inttypes.h>
#include <string.h>

#include "answer/maps.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/shape.h"
#include "cli/table.h"
#include "cli/where.h"
#include "query/answer.h"

#define LABEL 14 /* columns before a line of cells */

static bool full, timeline;

static const struct command_option options[] = {
	FLAG("timeline", 0, "show what all of them together used over time", &timeline),
	CALL("points", 0, "N", "of --timeline, at most", answering_set, .context = "points"),
	ANSWERING_FULL(full),
	{ 0 },
};

static const struct table_column map_columns[] = {
	{ "MAP", false, STYLE_DIM, 0 },
	{ "TIME", false, STYLE_PLAIN, 0 },
	{ "LIFETIME", false, STYLE_NUMBER, 0 },
	{ "SIZE", false, STYLE_STRONG, 0 },
	{ "PEAK RSS", false, STYLE_STRONG, 0 },
	{ "RSS", false, STYLE_NUMBER, 100 },
	{ "ADDRESS", false, STYLE_DIM, 110 },
	{ "PERMS", true, STYLE_PLAIN, 90 },
	{ "THREAD", true, STYLE_PLAIN, 130 },
	{ "CALL", true, STYLE_DIM, 120 },
	{ "NAME", true, STYLE_PLAIN, 0 },
	{ "WHERE", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static const struct table_column region_columns[] = {
	{ "MAP", false, STYLE_DIM, 0 },
	{ "TIME", false, STYLE_PLAIN, 0 },
	{ "LIFETIME", false, STYLE_NUMBER, 0 },
	{ "ADDRESS", false, STYLE_DIM, 0 },
	{ "SIZE", false, STYLE_STRONG, 0 },
	{ "PERMS", true, STYLE_PLAIN, 0 },
	{ "NAME", true, STYLE_PLAIN, 100 },
	{ "ENDED BY", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static const struct table_column usage_columns[] = {
	{ "MAP", false, STYLE_DIM, 0 },
	{ "TIME", false, STYLE_PLAIN, 0 },
	{ "ADDRESS SPACE", false, STYLE_PLAIN, 0 },
	{ "RSS", false, STYLE_STRONG, 0 },
	{ "ANONYMOUS", false, STYLE_PLAIN, 0 },
	{ "DIRTY", false, STYLE_PLAIN, 0 },
	{ "CLEAN", false, STYLE_PLAIN, 0 },
	{ "SWAP", false, STYLE_PLAIN, 0 },
	{ 0 },
};

struct shown {
	const struct model *m;
	const struct map_list *list;
	const struct map_history *maps;
	const struct answer_maps *answer;
};

static struct shown shown_of(const struct printing *p, const struct answer_maps *a)
{
	return (struct shown){ p->model, a->list, a->list->maps, a };
}

static void cell_life(const struct shown *s, struct table *t, uint64_t from, uint64_t to)
{
	if (to == NEVER)
		table_cell(t, "stayed");
	else
		table_cell(t, duration_text(model_ns(s->m, to) - model_ns(s->m, from)));
}

static void permissions(char text[5], unsigned flags)
{
	text[0] = flags & MAP_CAN_READ ? 'r' : '-';
	text[1] = flags & MAP_CAN_WRITE ? 'w' : '-';
	text[2] = flags & MAP_CAN_EXECUTE ? 'x' : '-';
	text[3] = flags & MAP_IS_SHARED ? 's' : 'p';
	text[4] = 0;
}

/* A file's folder takes more room than it tells; --full has it. */
static const char *shown_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (*name == '/' && slash[1] && !full)
		return slash + 1;
	return *name ? name : "anonymous";
}

/* The thread of a map, as people know it. */
static void thread_of(const struct shown *s, uint32_t map, struct buf *out)
{
	uint32_t call = map_history_maker(s->maps, &s->maps->rows[map]);
	const struct threads *threads = &s->m->tables.threads;
	uint32_t i = call == NO_CALL ? UINT32_MAX : s->maps->calls.rows[call].thread;

	buf_text(out, "");
	if (i >= threads->count)
		return;
	if (*threads->rows[i].name)
		buf_text(out, threads->rows[i].name);
	else
		buf_printf(out, "%" PRIu64, threads->rows[i].tid);
}

static void where_of(const struct shown *s, uint32_t call, struct buf *out)
{
	const struct map_call *c;

	buf_text(out, "");
	if (call == NO_CALL)
		return;
	c = &s->maps->calls.rows[call];
	if (full)
		where_lines(s->list->view, c->stack, c->call, out);
	else
		where_line(s->list->view, c->stack, 3, out);
}

static void add_map(const struct shown *s, struct table *t, uint32_t map)
{
	const struct map_row *row = &s->maps->rows[map];
	uint32_t maker = map_history_maker(s->maps, row);
	auto_buf struct buf text = { 0 };
	char perms[5];

	table_cellf(t, "#%u", map);
	table_cell(t, duration_text(model_ns(s->m, row->begun)));
	cell_life(s, t, row->begun, row->ended);
	table_cell(t, size_text(row->size));
	table_cell(t, size_text(row->peak_rss));
	table_cell(t, size_text(map_list_rss(s->list, map)));
	table_cellf(t, "0x%" PRIx64, row->address);
	permissions(perms, row->flags);
	table_cell(t, perms);
	thread_of(s, map, &text);
	table_cell(t, text.data);
	table_cell(t, maker == NO_CALL ? ""
				       : locations_call(s->list->view->locations,
							s->maps->calls.rows[maker].call));
	table_cell(t, shown_name(map_history_name(s->maps, row)));
	buf_clear(&text);
	where_of(s, maker, &text);
	table_cell(t, text.data);
}

static void add_region(const struct shown *s, struct table *t, const struct map_region *r)
{
	auto_buf struct buf text = { 0 };
	char perms[5];

	table_cellf(t, "#%u", r->map);
	table_cell(t, duration_text(model_ns(s->m, r->begun)));
	cell_life(s, t, r->begun, r->ended);
	table_cellf(t, "0x%" PRIx64, r->address);
	table_cell(t, size_text(r->length));
	permissions(perms, r->flags);
	table_cell(t, perms);
	table_cell(t, shown_name(map_history_region_name(s->maps, r)));
	for (uint32_t i = 0; i < r->source_count; i++) {
		const struct map_source *source = &s->maps->sources[r->first_source + i];

		buf_printf(&text, "%s %s at 0x%" PRIx64 ": ",
			   locations_call(s->list->view->locations,
					  s->maps->calls.rows[source->call].call),
			   size_text(source->length), source->address);
		where_of(s, source->call, &text);
	}
	if (!text.data)
		buf_text(&text, "");
	table_cell(t, text.data);
}

static void add_usage(const struct shown *s, struct table *t, const struct map_usage *u)
{
	table_cellf(t, "#%u", u->map);
	table_cell(t, duration_text(model_ns(s->m, u->at)));
	table_cell(t, size_text(u->address_space));
	table_cell(t, size_text(u->bytes.rss));
	table_cell(t, size_text(u->bytes.anonymous));
	table_cell(t, size_text(u->bytes.private_dirty + u->bytes.shared_dirty));
	table_cell(t, size_text(u->bytes.private_clean + u->bytes.shared_clean));
	table_cell(t, size_text(u->bytes.swap));
}

static void print_table(const struct shown *s, struct printing *p,
			const struct table_column *columns)
{
	auto_release(table_release) struct table t = { 0 };

	table_init(&t, columns);
	for (uint32_t i = 0; i < s->answer->count; i++) {
		uint32_t map = s->answer->rows[i];
		const struct map_row *row = &s->maps->rows[map];

		if (columns == map_columns)
			add_map(s, &t, map);
		for (uint32_t k = 0; columns == region_columns && k < row->region_count; k++)
			add_region(s, &t, &s->maps->regions[row->first_region + k]);
		for (uint32_t k = 0; columns == usage_columns && k < row->usage_count; k++)
			add_usage(s, &t, &s->maps->usages[row->first_usage + k]);
	}
	buf_char(p->out, '\n');
	table_print(&t, &p->term, full, p->out);
}

static void print_maps(struct printing *p, const void *answer)
{
	const struct answer_maps *a = answer;
	struct shown s = shown_of(p, a);

	answering_page(p, "memory map", "memory maps", a->count, a->list->view->count);
	buf_printf(p->out, ", %s of addresses\n", size_text(a->list->view->bytes));
	if (!s.maps->count)
		buf_text(p->out,
			 "The program made none, and those that it had were not sampled: it ended "
			 "too soon, or\nMEMORY_PROFILER_GATHER_MAPS was 0.\n");
	if (!a->count)
		return;
	print_table(&s, p, map_columns);
	if (a->regions)
		print_table(&s, p, region_columns);
	if (a->usage_history)
		print_table(&s, p, usage_columns);
}

static void csv_maps(struct printing *p, const void *answer)
{
	const struct shown shown = shown_of(p, answer), *s = &shown;
	struct buf *out = p->out;

	buf_text(out, "id,timestamp_ns,ended_ns,address,size,peak_rss,rss,permissions,thread,call,"
		      "backtrace_id,name,where\n");
	for (uint32_t i = 0; i < s->answer->count && answering_turn(p); i++) {
		uint32_t map = s->answer->rows[i];
		const struct map_row *row = &s->maps->rows[map];
		uint32_t maker = map_history_maker(s->maps, row);
		const struct map_call *call = maker == NO_CALL ? NULL : &s->maps->calls.rows[maker];
		struct buf text = { 0 };
		char perms[5];

		csv_number(out, map);
		csv_number(out, model_ns(s->m, row->begun));
		csv_cell(out, "");
		if (row->ended != NEVER) {
			out->size -= 2;
			buf_printf(out, "%" PRIu64, model_ns(s->m, row->ended));
		}
		csv_number(out, row->address);
		csv_number(out, row->size);
		csv_number(out, row->peak_rss);
		csv_number(out, map_list_rss(s->list, map));
		permissions(perms, row->flags);
		csv_cell(out, perms);
		thread_of(s, map, &text);
		csv_cell(out, text.data);
		csv_cell(out, call ? locations_call(s->list->view->locations, call->call) : "");
		csv_number(out, call ? answer_stack(s->m, call->stack) : 0);
		csv_cell(out, map_history_name(s->maps, row));
		buf_clear(&text);
		where_of(s, maker, &text);
		csv_cell(out, text.data);
		csv_end(out);
		buf_release(&text);
	}
}

/* A value between two points is that of the point before. */
static uint64_t value_at(const struct map_point *points, size_t n, size_t offset, double at,
			 size_t *hint)
{
	while (*hint + 1 < n && (double)(points[*hint + 1].at - points[0].at) <= at)
		++*hint;
	return *(const uint64_t *)((const char *)&points[*hint] + offset);
}

static void print_line(struct printing *p, const char *label, const struct map_point *points,
		       size_t n, size_t offset)
{
	unsigned width = p->term.width > LABEL + 40 ? p->term.width - LABEL - 12 : 40;
	double step = (double)(points[n - 1].at - points[0].at) / width;
	uint64_t most = 0;
	size_t hint = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = *(const uint64_t *)((const char *)&points[i] + offset);

		most = v > most ? v : most;
	}
	term_printf(&p->term, p->out, "%*s {number}", LABEL - 1, label);
	for (unsigned i = 0; i < width; i++)
		shape_cell(p->out, shape_eighths(value_at(points, n, offset, step * (i + 1), &hint),
						 most, 1));
	term_printf(&p->term, p->out, "{} %s\n", size_text(most));
}

/* The lines of a timeline, and its columns as CSV. */
static const struct {
	const char *label, *name;
	size_t offset;
} lines[] = {
#define LINE(label, name)                                                                          \
	{                                                                                          \
		label, #name, offsetof(struct map_point, name)                                     \
	}
	LINE("address space", address_space),
	LINE("rss", rss),
	LINE("anonymous", anonymous),
	LINE("dirty", dirty),
	LINE("clean", clean),
	LINE("swap", swap),
#undef LINE
};
#define LINES (sizeof(lines) / sizeof(*lines))

static void print_timeline(struct printing *p, const void *answer)
{
	const struct answer_timeline_maps *t = answer;
	const struct map_point *points = t->points;

	answering_about(p);
	if (!t->count) {
		buf_text(p->out, "\nno memory maps were recorded\n");
		return;
	}
	term_printf(&p->term, p->out,
		    "\n{title}MEMORY MAPS{}  from %s to %s; each line's highest at its end\n\n",
		    duration_text(model_ns(p->model, points[0].at)),
		    duration_text(model_ns(p->model, points[t->count - 1].at)));
	for (size_t i = 0; i < LINES; i++)
		print_line(p, lines[i].label, points, t->count, lines[i].offset);
}

static void csv_timeline(struct printing *p, const void *answer)
{
	const struct answer_timeline_maps *t = answer;

	csv_cell(p->out, "timestamp_ns");
	for (size_t k = 0; k < LINES; k++)
		csv_cell(p->out, lines[k].name);
	csv_end(p->out);
	for (size_t i = 0; i < t->count && answering_turn(p); i++) {
		csv_number(p->out, model_ns(p->model, t->points[i].at));
		for (size_t k = 0; k < LINES; k++)
			csv_number(p->out, *(const uint64_t *)((const char *)&t->points[i] +
							       lines[k].offset));
		csv_end(p->out);
	}
}

static const struct answering timeline_answering = {
	.question = &question_timeline_maps,
	.defaults = "points=100000",
	.print = print_timeline,
	.csv = csv_timeline,
};

static const struct answering *timeline_instead(void)
{
	return timeline ? &timeline_answering : NULL;
}

static const struct answering answering = {
	.question = &question_maps,
	.defaults = "count=20",
	.instead = timeline_instead,
	.print = print_maps,
	.csv = csv_maps,
};

const struct command command_maps = {
	.name = "maps",
	.args = "FILE",
	.help = "list memory maps: who made them, and how much of each was resident",
	.examples = "  memoir maps app.dat --sort peak_rss --order dsc\n"
		    "  memoir maps app.dat -F 'function ~ \"arena\" and not leaked' --regions\n"
		    "  memoir maps app.dat --id 12 --history\n"
		    "  memoir maps app.dat --timeline\n"
		    "  memoir allocations app.dat --from-map 12\n",
	.options = options,
	.answers = &answering,
};
