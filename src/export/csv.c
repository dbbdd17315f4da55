/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comma-separated values (RFC 4180): a line for each allocation, or for each stack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "export/export.h"
#include "export/stacks.h"
#include "query/answer.h"
#include "query/group.h"

/* A text, quoted. */
static void put_text(struct buf *out, const char *text)
{
	size_t start;
	struct buf whole = { 0 };

	utf8_add(&whole, text, strlen(text));
	buf_char(out, '"');
	for (start = 0; start < whole.size; start++) {
		if (whole.data[start] == '"')
			buf_char(out, '"');
		buf_char(out, whole.data[start]);
	}
	buf_char(out, '"');
	buf_release(&whole);
}

/* Function, file and line of the innermost frame. */
static void put_where(struct buf *out, const struct view *v, struct stack_frames *frames,
		      uint32_t stack)
{
	struct buf name = { 0 };

	stack_frames_of(frames, v, stack);
	if (!frames->count) {
		buf_text(out, ",,\r\n");
		return;
	}
	stack_frame_name(v, &frames->rows[0], &name);
	put_text(out, name.data);
	buf_char(out, ',');
	put_text(out, places_string(v->places, frames->rows[0].file));
	buf_printf(out, ",%u\r\n", frames->rows[0].line);
	buf_release(&name);
}

static void put_allocation(struct buf *out, const struct answer *a, uint32_t row)
{
	const struct columns *c = &a->view->model->allocations;
	const struct thread *threads = a->view->model->tables.threads.rows;
	uint64_t size = columns_size(c, row);

	buf_printf(out, "%u,%" PRIu64 ",", row, clock_ns(&a->clock, c->allocated_at[row]));
	if (c->freed_at[row] != NEVER)
		buf_printf(out, "%" PRIu64 ",%" PRIu64, clock_ns(&a->clock, c->freed_at[row]),
			   answer_lifetime_ns(a, row));
	else
		buf_char(out, ',');
	buf_printf(out, ",%" PRIu64 ",%" PRIu64 ",0x%" PRIx64 ",%" PRIu64 ",", size,
		   size + columns_slack_of(c, row), c->address[row],
		   threads[tags_thread(c->tags[row])].tid);
	put_text(out, places_call(a->view->places, tags_call(c->tags[row])));
	buf_printf(out, ",%u,%u,", answer_stack(a->view->model, c->stack[row]),
		   answer_stack(a->view->model, c->free_stack[row]));
}

static void put_allocations(const struct export *x, struct sink *out, struct stack_frames *frames)
{
	const struct columns *c = &x->view->model->allocations;
	struct answer a;
	uint64_t done = 0;

	answer_init(&a, x->view);
	buf_text(&out->buf, "id,timestamp_ns,deallocated_ns,lifetime_ns,size,usable_size,address,"
			    "thread,call,stack,deallocation_stack,function,source,line\r\n");
	VIEW_EACH(x->view, 0, c->count, row)
	{
		if (sink_turn(out))
			break;
		put_allocation(&out->buf, &a, row);
		put_where(&out->buf, x->view, frames, c->stack[row]);
		if (!(++done & 0xfff))
			export_progress(x, done, x->view->count);
	}
	answer_release(&a);
}

static void put_groups(const struct export *x, struct sink *out, struct stack_frames *frames)
{
	struct groups *g = groups_new(x->view, group_key_find("stack"));
	struct model_clock clock = model_clock(x->view->model);

	buf_text(&out->buf, "stack,count,bytes,leaked_count,leaked_bytes,min_size,max_size,"
			    "first_ns,last_ns,function,source,line\r\n");
	for (uint32_t i = 0; i < g->count && !sink_turn(out); i++) {
		const struct summary_sums *s = &g->rows[i].matched;

		buf_printf(&out->buf,
			   "%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			   ",%" PRIu64 ",%" PRIu64 ",",
			   g->rows[i].id, s->count, s->bytes, s->leaked_count, s->leaked_bytes,
			   s->min_size, s->max_size, clock_ns(&clock, s->first_at),
			   clock_ns(&clock, s->last_at));
		put_where(&out->buf, x->view, frames, g->rows[i].id);
		export_progress(x, i, g->count);
	}
	groups_free(g);
}

static int write_csv(const struct export *x, struct sink *out, struct err *err)
{
	struct stack_frames frames = { 0 };

	if (x->groups)
		put_groups(x, out, &frames);
	else
		put_allocations(x, out, &frames);
	stack_frames_release(&frames);
	return out->error;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.extension = "csv",
	.mime = "text/csv; charset=utf-8",
	.viewer = "spreadsheets, databases, pandas",
	.help = "a line for every allocation, or with --groups for every stack",
	.write = write_csv,
};
