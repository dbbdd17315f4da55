/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comma-separated values (RFC 4180): a line for each allocation, or for each stack. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "export/stacks.h"
#include "query/answer.h"
#include "query/group.h"

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
	put_text(out, places_string(w->v->places, w->frames.rows[0].file));
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
static void put(struct buf *out, uint64_t number)
{
	buf_decimal(out, number);
	buf_char(out, ',');
}

static void put_allocation(struct buf *out, const struct answer *a, uint32_t row)
{
	const struct columns *c = &a->view->model->allocations;
	const struct thread *threads = a->view->model->tables.threads.rows;
	uint64_t size = columns_size(c, row);

	put(out, row);
	put(out, clock_ns(&a->clock, c->allocated_at[row]));
	if (c->freed_at[row] != NEVER) {
		put(out, clock_ns(&a->clock, c->freed_at[row]));
		put(out, answer_lifetime_ns(a, row));
	} else {
		buf_add(out, ",,", 2);
	}
	put(out, size);
	put(out, size + columns_slack_of(c, row));
	buf_add(out, "0x", 2);
	buf_hexadecimal(out, c->address[row]);
	buf_char(out, ',');
	put(out, threads[tags_thread(c->tags[row])].tid);
	put_text(out, places_call(a->view->places, tags_call(c->tags[row])));
	buf_char(out, ',');
	put(out, answer_stack(a->view->model, c->stack[row]));
	put(out, answer_stack(a->view->model, c->free_stack[row]));
}

static void put_allocations(const struct export *x, struct sink *out, struct wheres *wheres)
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
		put_where(&out->buf, wheres, c->stack[row]);
		if (!(++done & 0xfff))
			export_progress(x, done, x->view->count);
	}
	answer_release(&a);
}

static void put_groups(const struct export *x, struct sink *out, struct wheres *wheres)
{
	struct groups *g = groups_new(x->view, group_key_find("stack"));
	struct model_clock clock = model_clock(x->view->model);

	buf_text(&out->buf, "stack,count,bytes,leaked_count,leaked_bytes,min_size,max_size,"
			    "first_ns,last_ns,function,source,line\r\n");
	for (uint32_t i = 0; i < g->count && !sink_turn(out); i++) {
		const struct summary_sums *s = &g->rows[i].matched;

		put(&out->buf, g->rows[i].id);
		put(&out->buf, s->count);
		put(&out->buf, s->bytes);
		put(&out->buf, s->leaked_count);
		put(&out->buf, s->leaked_bytes);
		put(&out->buf, s->min_size);
		put(&out->buf, s->max_size);
		put(&out->buf, clock_ns(&clock, s->first_at));
		put(&out->buf, clock_ns(&clock, s->last_at));
		put_where(&out->buf, wheres, g->rows[i].id);
		export_progress(x, i, g->count);
	}
	groups_free(g);
}

static int write_csv(const struct export *x, struct sink *out, struct err *err)
{
	struct wheres wheres = { .v = x->view };

	wheres.of = xcalloc(x->view->model->tables.nodes.count + 1, sizeof(*wheres.of));
	if (x->groups)
		put_groups(x, out, &wheres);
	else
		put_allocations(x, out, &wheres);
	stack_frames_release(&wheres.frames);
	buf_release(&wheres.text);
	free(wheres.of);
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
