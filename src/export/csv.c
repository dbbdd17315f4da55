/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comma-separated values (RFC 4180): a line for each allocation, or for each stack. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "query/answer.h"
#include "query/group.h"
#include "query/stacks.h"

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

/* Function, file and line of a stack's innermost frame, as the end of a line: written once, and
 * copied from then on. */
struct wheres {
	const struct view *v;
	struct stack_frames frames;
	struct buf text;
	struct where {
		size_t offset, size;
	} * of; /* by stack */
};

static void wheres_init(struct wheres *w, const struct view *v)
{
	*w = (struct wheres){ .v = v };
	w->of = xcalloc((size_t)v->model->tables.nodes.count + 1, sizeof(*w->of));
}

static void wheres_release(struct wheres *w)
{
	stack_frames_release(&w->frames);
	buf_release(&w->text);
	free(w->of);
}

static void write_where(struct wheres *w, uint32_t stack)
{
	struct buf *out = &w->text, name = { 0 };

	stack_frames_of(&w->frames, w->v, stack);
	if (!w->frames.count) {
		buf_text(out, ",,\r\n");
		return;
	}
	stack_frame_name(w->v, &w->frames.rows[0], &name);
	put_text(out, name.data);
	buf_char(out, ',');
	put_text(out, locations_string(w->v->locations, w->frames.rows[0].file));
	buf_printf(out, ",%u\r\n", w->frames.rows[0].line);
	buf_release(&name);
}

static void put_where(struct buf *out, struct wheres *w, uint32_t stack)
{
	struct where *where = &w->of[answer_stack(w->v->model, stack)];

	if (!where->size) {
		where->offset = w->text.size;
		write_where(w, stack);
		where->size = w->text.size - where->offset;
	}
	buf_add(out, w->text.data + where->offset, where->size);
}

/* A number and a comma. */
static void csv_put_number(struct buf *out, uint64_t number)
{
	buf_decimal(out, number);
	buf_char(out, ',');
}

static void put_allocation(struct buf *out, const struct answer *a, uint32_t row)
{
	const struct columns *c = &a->view->model->allocations;
	const struct thread *threads = a->view->model->tables.threads.rows;
	uint64_t size = columns_size(c, row);

	csv_put_number(out, row);
	csv_put_number(out, clock_ns(&a->clock, c->allocated_at[row]));
	if (c->freed_at[row] != NEVER) {
		csv_put_number(out, clock_ns(&a->clock, c->freed_at[row]));
		csv_put_number(out, answer_lifetime_ns(a, row));
	} else {
		buf_add(out, ",,", 2);
	}
	csv_put_number(out, size);
	csv_put_number(out, size + columns_slack_of(c, row));
	buf_add(out, "0x", 2);
	buf_hexadecimal(out, c->address[row]);
	buf_char(out, ',');
	csv_put_number(out, threads[tags_thread(c->tags[row])].tid);
	put_text(out, locations_call(a->view->locations, tags_call(c->tags[row])));
	buf_char(out, ',');
	csv_put_number(out, answer_stack(a->view->model, c->stack[row]));
	csv_put_number(out, answer_stack(a->view->model, c->free_stack[row]));
}

/* Lines are written on all cores, blocks of them in order. */
struct lines {
	const struct export *x;
	struct sink *out;
	struct answer answer;
	struct line_writer {
		struct rope rope;
		struct wheres wheres;
	} * writers; /* by worker */
};

static void write_lines(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct lines *l = context;
	struct line_writer *w = &l->writers[worker];
	const struct columns *c = &l->x->view->model->allocations;

	VIEW_EACH(l->x->view, first, count, row)
	{
		put_allocation(&w->rope.text, &l->answer, row);
		put_where(&w->rope.text, &w->wheres, c->stack[row]);
	}
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

	answer_init(&l.answer, x->view);
	l.writers = xcalloc(workers, sizeof(*l.writers));
	for (unsigned i = 0; i < workers; i++)
		wheres_init(&l.writers[i].wheres, x->view);
	buf_text(&out->buf, "id,timestamp_ns,deallocated_ns,lifetime_ns,size,usable_size,address,"
			    "thread,call,stack,deallocation_stack,function,source,line\r\n");
	ordered_for(x->view->model->allocations.count, BLOCK, sink_is_handed_on(out), write_lines,
		    take_lines, &l);
	for (unsigned i = 0; i < workers; i++) {
		wheres_release(&l.writers[i].wheres);
		rope_release(&l.writers[i].rope);
	}
	free(l.writers);
	answer_release(&l.answer);
}

static void put_groups(const struct export *x, struct sink *out)
{
	struct wheres wheres;
	struct groups *g = groups_new(x->view, group_key_find("stack"));
	struct model_clock clock = model_clock(x->view->model);

	wheres_init(&wheres, x->view);
	buf_text(&out->buf, "stack,count,bytes,leaked_count,leaked_bytes,min_size,max_size,"
			    "first_ns,last_ns,function,source,line\r\n");
	for (uint32_t i = 0; i < g->count && !sink_turn(out); i++) {
		const struct summary_sums *s = &g->rows[i].matched;

		csv_put_number(&out->buf, g->rows[i].id);
		csv_put_number(&out->buf, s->count);
		csv_put_number(&out->buf, s->bytes);
		csv_put_number(&out->buf, s->leaked_count);
		csv_put_number(&out->buf, s->leaked_bytes);
		csv_put_number(&out->buf, s->min_size);
		csv_put_number(&out->buf, s->max_size);
		csv_put_number(&out->buf, clock_ns(&clock, s->first_at));
		csv_put_number(&out->buf, clock_ns(&clock, s->last_at));
		put_where(&out->buf, &wheres, g->rows[i].id);
		export_progress(x, i, g->count);
	}
	wheres_release(&wheres);
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
