/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir maps: the memory maps of a program, their parts, and how much of them was resident. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/paging.h"
#include "cli/shape.h"
#include "cli/table.h"
#include "cli/where.h"
#include "query/map_answer.h"

#define LABEL 14     /* columns before a line of cells */
#define POINTS 10000 /* of a timeline as JSON */

static struct paging paging = { .count = PAGING_ALL };
static bool regions, history, timeline;
static struct map_filter only;
static bool only_ready;

/* One of query/map_list.h's rows. */
static const char *set_row(const struct command_option *row, const char *value)
{
	static struct err err;

	if (!only_ready)
		map_filter_init(&only);
	only_ready = true;
	return map_filter_set(&only, row->name, value, &err) ? err.text : NULL;
}

#define ROW(name, argument, help)                                                                  \
	{                                                                                          \
		name, 0, argument, help, COMMAND_CALL, NULL, set_row, NULL                         \
	}

static const struct command_option options[] = {
	{ "regions", 0, NULL, "show the parts of each map, and what ended them", COMMAND_FLAG,
	  &regions },
	{ "history", 0, NULL, "show what of each map was used when", COMMAND_FLAG, &history },
	{ "timeline", 0, NULL, "show what all of them together used over time", COMMAND_FLAG,
	  &timeline },
	ROW("id", "N", "only the map of this number"),
	ROW("peak-rss-min", "SIZE", "this much of it, or more, was resident at some time"),
	ROW("peak-rss-max", "SIZE", "never more than this was"),
	ROW("readable", "only_true|only_false", "may it be read?"),
	ROW("writable", "only_true|only_false", "may it be written to?"),
	ROW("executable", "only_true|only_false", "may it be executed?"),
	ROW("shared", "only_true|only_false", "is it shared with others?"),
	ROW("jemalloc", "only_true|only_false", "did jemalloc map it?"),
	ROW("memoir", "only_true|only_false", "is it the recorder's own?"),
	PAGING_OPTIONS(paging, "timestamp (default), address, size or peak_rss"),
	{ 0 },
};

static const struct table_column map_columns[] = {
	{ "MAP", "id", false, STYLE_DIM, 0 },
	{ "TIME", "timestamp_ns", false, STYLE_PLAIN, 0 },
	{ "LIFETIME", "lifetime_ns", false, STYLE_NUMBER, 0 },
	{ "SIZE", "size", false, STYLE_STRONG, 0 },
	{ "PEAK RSS", "peak_rss", false, STYLE_STRONG, 0 },
	{ "ADDRESS", "address", false, STYLE_DIM, 110 },
	{ "PERMS", "permissions", true, STYLE_PLAIN, 90 },
	{ "THREAD", "thread", true, STYLE_PLAIN, 130 },
	{ "CALL", "call", true, STYLE_DIM, 120 },
	{ "NAME", "name", true, STYLE_PLAIN, 0 },
	{ "WHERE", "where", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static const struct table_column region_columns[] = {
	{ "MAP", "map", false, STYLE_DIM, 0 },
	{ "TIME", "timestamp_ns", false, STYLE_PLAIN, 0 },
	{ "LIFETIME", "lifetime_ns", false, STYLE_NUMBER, 0 },
	{ "ADDRESS", "address", false, STYLE_DIM, 0 },
	{ "SIZE", "size", false, STYLE_STRONG, 0 },
	{ "PERMS", "permissions", true, STYLE_PLAIN, 0 },
	{ "NAME", "name", true, STYLE_PLAIN, 100 },
	{ "ENDED BY", "ended_by", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static const struct table_column usage_columns[] = {
	{ "MAP", "map", false, STYLE_DIM, 0 },
	{ "TIME", "timestamp_ns", false, STYLE_PLAIN, 0 },
	{ "ADDRESS SPACE", "address_space", false, STYLE_PLAIN, 0 },
	{ "RSS", "rss", false, STYLE_STRONG, 0 },
	{ "ANONYMOUS", "anonymous", false, STYLE_PLAIN, 0 },
	{ "DIRTY", "dirty", false, STYLE_PLAIN, 0 },
	{ "CLEAN", "clean", false, STYLE_PLAIN, 0 },
	{ "SWAP", "swap", false, STYLE_PLAIN, 0 },
	{ 0 },
};

struct shown {
	const struct model *m;
	const struct map_list *list;
	const struct map_history *maps;
	struct map_answer answer;
	uint32_t *rows;
	uint32_t count;
};

static uint64_t ns_of(const struct shown *s, uint64_t stamp)
{
	return clock_ns(&s->answer.answer.clock, stamp);
}

static void cell_life(const struct shown *s, struct table *t, uint64_t from, uint64_t to)
{
	struct human h;

	if (to == NEVER)
		table_cell(t, "stayed");
	else
		table_cell(t, human_duration(
				      &h, clock_duration_ns(&s->answer.answer.clock, to - from)));
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

	if (*name == '/' && slash[1] && !paging.full)
		return slash + 1;
	return *name ? name : "anonymous";
}

/* The thread of a map, as people know it. */
static void thread_of(const struct shown *s, uint32_t map, struct buf *out)
{
	const struct map_row *row = &s->maps->rows[map];
	const struct threads *threads = &s->m->tables.threads;
	uint32_t i = row->call == NO_CALL ? UINT32_MAX : s->maps->calls.rows[row->call].thread;

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
	if (paging.full)
		where_lines(s->list->view, c->stack, c->call, out);
	else
		where_line(s->list->view, c->stack, 3, out);
}

static void add_map(const struct shown *s, struct table *t, uint32_t map)
{
	const struct map_row *row = &s->maps->rows[map];
	struct buf text = { 0 };
	struct human h;
	char perms[5];

	table_cellf(t, "#%u", map);
	table_cell(t, human_duration(&h, ns_of(s, row->begun)));
	cell_life(s, t, row->begun, row->ended);
	table_cell(t, human_size(&h, row->size));
	table_cell(t, human_size(&h, row->peak_rss));
	table_cellf(t, "0x%" PRIx64, row->address);
	permissions(perms, row->flags);
	table_cell(t, perms);
	thread_of(s, map, &text);
	table_cell(t, text.data);
	table_cell(t, row->call == NO_CALL ? ""
					   : locations_call(s->list->view->locations,
							    s->maps->calls.rows[row->call].call));
	table_cell(t, shown_name(map_history_name(s->maps, row)));
	buf_clear(&text);
	where_of(s, row->call, &text);
	table_cell(t, text.data);
	buf_release(&text);
}

static void add_region(const struct shown *s, struct table *t, const struct map_region *r)
{
	struct buf text = { 0 };
	struct human h;
	char perms[5];

	table_cellf(t, "#%u", r->map);
	table_cell(t, human_duration(&h, ns_of(s, r->begun)));
	cell_life(s, t, r->begun, r->ended);
	table_cellf(t, "0x%" PRIx64, r->address);
	table_cell(t, human_size(&h, r->length));
	permissions(perms, r->flags);
	table_cell(t, perms);
	table_cell(t, shown_name(map_history_region_name(s->maps, r)));
	for (uint32_t i = 0; i < r->source_count; i++) {
		const struct map_source *source = &s->maps->sources[r->first_source + i];

		buf_printf(&text, "%s %s at 0x%" PRIx64 ": ",
			   locations_call(s->list->view->locations,
					  s->maps->calls.rows[source->call].call),
			   human_size(&h, source->length), source->address);
		where_of(s, source->call, &text);
	}
	if (!text.data)
		buf_text(&text, "");
	table_cell(t, text.data);
	buf_release(&text);
}

static void add_usage(const struct shown *s, struct table *t, const struct map_usage *u)
{
	struct human h;

	table_cellf(t, "#%u", u->map);
	table_cell(t, human_duration(&h, ns_of(s, u->at)));
	table_cell(t, human_size(&h, u->address_space));
	table_cell(t, human_size(&h, u->bytes.rss));
	table_cell(t, human_size(&h, u->bytes.anonymous));
	table_cell(t, human_size(&h, u->bytes.private_dirty + u->bytes.shared_dirty));
	table_cell(t, human_size(&h, u->bytes.private_clean + u->bytes.shared_clean));
	table_cell(t, human_size(&h, u->bytes.swap));
}

static void print_table(struct shown *s, struct buf *out, const struct table_column *columns)
{
	struct table t;

	table_init(&t, columns);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct map_row *row = &s->maps->rows[s->rows[i]];

		if (columns == map_columns)
			add_map(s, &t, s->rows[i]);
		for (uint32_t k = 0; columns == region_columns && k < row->region_count; k++)
			add_region(s, &t, &s->maps->regions[row->first_region + k]);
		for (uint32_t k = 0; columns == usage_columns && k < row->usage_count; k++)
			add_usage(s, &t, &s->maps->usages[row->first_usage + k]);
	}
	buf_char(out, '\n');
	table_print(&t, &paging.term, paging.full, out);
	table_release(&t);
}

static void print_text(struct shown *s, struct buf *out)
{
	struct human h;

	paging_title(&paging, "memory map", "memory maps", s->count, s->list->view->count, out);
	buf_printf(out, ", %s of addresses\n", human_size(&h, s->list->view->bytes));
	if (!s->maps->count)
		buf_text(out,
			 "The program made none, and those that it had were not sampled: it ended "
			 "too soon, or\nMEMORY_PROFILER_GATHER_MAPS was 0.\n");
	if (!s->count)
		return;
	print_table(s, out, map_columns);
	if (regions)
		print_table(s, out, region_columns);
	if (history)
		print_table(s, out, usage_columns);
}

static void print_json(struct shown *s, struct buf *out)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_array(&j, "maps");
	s->answer.regions = regions;
	s->answer.usage_history = history;
	for (uint32_t i = 0; i < s->count; i++)
		map_answer_map(&s->answer, &j, s->rows[i]);
	json_end_array(&j);
	json_number(&j, "total_count", s->list->view->count);
	json_end_object(&j);
}

static void print_csv(struct shown *s, struct buf *out)
{
	buf_text(out, "id,timestamp_ns,ended_ns,address,size,peak_rss,permissions,thread,call,"
		      "backtrace_id,name,where\n");
	for (uint32_t i = 0; i < s->count; i++) {
		const struct map_row *row = &s->maps->rows[s->rows[i]];
		const struct map_call *call =
			row->call == NO_CALL ? NULL : &s->maps->calls.rows[row->call];
		struct buf text = { 0 };
		char perms[5];

		csv_number(out, s->rows[i]);
		csv_number(out, ns_of(s, row->begun));
		csv_cell(out, "");
		if (row->ended != NEVER) {
			out->size -= 2;
			buf_printf(out, "%" PRIu64, ns_of(s, row->ended));
		}
		csv_number(out, row->address);
		csv_number(out, row->size);
		csv_number(out, row->peak_rss);
		permissions(perms, row->flags);
		csv_cell(out, perms);
		thread_of(s, s->rows[i], &text);
		csv_cell(out, text.data);
		csv_cell(out, call ? locations_call(s->list->view->locations, call->call) : "");
		csv_number(out, call ? answer_stack(s->m, call->stack) : 0);
		csv_cell(out, map_history_name(s->maps, row));
		buf_clear(&text);
		where_of(s, row->call, &text);
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

static void print_line(struct buf *out, const char *label, const struct map_point *points, size_t n,
		       size_t offset)
{
	unsigned width = paging.term.width > LABEL + 40 ? paging.term.width - LABEL - 12 : 40;
	double step = (double)(points[n - 1].at - points[0].at) / width;
	uint64_t most = 0;
	struct human h;
	size_t hint = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = *(const uint64_t *)((const char *)&points[i] + offset);

		most = v > most ? v : most;
	}
	buf_printf(out, "%*s %s", LABEL - 1, label, term_style(&paging.term, STYLE_NUMBER));
	for (unsigned i = 0; i < width; i++)
		shape_cell(out, shape_eighths(value_at(points, n, offset, step * (i + 1), &hint),
					      most, 1));
	buf_printf(out, "%s %s\n", term_style(&paging.term, STYLE_PLAIN), human_size(&h, most));
}

static void print_lines(struct shown *s, struct buf *out)
{
	struct map_point *points;
	size_t n = map_series(s->list, 0, &points);
	struct human a, b;

	about_text_program(out, &paging.term, s->m);
	about_text_loss(out, &paging.term, s->m);
	if (!n) {
		buf_text(out, "\nno memory maps were recorded\n");
	} else {
		buf_printf(out,
			   "\n%sMEMORY MAPS%s  from %s to %s; each line's highest at its end\n\n",
			   term_style(&paging.term, STYLE_TITLE),
			   term_style(&paging.term, STYLE_PLAIN),
			   human_duration(&a, ns_of(s, points[0].at)),
			   human_duration(&b, ns_of(s, points[n - 1].at)));
		print_line(out, "address space", points, n,
			   offsetof(struct map_point, address_space));
		print_line(out, "rss", points, n, offsetof(struct map_point, rss));
		print_line(out, "anonymous", points, n, offsetof(struct map_point, anonymous));
		print_line(out, "dirty", points, n, offsetof(struct map_point, dirty));
		print_line(out, "clean", points, n, offsetof(struct map_point, clean));
		print_line(out, "swap", points, n, offsetof(struct map_point, swap));
	}
	free(points);
}

static void print_timeline_csv(struct shown *s, struct buf *out)
{
	struct map_point *points;
	size_t n = map_series(s->list, 0, &points);

	buf_text(out, "timestamp_ns,address_space,rss,anonymous,dirty,clean,swap\n");
	for (size_t i = 0; i < n; i++) {
		const struct map_point *p = &points[i];

		csv_number(out, ns_of(s, p->at));
		csv_number(out, p->address_space);
		csv_number(out, p->rss);
		csv_number(out, p->anonymous);
		csv_number(out, p->dirty);
		csv_number(out, p->clean);
		csv_number(out, p->swap);
		csv_end(out);
	}
	free(points);
}

static void print_timeline(struct shown *s, struct buf *out)
{
	struct json j;

	if (paging.csv) {
		print_timeline_csv(s, out);
	} else if (paging.json) {
		json_init(&j, out);
		map_answer_timeline(&s->answer, &j,
				    paging.count == PAGING_ALL ? POINTS : paging.count);
	} else {
		print_lines(s, out);
	}
}

static int print(const struct opened *o, const struct map_list *list, enum map_sort sort)
{
	struct shown s = { .m = o->model, .list = list, .maps = list->maps };
	struct buf out = { 0 };
	int status = o->status;

	map_answer_init(&s.answer, list);
	s.count = map_list_page(list, sort, paging.descending, paging_skip(&paging),
				paging_count(&paging), &s.rows);
	if (timeline)
		print_timeline(&s, &out);
	else if (paging.json)
		print_json(&s, &out);
	else if (paging.csv)
		print_csv(&s, &out);
	else
		print_text(&s, &out);
	if (!paging_flush(&out, true))
		status = 1;
	buf_release(&out);
	free(s.rows);
	map_answer_release(&s.answer);
	return status;
}

static int run(int argc, char **argv)
{
	enum map_sort sort = map_sort_find(paging.sort ? paging.sort : "timestamp");
	struct open_options how;
	struct map_list *list;
	struct opened o;
	struct err err;
	int status;

	if (!paging_check(&paging, "maps", false))
		return 2;
	if (sort == MAP_SORTS) {
		struct nearest near = nearest_to(paging.sort);

		for (unsigned i = 0; i < MAP_SORTS; i++)
			nearest_consider(&near, map_sort_names[i]);
		paging_complain("maps", &near);
		return 2;
	}
	if (!only_ready)
		map_filter_init(&only);
	/* What the program has, not what watching it takes. */
	if (timeline && !only.flags[MAP_FILTER_OWN])
		only.flags[MAP_FILTER_OWN] = -1;
	how = paging_open(&paging);
	if (!open_view("maps", argc, argv, &how, &o))
		return o.status;
	list = map_list_new(o.model, o.locations, o.filter, &only, &err);
	if (list) {
		status = print(&o, list, sort);
	} else {
		fprintf(stderr, "memoir maps: %s\n", err.text);
		status = 1;
	}
	map_list_free(list);
	opened_release(&o);
	return status;
}

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
	.takes_filters = true,
	.run = run,
};
