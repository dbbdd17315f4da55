/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations, or groups of them by stack, as JSON: what the HTTP API answers, as a file.
 *
 * Most of it is stacks: a row of a few hundred bytes has two of some kilobytes each.  So frames are
 * written once (stack_texts.h) and rows only point to them, blocks of rows are written on all
 * cores, and where the reader can look stacks up, there is a table of them instead. */
#include <stdio.h>

#include "base/buf_text.h"
#include "base/json.h"
#include "base/ordered.h"
#include "base/rope.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "export/stack_texts.h"
#include "query/answer.h"
#include "query/group.h"

#define BLOCK 512u /* rows that are written at a time */

struct writer {
	struct json_export *e;
	struct answer answer;
	struct rope rope;
};

struct json_export {
	const struct export *x;
	struct sink *out;
	struct stack_texts texts;
	struct writer *writers; /* by worker */
	bool filled;		/* something was written into the array */
};

/* See struct answer: a stack, or none where there is a table of them. */
static void put_stack(void *context, struct json *j, const char *key, uint32_t stack, unsigned call)
{
	struct writer *w = context;

	if (!w->e->x->stack_table)
		stack_texts_put(&w->e->texts, &w->rope, j, key, stack, call);
}

static void init_writer(struct writer *w, struct json_export *e)
{
	*w = (struct writer){ .e = e, .answer = e->texts.answer };
	w->answer.put_stack = put_stack;
	w->answer.put_stack_context = w;
}

static struct json row_writer(struct rope *r)
{
	struct json j = { .out = &r->text, .compact = true };

	j.depth = 2;
	return j;
}

static void write_rows(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct json_export *e = context;
	struct writer *w = &e->writers[worker];
	struct json j = row_writer(&w->rope);

	VIEW_EACH(e->x->view, first, count, row)
	{
		answer_allocation(&w->answer, &j, row);
	}
}

static int take_rows(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct json_export *e = context;
	struct rope *r = &e->writers[worker].rope;

	if (rope_size(r)) {
		if (e->filled)
			buf_char(&e->out->buf, ',');
		e->filled = true;
		sink_rope(e->out, r);
	}
	export_progress(e->x, first + count, e->x->view->model->allocations.count);
	return e->out->error;
}

static void put_allocations(struct json_export *e)
{
	unsigned workers = parallel_workers();

	e->writers = xcalloc(workers, sizeof(*e->writers));
	for (unsigned i = 0; i < workers; i++)
		init_writer(&e->writers[i], e);
	ordered_for(e->x->view->model->allocations.count, BLOCK, sink_is_handed_on(e->out),
		    write_rows, take_rows, e);
	for (unsigned i = 0; i < workers; i++)
		rope_release(&e->writers[i].rope);
	free(e->writers);
}

static uint32_t put_groups(struct json_export *e)
{
	struct groups *g = groups_new(e->x->view, group_key_find("stack"));
	uint32_t count = g->count;
	struct writer w;
	struct json j;

	init_writer(&w, e);
	j = row_writer(&w.rope);
	for (uint32_t i = 0; i < count && !e->out->error; i++) {
		json_object(&j, NULL);
		answer_group(&w.answer, &j, g, &g->rows[i]);
		json_end_object(&j);
		if (rope_size(&w.rope) >= SINK_BLOCK)
			sink_rope(e->out, &w.rope);
		export_progress(e->x, i, count);
	}
	sink_rope(e->out, &w.rope);
	rope_release(&w.rope);
	groups_free(g);
	return count;
}

/* "backtraces": each by its number, without the call. */
static void put_table(struct json_export *e)
{
	const struct spines *s = &e->texts.spines;
	auto_release(rope_release) struct rope r = { 0 };
	struct json j = row_writer(&r);

	for (uint32_t node = 1; node < s->node_count && !e->out->error; node++) {
		char key[12];

		if (!e->texts.used[node] || !spines_known(s, node))
			continue;
		snprintf(key, sizeof(key), "%u", node);
		stack_texts_put_frames(&e->texts, &r, &j, key, node);
		if (rope_size(&r) >= SINK_BLOCK)
			sink_rope(e->out, &r);
	}
	sink_rope(e->out, &r);
}

static int write_json(const struct export *x, struct sink *out, struct err *err)
{
	struct json_export e = { .x = x, .out = out };
	uint32_t total = x->view->count;
	struct json j = { .out = &out->buf, .compact = true };

	stack_texts_init(&e.texts, x->view, !x->groups);
	json_object(&j, NULL);
	if (x->stack_table) {
		json_object(&j, "backtraces");
		put_table(&e);
		json_end_object(&j);
	}
	json_array(&j, "allocations");
	if (x->groups)
		total = put_groups(&e);
	else
		put_allocations(&e);
	json_end_array(&j);
	json_number(&j, "total_count", total);
	json_end_object(&j);
	stack_texts_release(&e.texts);
	return out->error;
}

const struct exporter exporter_json = {
	.name = "json",
	.extension = "json",
	.mime = "application/json",
	.viewer = "jq, scripts",
	.help = "every allocation, or with --groups every stack, as the HTTP API answers",
	.events_only = true,
	.write = write_json,
};
