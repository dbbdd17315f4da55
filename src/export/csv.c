/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comma-separated values: a line for each allocation, or for each group.  See csv.h. */
#include "export/csv.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/ordered.h"
#include "base/rope.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "query/answer.h"
#include "query/fields.h"

#define BLOCK 4096u /* rows that are written at a time */

/* A text, quoted. */
static void put_text(struct buf *out, const char *text)
{
	const char *quote;

	buf_char(out, '"');
	for (; (quote = strchr(text, '"')); text = quote + 1) {
		utf8_add(out, text, (size_t)(quote - text));
		buf_add(out, "\"\"", 2);
	}
	utf8_add(out, text, strlen(text));
	buf_char(out, '"');
}

void csv_lines_init(struct csv_lines *l, const struct view *v)
{
	*l = (struct csv_lines){ .view = v, .clock = model_clock(v->model) };
	l->where_of = xcalloc((size_t)v->model->tables.nodes.count + 1, sizeof(*l->where_of));
}

void csv_lines_release(struct csv_lines *l)
{
	stack_frames_release(&l->frames);
	buf_release(&l->wheres);
	free(l->where_of);
}

static void write_where(struct csv_lines *l, uint32_t stack)
{
	struct buf *out = &l->wheres, name = { 0 };

	stack_frames_of(&l->frames, l->view, stack);
	if (!l->frames.count) {
		buf_text(out, ",,\r\n");
		return;
	}
	stack_frame_name(l->view, &l->frames.rows[0], &name);
	put_text(out, name.data);
	buf_char(out, ',');
	put_text(out, locations_string(l->view->locations, l->frames.rows[0].file));
	buf_printf(out, ",%u\r\n", l->frames.rows[0].line);
	buf_release(&name);
}

#define WHERE_NAMES "function,source,line\r\n"

static void put_where(struct csv_lines *l, struct buf *out, uint32_t stack)
{
	struct csv_where *where = &l->where_of[answer_stack(l->view->model, stack)];

	if (!where->size) {
		where->offset = l->wheres.size;
		write_where(l, stack);
		where->size = l->wheres.size - where->offset;
	}
	buf_add(out, l->wheres.data + where->offset, where->size);
}

/* A number and a comma. */
static void put(struct buf *out, uint64_t number)
{
	buf_decimal(out, number);
	buf_char(out, ',');
}

static void put_cell(struct buf *out, const char *text)
{
	put_text(out, text);
	buf_char(out, ',');
}

static void put_stamp(struct buf *out, const struct model_clock *clock, uint64_t stamp)
{
	if (stamp == NEVER)
		buf_char(out, ',');
	else
		put(out, clock_ns(clock, stamp));
}

static void put_address(struct buf *out, uint64_t address)
{
	buf_add(out, "0x", 2);
	buf_hexadecimal(out, address);
	buf_char(out, ',');
}

void csv_allocations_head(struct buf *out)
{
#define UNIT_ARG_TIME "_ns"
#define UNIT_ARG_DURATION_OR_PERCENT "_ns"
#define UNIT_ARG_SIZE
#define UNIT_ARG_COUNT
#define UNIT_ARG_NUMBER
#define UNIT_ARG_ADDRESS
#define NUMBER(id, name, column, json, type, ...) column UNIT_##type ","
	buf_text(out, "id,"
#include "query/fields.def"
		      "thread,thread_name,call,deallocation_call,backtrace_id,"
		      "deallocation_backtrace_id," WHERE_NAMES);
#undef NUMBER
}

void csv_allocation(struct csv_lines *l, struct buf *out, uint32_t row)
{
	const struct model *m = l->view->model;
	const struct columns *c = &m->allocations;
	const struct model_clock *clock = &l->clock;
	uint64_t tags = columns_tags(c, row);
	const struct thread *thread = &m->tables.threads.rows[tags_thread(tags)];
	bool freed = columns_freed_at(c, row) != NEVER && !(tags_flags(tags) & TAG_FREE_LOST);

	put(out, row);
#define PUT_ARG_TIME(value) put_stamp(out, clock, value)
#define PUT_ARG_DURATION_OR_PERCENT(value) put(out, clock_duration_ns(clock, value))
#define PUT_ARG_SIZE(value) put(out, value)
#define PUT_ARG_COUNT(value) put(out, value)
#define PUT_ARG_NUMBER(value) put(out, value)
#define PUT_ARG_ADDRESS(value) put_address(out, value)
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help) PUT_##type(value);
#include "query/fields.def"
#undef NUMBER
	put(out, thread->tid);
	put_cell(out, thread->name);
	put_cell(out, locations_call(l->view->locations, tags_call(tags)));
	put_cell(out, freed ? locations_call(l->view->locations, tags_free_call(tags)) : "");
	put(out, answer_stack(m, columns_stack(c, row)));
	put(out, freed ? answer_stack(m, columns_free_stack(c, row)) : 0);
	put_where(l, out, columns_stack(c, row));
}

/* Lines are written on all cores, blocks of them in order. */
struct lines {
	const struct export *x;
	struct sink *out;
	struct line_writer {
		struct rope rope;
		struct csv_lines lines;
	} * writers; /* by worker */
};

static void write_lines(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct lines *l = context;
	struct line_writer *w = &l->writers[worker];

	VIEW_EACH(l->x->view, first, count, row)
	csv_allocation(&w->lines, &w->rope.text, row);
}

static int take_lines(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct lines *l = context;

	export_progress(l->x, first + count, l->x->view->model->allocations.count);
	return sink_rope(l->out, &l->writers[worker].rope);
}

static void put_allocations(const struct export *x, struct sink *out)
{
	struct lines l = { .x = x, .out = out };
	unsigned workers = parallel_workers();

	l.writers = xcalloc(workers, sizeof(*l.writers));
	for (unsigned i = 0; i < workers; i++)
		csv_lines_init(&l.writers[i].lines, x->view);
	csv_allocations_head(&out->buf);
	ordered_for(x->view->model->allocations.count, BLOCK, sink_is_handed_on(out), write_lines,
		    take_lines, &l);
	for (unsigned i = 0; i < workers; i++) {
		csv_lines_release(&l.writers[i].lines);
		rope_release(&l.writers[i].rope);
	}
	free(l.writers);
}

void csv_groups_head(struct buf *out, const struct groups *g)
{
	static const char *const parts[] = { "", "self_", "all_" };

	buf_printf(out, "%s,", g->key->kind == GROUP_STACK ? "backtrace_id" : g->key->name);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
#define UNIT_BYTES
#define UNIT_COUNT
#define UNIT_STAMP "_ns"
#define UNIT_TICKS "_ns"
#define SUM(id, name, type, heading, place, from, value, help)                                     \
	buf_printf(out, "%s" name UNIT_##type ",", parts[i]);
#include "query/group_fields.def"
#undef SUM
	}
	buf_text(out, WHERE_NAMES);
}

static void put_sums(struct buf *out, const struct model_clock *clock, const struct summary_sums *s)
{
#define PUT_BYTES(value) put(out, value);
#define PUT_COUNT(value) put(out, value);
#define PUT_STAMP(value) put_stamp(out, clock, s->count ? value : NEVER);
#define PUT_TICKS(value) put(out, clock_duration_ns(clock, value));
#define SUM(id, name, type, heading, place, from, value, help) PUT_##type(value)
#include "query/group_fields.def"
#undef SUM
}

void csv_group(struct csv_lines *l, struct buf *out, const struct groups *g,
	       const struct group *row)
{
	struct buf label = { 0 };

	if (g->key->kind == GROUP_STACK) {
		put(out, row->id);
	} else {
		groups_label(g, row, &label);
		put_cell(out, label.data ? label.data : "");
		buf_release(&label);
	}
	put_sums(out, &l->clock, &row->matched);
	put_sums(out, &l->clock, &row->self);
	put_sums(out, &l->clock, &row->all);
	if (g->key->kind == GROUP_STACK)
		put_where(l, out, row->id);
	else
		buf_text(out, ",,\r\n");
}

static void put_groups(const struct export *x, struct sink *out)
{
	struct groups *g = groups_new(x->view, group_key_find("stack"));
	auto_release(csv_lines_release) struct csv_lines l = { 0 };

	csv_lines_init(&l, x->view);
	csv_groups_head(&out->buf, g);
	for (uint32_t i = 0; i < g->count && !sink_turn(out); i++) {
		csv_group(&l, &out->buf, g, &g->rows[i]);
		export_progress(x, i, g->count);
	}
	groups_free(g);
}

static int write_csv(const struct export *x, struct sink *out, struct err *err)
{
	if (x->groups)
		put_groups(x, out);
	else
		put_allocations(x, out);
	return out->error;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.extension = "csv",
	.mime = "text/csv; charset=utf-8",
	.viewer = "spreadsheets, databases, pandas",
	.help = "a line for every allocation, or with --groups for every stack",
	.events_only = true,
	.write = write_csv,
};
